"""Starting runs, for the page's form and the JSON route alike."""

from app.db import session
from app.http.state import State
from app.services.records import RunRecord
from app.services.resolve import resolve
from app.services.run_start import Wanted, queue_runs


def start_runs(state: State, key: str, wanted: Wanted) -> list[RunRecord]:
    """Queue the runs of an entry and hand them to the worker of this process.

    Raises:
        NotFoundError: no such entry.
        CannotTellError: it has no reproducer, or no release is at hand.
        BadInputError: the subject is none.
        BusyError: too many runs are waiting.
    """
    with session(state.settings) as db:
        rows = queue_runs(db, resolve(db, key).entry, wanted, state.settings)
        records = [RunRecord.model_validate(row) for row in rows]
    state.runs.submit(record.id for record in records)
    state.answers.forget()
    return records
