"""What was found of one entry: shown as a person would write it, and run again."""

import shlex
from typing import Any

from sqlmodel import Session

from app.exceptions import CannotTellError, NotFoundError
from app.models import Entry
from app.runs.found import Found, found_of_entry
from app.runs.requests import LIMITS, bytecode_dir, release_subject
from app.services.resolve import all_ids
from app.services.synthesized_record import SynthesizedPage
from app.services.synthesized_snippet import snippet
from app.services.synthesized_values import written
from app.settings import Settings
from app.wheels import fetch, parse_release
from reproducers.protocol import NOT_TRIED, SYNTHESIS_REASONS, Request, Step


def synthesized_page(db: Session, entry: Entry, settings: Settings) -> SynthesizedPage | None:
    """What was found of an entry; None if it has a reproducer and was never looked at."""
    found = found_of_entry(settings, all_ids(db, entry))
    if not found and entry.slug:
        return None
    if not found:
        words = SYNTHESIS_REASONS[NOT_TRIED]
        return SynthesizedPage(subject="", level="none", reason=NOT_TRIED, reason_text=words)
    subject, result = found[0]
    return page_of(subject, result)


def page_of(subject: str, result: Found) -> SynthesizedPage:
    """One result as it is shown."""
    reason = str(result.get("reason") or "")
    page = SynthesizedPage(
        subject=subject,
        level=str(result.get("level", "none")),
        reason=reason,
        reason_text=SYNTHESIS_REASONS.get(reason, reason),
        api_only=bool(result.get("apiOnly")),
        file=str(result["file"]),
        line=int(result["line"]),
        function=str(result["function"]),
    )
    if not result.get("trigger"):
        return page
    launch = result.get("launch") or {}
    if launch.get("confirmed"):
        page.trigger, page.fix = launch["trigger"], launch["fix"]
    else:
        page.trigger = snippet(result, fixed=False)
        page.fix = snippet(result, fixed=True) if result.get("fix") else ""
    page.assumptions = line_assumptions(launch) if launch.get("confirmed") else assumptions(result)
    changed = (result.get("fix") or {}).get("changes", {})
    if launch.get("confirmed"):
        # A corrected line is a fix, also where no change of the call alone was found.
        page.reason = page.reason_text = ""
    if launch.get("confirmed") and set(launch["changes"]) != set(changed):
        page.fix_rank, page.fix_text = _line_change(launch)
    elif result.get("fix"):
        page.fix_rank = str(result["fix"]["rank"])
        page.fix_text = "; ".join(
            f"{p.removeprefix('server_args.')} = {_told(p, v, result)}"
            for p, v in result["fix"]["changes"].items()
        )
    return page


def _told(path: str, value: Any, result: Found) -> str:
    """What an input is changed to, in a line."""
    cls = (result.get("call") or {}).get("classes", {}).get(path, "").rpartition(":")[2]
    if isinstance(value, dict) and value.get("$") == "thing" and not value.get("class"):
        return f"an object of {cls}" if cls else "an object"
    return written(value)


def assumptions(result: Found) -> list[str]:
    """What was taken for granted, in sentences."""
    trigger = result["trigger"]
    found = [
        f"{path.removeprefix('call:')} is not called; its result is given."
        for path in trigger["replaced"]
    ]
    settled = {p: v for p, v in trigger.get("settled", {}).items() if p not in trigger["values"]}
    for path, value in list(settled.items())[:8]:
        found.append(f"{path} is {written(value)}: nothing says what it is, its use does.")
    if trigger.get("swallowed"):
        found.append("The function itself catches what is raised here.")
    if result.get("apiOnly"):
        found.append("No launch line gives such a value: only a program that calls it does.")
    return found


def line_assumptions(launch: dict[str, Any]) -> list[str]:
    """What a launch line was checked with: nothing of the release itself is replaced."""
    found = [f"The line was checked with a simulated {launch['gpu']}."]
    if launch.get("config"):
        found.append("It depends on the model: the config.json is another than a plain Llama's.")
    return found


def _line_change(launch: dict[str, Any]) -> tuple[str, str]:
    """Rank and words of a corrected line that is not the fix of the call."""
    before, after = (_said(str(launch[k])) for k in ("trigger", "fix"))
    gone = [name for name in before if name not in after]
    given = [f"{n} {v}".strip() for n, v in after.items() if before.get(n) != v]
    texts = [*(f"without {name}" for name in gone), *(f"with {text}" for text in given)]
    return ("dropped" if gone and not given else "other choice"), "; ".join(texts)


def _said(command: str) -> dict[str, str]:
    """Variables and options of a command with their values."""
    found: dict[str, str] = {}
    name = ""
    for word in shlex.split(command):
        if word.startswith("--") or (not found and "=" in word):
            name, _, value = word.partition("=")
            found[name] = value
        elif name.startswith("--"):
            found[name] = f"{found[name]} {word}".strip()
    return found


def found_subject(db: Session, entry: Entry, subject: str, settings: Settings) -> str:
    """The release on which what was found is to be run; the best one if none is named.

    Raises:
        CannotTellError: nothing was found for it, or not on this release.
    """
    found = [s for s, r in found_of_entry(settings, all_ids(db, entry)) if r.get("trigger")]
    if subject and subject in found:
        return subject
    if not subject and found:
        return found[0]
    where = f" on {subject}" if subject and found else ""
    raise CannotTellError(
        f"{entry.slug or entry.id} has no reproducer, and no trigger was found for it{where}, "
        "so there is nothing to run."
    )


def again_request(
    db: Session, entry: Entry, subject: str, step: Step, settings: Settings
) -> Request:
    """The request that runs what was found once more.

    Args:
        db: the open session.
        entry: whose trigger and fix.
        subject: a release; the one on which it was found if empty.
        step: trigger or fix.
        settings: where the caches lie.

    Raises:
        NotFoundError: nothing was found for it on this release.
        BadInputError: the subject is no release.
        UnavailableError: the wheel cannot be fetched.
        BadWheelError: the wheel is damaged.
    """
    found = [
        (s, r)
        for s, r in found_of_entry(settings, all_ids(db, entry))
        if r.get("trigger") and (not subject or s == subject)
    ]
    if not found:
        where = f" on {subject}" if subject else ""
        raise NotFoundError(
            f"No trigger was found for {entry.id}{where}. `reprobase synthesize` looks for one."
        )
    name, result = found[0]
    package, version = parse_release(name)
    wheel = fetch(package, version, settings)
    place = {k: result[k] for k in ("file", "function", "line")}
    site = {**place, "kind": result["kind"]}
    return Request(
        kind="synthesized",
        subject=release_subject(wheel, settings),
        scratch="",
        step=step,
        template=result["template"],
        pattern=entry.pattern if not entry.condition else ".*",
        error_class=result["trigger"]["errorClass"],
        sites=({**place, "guardLines": result.get("guardLines", [])},),
        payload={"site": site, "result": result},
        bytecode=str(bytecode_dir(settings)),
        limits=LIMITS,
    )


__all__ = ["again_request", "synthesized_page"]
