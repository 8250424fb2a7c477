"""What other releases say to a finding: does the same line meet it there too?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

from reproducers.launch.fresh import Job, side_by_side
from reproducers.launch.once import Line, Outcome
from reproducers.launch.release import Release
from reproducers.launch.rounds import Examiner
from reproducers.protocol import Request

SECONDS: Final = 60.0
_ALIKE: Final = 0.55
"""How alike two messages must be to be one check in other words."""


def ask(
    request: Request, findings: list[dict[str, Any]], at_once: int, until: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each other release what became of each finding's line, as it comes, until it is time.

    Yields:
        The version, and `{"said": [...]}` with for each finding one of `refused` (the same
        check), `other` (refused for another reason), `accepted`, `unreachable`; or `{"died": why}`.
    """
    jobs = [
        (str(other["version"]), _job(request, other, findings))
        for other in request.payload["others"]
    ]
    yield from side_by_side(jobs, SECONDS, at_once, until)


def _job(request: Request, other: Mapping[str, Any], findings: list[dict[str, Any]]) -> Job:
    def run() -> dict[str, Any]:
        payload = request.payload
        release = Release(
            Path(str(other["root"])),
            str(other["version"]),
            Path(request.bytecode) if request.bytecode else None,
        )
        release.load(str(payload.get("gpu", "h200")), payload.get("env", {}))
        examiner = Examiner(release, {})
        return {"said": [_said(examiner, payload, finding) for finding in findings]}

    return run


def _said(examiner: Examiner, payload: Mapping[str, Any], finding: dict[str, Any]) -> str:
    line = finding["line"]
    asked = Line(
        program=line["program"],
        argv=tuple(line["argv"]),
        env=dict(line["env"]),
        gpu=str(payload.get("gpu", "h200")),
        configs=dict(line["configs"]),
        files=dict(payload.get("files", {})),
    )
    outcome = examiner.once(replace(asked, whole=True))
    return judged(outcome, finding)


def judged(outcome: Outcome, finding: Mapping[str, Any]) -> str:
    """What an outcome says about a finding."""
    if outcome.state in ("pass", "exits"):
        return "accepted"
    if outcome.state == "unreachable":
        return "unreachable"
    message = str(finding["message"]).partition(": error: ")[2] or str(finding["message"])
    theirs = outcome.message.partition(": error: ")[2] or outcome.message
    same_class = outcome.error_class == finding["errorClass"]
    alike = SequenceMatcher(None, message, theirs, autojunk=False).ratio() >= _ALIKE
    return "refused" if same_class and alike else "other"
