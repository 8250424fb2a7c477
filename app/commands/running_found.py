"""`reprobase run` for an error whose trigger the program found by itself."""

from collections.abc import Iterator, Sequence

from app.models import Run
from app.runs.record import run_row
from app.runs.sandbox import execute
from app.settings import Settings
from reproducers.protocol import Request


def runs_of(key: str, wanted: Sequence[str], step: str, settings: Settings) -> Iterator[Run] | None:
    """The runs of what was found for an entry; None if it has a reproducer written by hand.

    Args:
        key: id or slug.
        wanted: subjects; `all` stands for every release on which something was found.
        step: trigger, fix or both.
        settings: where the database and the caches lie.

    Raises:
        NotFoundError: no such entry.
        CannotTellError: it has no reproducer, and nothing was found for it.
    """
    from app.commands.catalog import catalog
    from app.runs.found import found_of_entry
    from app.runs.plan import steps_of
    from app.services.reproducers import find_reproducer
    from app.services.resolve import all_ids, resolve
    from app.services.synthesized import again_request, found_subject

    with catalog(settings) as db:
        entry = resolve(db, key).entry
        if find_reproducer(entry.slug) is not None:
            return None
        subjects = list(dict.fromkeys(wanted)) or [""]
        if "all" in wanted:
            every = found_of_entry(settings, all_ids(db, entry))
            subjects = sorted({s for s, r in every if r.get("trigger")}) or [""]
        names = [found_subject(db, entry, s, settings) for s in subjects]
        requests = [
            again_request(db, entry, name, one, settings)
            for name in names
            for one in steps_of(step)
        ]
    return _executed(requests, entry.id)


def _executed(requests: Sequence[Request], entry_id: str) -> Iterator[Run]:
    from app.commands.running import say

    for request in requests:
        say(f"{entry_id} {request.step} on {request.subject.name} ...")
        yield run_row(execute(request), request, entry_id=entry_id, kind="synthesized")
