"""What other releases say to a finding: does the same line meet it there too?"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from packaging.version import Version

from reproducers.launch.fresh import Job, side_by_side
from reproducers.launch.once import Line, Outcome
from reproducers.launch.release import Release
from reproducers.launch.rounds import Examiner
from reproducers.protocol import Request

SECONDS: Final = 60.0
_ALIKE: Final = 0.55
"""How alike two messages must be to be one check in other words."""


def as_given(main: Mapping[str, Any]) -> dict[str, Any]:
    """A line that passes, in the form of a finding: whoever refuses it does so for another reason.

    Args:
        main: what the release at hand said, see `answer.respond`.
    """
    line = {k: main[k] for k in ("program", "argv", "env", "configs")}
    return {"line": line, "errorClass": "", "message": None}


def ask(
    request: Request, findings: list[dict[str, Any]], at_once: int, until: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each other release what became of each finding's line, as it comes, until it is time.

    Yields:
        The version, and `{"said": [...]}` with for each finding one of `refused` (the same
        check), `other` (refused for another reason), `accepted`, `unreachable`; or `{"died": why}`.
    """
    others = {str(o["version"]): o for o in request.payload["others"]}
    own = str(request.subject.version)
    every = sorted({own, *others}, key=Version)
    known: dict[str, Any] = {own: ["refused" if f["message"] else "accepted" for f in findings]}
    waiting = set(others)

    def jobs() -> Iterator[tuple[str, Job]]:
        while waiting:
            version = next_to_ask(every, known, waiting)
            waiting.discard(version)
            known[version] = None
            yield version, _job(request, others[version], findings)

    for version, answer in side_by_side(jobs(), SECONDS, at_once, until):
        known[version] = answer.get("said")
        yield version, answer


def next_to_ask(every: Sequence[str], known: Mapping[str, Any], waiting: Container[str]) -> str:
    """The release that tells most: the ends, then the middle of where the answers change.

    Args:
        every: all releases, oldest first.
        known: what those said that were asked; None while one has not answered.
        waiting: those that are still to be asked; at least one of `every`.
    """
    for end in (every[-1], every[0]):
        if end in waiting:
            return end
    asked = [i for i, v in enumerate(every) if v not in waiting]
    gaps = [(a, b) for a, b in pairwise(asked) if b - a > 1]

    def worth(gap: tuple[int, int]) -> tuple[bool, int]:
        left, right = known[every[gap[0]]], known[every[gap[1]]]
        return left is not None and right is not None and left != right, gap[1] - gap[0]

    left, right = max(gaps, key=worth)
    return every[(left + right) // 2]


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
    if finding["message"] is None:
        return "other"
    message = str(finding["message"]).partition(": error: ")[2] or str(finding["message"])
    theirs = outcome.message.partition(": error: ")[2] or outcome.message
    same_class = outcome.error_class == finding["errorClass"]
    alike = SequenceMatcher(None, message, theirs, autojunk=False).ratio() >= _ALIKE
    return "refused" if same_class and alike else "other"
