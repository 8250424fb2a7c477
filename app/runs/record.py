"""From a result to the row that is kept: did it pass, and what is shown of it."""

import secrets
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from app.runs.verdict import claims_hold, passed
from reproducers.protocol import Request, Result

if TYPE_CHECKING:
    from app.models import Run

__all__ = ["claims_hold", "new_run_id", "passed", "run_row"]


def run_row(
    result: Result,
    request: Request,
    *,
    entry_id: str,
    silent: bool = False,
    run_id: str | None = None,
    started_at: datetime | None = None,
    kind: Literal["handwritten", "synthesized"] = "handwritten",
) -> "Run":
    """The row of a finished run.

    Args:
        result: what came back.
        request: what was asked.
        entry_id: the entry that it is about.
        silent: whether the entry is of type `silent`.
        run_id: the id it was announced under; a new one, not to be guessed, if None.
        started_at: when it began; now if None.
        kind: who wrote what was run.
    """
    # Whoever keeps no row need not wait for the tables: a command line that checks a launch line.
    from app.models import Run, utc_now  # noqa: PLC0415  # see above

    step = request.step or "trigger"
    return Run(
        id=run_id or new_run_id(),
        entry_id=entry_id,
        slug=request.slug,
        step=step,
        subject=request.subject.name,
        device=request.device,
        kind=kind,
        state="done",
        outcome=result.outcome,
        reason=result.reason,
        error_class=result.error_class,
        message=result.message,
        site=asdict(result.site) if result.site else None,
        matched=result.matched,
        passed=passed(result, step, silent=silent),
        values=result.values,
        stand_ins=list(result.stand_ins),
        substitutes=list(result.substitutes),
        guard_reached=result.guard_reached,
        checks=list(result.checks),
        claims=list(result.claims),
        expected=result.expected,
        got=result.got,
        seconds=result.seconds,
        started_at=started_at or utc_now(),
        torch=result.torch,
        python=result.python,
        traceback=[asdict(f) for f in result.traceback],
        stdout=result.stdout,
        isolation=list(result.isolation),
    )


def new_run_id() -> str:
    """A random id, so that a link to a run cannot be guessed."""
    return secrets.token_hex(8)
