"""What `run` and `verify` share: find what can be run, run it, and tell how it went."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import cast

from app.exceptions import CannotTellError, NotFoundError, UnavailableError
from app.models import Run
from app.runs.plan import NoSiteError, Runnable, plan, runnable, steps_of
from app.runs.record import claims_hold, run_row
from app.runs.sandbox import execute, needs_line, with_line
from app.runs.subjects import declared_subjects, declares, newest_subject
from app.services.reproducers import ReproducerFile, find_reproducer
from app.settings import Settings
from reproducers.protocol import Device, Request, Result, Subject
from reproducers.protocol import Event as RunEvent

DONE, FAILED, CANNOT_TELL = 0, 1, 3
_TRIES = 12
"""Each waits as long as the database lets it, see `app.db.BUSY_TIMEOUT_MS`."""


@dataclass(frozen=True, slots=True)
class Target:
    """An entry with its reproducer."""

    entry: Runnable
    reproducer: ReproducerFile

    def declares(self, subject: str) -> bool:
        """Whether the reproducer says that this subject has the error."""
        file = self.reproducer
        return declares(file.releases, subject, reference=file.has_reference)


def find_targets(keys: Sequence[str], settings: Settings) -> list[Target]:
    """The entries of these keys, or all that have a reproducer.

    Raises:
        NotFoundError: no such entry; names near ones.
        CannotTellError: the entry has no reproducer.
    """
    from sqlmodel import col, select

    from app.db import session
    from app.loading.curated import load_curated
    from app.models import Entry
    from app.services.resolve import resolve

    with session(settings) as db:
        load_curated(db)
        if keys:
            entries = [resolve(db, key).entry for key in keys]
        else:
            wanted = select(Entry).where(col(Entry.slug).is_not(None)).order_by(col(Entry.slug))
            entries = [e for e in db.exec(wanted) if find_reproducer(e.slug)]
        targets = []
        for entry in entries:
            reproducer = find_reproducer(entry.slug)
            if reproducer is None:
                raise CannotTellError(f"{entry.slug or entry.id} has no reproducer yet.")
            targets.append(Target(runnable(db, entry), reproducer))
    return targets


def subjects_of(target: Target, wanted: Sequence[str], settings: Settings) -> list[str]:
    """What to run on: what was named, everything that is declared, or the newest release."""
    file = target.reproducer
    if "all" in wanted:
        return declared_subjects(file.releases, settings, reference=file.has_reference)
    if wanted:
        return list(dict.fromkeys(wanted))
    return [newest_subject(file.releases, settings, reference=file.has_reference)]


def run_target(
    target: Target,
    subjects: Sequence[str],
    step: str,
    device: str,
    settings: Settings,
    *,
    cancel: Event | None = None,
    seconds: float | None = None,
) -> Iterator[Run]:
    """Run the steps on the subjects, one after another, telling about it on standard error.

    A release that does not have the error is a skipped run if there are other subjects. One that
    the reproducer declares is a failed run: what it declares is not so, or is not found any more.
    """
    for subject in subjects:
        trigger: Result | None = None
        for one in steps_of(step):
            label = f"{target.entry.slug} {one} on {subject}"
            try:
                request = plan(
                    target.entry,
                    subject,
                    one,
                    settings,
                    device=cast("Device", device),
                    on_progress=say,
                )
            except NotFoundError as e:
                wrong = isinstance(e, NoSiteError) and target.declares(subject)
                if len(subjects) == 1 and not wrong:
                    raise
                reason = f"{e} Its reproducer declares it." if wrong else str(e)
                result = Result(outcome="died" if wrong else "skipped", reason=reason)
                yield _not_run(target.entry, subject, one, device, result)
                continue
            if seconds is not None:
                request = replace(request, limits=replace(request.limits, seconds=seconds))
            say(f"{label} ...")
            if trigger is not None and needs_line(request):
                request = with_line(request, trigger)
            result = execute(request, _show, cancel=cancel)
            trigger = result if one == "trigger" else None
            row = run_row(
                result, request, entry_id=target.entry.entry_id, silent=target.entry.silent
            )
            yield row


def _not_run(entry: Runnable, subject: str, step: str, device: str, result: Result) -> Run:
    request = Request(
        kind="reproducer",
        subject=Subject(name=subject),
        scratch="",
        slug=entry.slug,
        step=steps_of(step)[0],
        device=cast("Device", device),
    )
    return run_row(result, request, entry_id=entry.entry_id)


def keep(runs: Sequence[Run], settings: Settings) -> bool:
    """Store finished runs in the database; what cannot be stored is said, never lost in silence.

    A scan holds the database while it stores a release, on a busy machine for a minute or two.

    Returns:
        Whether they are stored.
    """
    from app.db import session
    from app.services.renewal import renewing

    for left in reversed(range(_TRIES)):
        try:
            with session(settings) as db, renewing(db, runs):
                for run in runs:
                    db.add(Run.model_validate(run.model_dump()))
        except UnavailableError as e:
            if not left or "locked" not in str(e):
                say(f"What was run is shown, but not kept. {e}")
                return False
            say("  another program writes to the database; waiting for it ...")
        else:
            return True
    return False


def exit_code(runs: Sequence[Run]) -> int:
    """0 if everything passed, 1 if something failed, 3 if nothing could be run."""
    tried = [r for r in runs if r.outcome != "skipped"]
    if not all(r.passed and claims_hold(r.claims) for r in tried):
        return FAILED
    return DONE if tried else CANNOT_TELL


def summary(run: Run) -> str:
    """One line about a run."""
    mark = "pass" if run.passed else "skip" if run.outcome == "skipped" else "FAIL"
    place = f" at {run.site['file']}:{run.site['line']}" if run.site else ""
    what = {
        "raised": f"raised {run.error_class}{place}",
        "returned": f"returned, {len(run.checks)} checks",
        "wrong-result": "gave a wrong result"
        if run.expected != run.got
        else "gave the right result: this subject does not have the error",
    }.get(run.outcome or "", str(run.outcome))
    bad = [c.get("id") for c in run.claims if not c.get("ok")]
    claims = f", {len(run.claims)} claims" if run.claims else ""
    claims += f", NOT SO: {', '.join(map(str, bad))}" if bad else ""
    why = f": {run.reason}" if run.reason else ""
    head = f"{mark}  {run.step:<7}  {run.subject:<16}  {run.device:<4}"
    return f"{head}  {what}{claims}  ({run.seconds:.1f} s){why}"


def say(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr)


def _show(event: RunEvent) -> None:
    if event.event == "progress":
        say(f"  {event.text}")
