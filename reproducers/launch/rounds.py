"""All problems of a line in one go.

After a finding the smallest change that gets past it is looked for among the guesses, each tried
on the release's own code, and the checks are run again on the changed line, until it passes or
nothing gets past the finding.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from reproducers.launch import check_errors, parser_errors
from reproducers.launch.conditions import Conditions, conditions_at
from reproducers.launch.fresh import Job, settle, side_by_side
from reproducers.launch.once import Line, Outcome, check_once
from reproducers.launch.options import Options, options_of
from reproducers.launch.parser_errors import Translations
from reproducers.launch.release import Release
from reproducers.launch.words import Change

MAX_ROUNDS: Final = 8
MAX_TRIALS: Final = 40
MAX_LOOKED_ON: Final = 3
SECONDS: Final = 30.0


@dataclass(slots=True)
class Examination:
    """What a line came to."""

    findings: list[dict[str, Any]] = field(default_factory=list)
    last: Outcome = field(default_factory=Outcome)
    """The outcome of the line with every change made."""
    line: Line | None = None
    """The line with every change made."""
    trials: int = 0
    broken: str = ""
    """Set if a check itself could not be run."""


class Examiner:
    """Checks lines on one loaded release.

    Args:
        release: loaded for the GPU at hand.
        translations: names from elsewhere, see `parser_errors`.
    """

    def __init__(self, release: Release, translations: Translations) -> None:
        self.release = release
        self.translations = translations
        self.trials = 0

    def once(self, line: Line) -> Outcome:
        """The line's outcome, in a process of its own."""
        return self.each([line])[0]

    def each(self, lines: Sequence[Line]) -> list[Outcome]:
        """The outcomes of several lines, each in a process of its own, side by side."""
        self.trials += len(lines)
        self._options_before_forking(lines)
        jobs = [(str(i), self._job(line)) for i, line in enumerate(lines)]
        answers = dict(side_by_side(jobs, SECONDS, max(1, os.cpu_count() or 1)))
        outcomes = []
        for name, _ in jobs:
            answer = answers[name]
            if "died" in answer:
                died = str(answer["died"])
                outcomes.append(Outcome(state="unreachable", message=died, missing=died))
            else:
                self._keep(answer.pop("modules"))
                outcomes.append(Outcome(**answer))
        return outcomes

    def _options_before_forking(self, lines: Sequence[Line]) -> None:
        """Every check asks for the parser's flags: it finds them remembered."""
        for program in {line.program for line in lines}:
            with contextlib.suppress(Exception):  # then the check itself will say what is wrong
                self.options_of(program)

    def _job(self, line: Line) -> Job:
        def check() -> dict[str, Any]:
            before = set(sys.modules)
            outcome = check_once(self.release, line)
            new = [m for m in sys.modules if m not in before]
            return {**outcome, "modules": [m for m in new if m.partition(".")[0] == "sglang"]}

        return check

    def _keep(self, modules: list[str]) -> None:
        """What a check imported is imported here, so that the next one finds it."""
        for name in modules:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001,S112  # it will be imported again where it is needed
                continue
        if modules:
            settle()

    def examine(self, line: Line) -> Examination:
        """Check a line to its end."""
        result = Examination(line=line)
        seen: set[tuple[str, str, str]] = set()
        outcome = self.once(line)
        for _ in range(MAX_ROUNDS):
            result.last, result.line = outcome, line
            if outcome.state != "refused" or outcome.key in seen:
                break
            seen.add(outcome.key)
            finding = self._finding(outcome, line)
            result.findings.append(finding)
            step = self._past(outcome, line, seen)
            if step is None:
                break
            change, line, outcome = step
            if not finding["flags"]:
                finding["flags"] = [f for f in change.flags if f.startswith("-")]
            finding["change"] = {"text": change.text, "argv": list(line.argv), "env": line.env}
        result.trials = self.trials
        return result

    def options(self, line: Line) -> Options:
        """The flags of the parser that reads this line."""
        return self.options_of(line.program)

    def options_of(self, program: str) -> Options:
        """The flags of a program's parser."""
        return options_of(self.release, program)

    def _finding(self, outcome: Outcome, line: Line) -> dict[str, Any]:
        options = self.options(line)
        conditions = self._conditions(outcome)
        if outcome.error_class == "SystemExit":
            flags = parser_errors.blamed(outcome.message, line.argv, options)
        else:
            known = check_errors.Line(line.argv, line.env, options)
            flags = [
                (p.name if (p := known.piece(o)) else o.longest)
                for o in check_errors.blamed(outcome.message, conditions, known)
            ]
        return {
            "stage": outcome.stage,
            "errorClass": outcome.error_class,
            "message": outcome.message,
            "condition": f"not ({conditions.text})" if conditions.required else conditions.text,
            "asserted": conditions.text if conditions.required else "",
            "site": outcome.site,
            "frames": outcome.frames,
            "flags": flags,
            "line": {
                "program": line.program,
                "argv": list(line.argv),
                "env": line.env,
                "configs": line.configs,
            },
            "change": None,
        }

    def _conditions(self, outcome: Outcome) -> Conditions:
        site = outcome.site
        if site is None or outcome.error_class == "SystemExit":
            return Conditions()
        return conditions_at(self.release.root / str(site["file"]), int(site["line"]))

    def _past(
        self, outcome: Outcome, line: Line, seen: set[tuple[str, str, str]]
    ) -> tuple[Change, Line, Outcome] | None:
        """A guess that gets past this finding, and what comes then.

        The first guess with which the line passes, if it is among the first few; else the first one
        that gets further. The first guess is tried alone, the others two at a time.
        """
        further: tuple[Change, Line, Outcome] | None = None
        looked_on = 0
        guesses = self._guesses(outcome, line)
        batch = list(islice(guesses, 1))
        while batch and self.trials < MAX_TRIALS and not (further and looked_on >= MAX_LOOKED_ON):
            looked_on += len(batch) if further is not None else 0
            lines = [replace(line, argv=c.argv, env={**line.env, **c.env}) for c in batch]
            for change, changed, after in zip(batch, lines, self.each(lines), strict=True):
                if after.state in ("pass", "exits") or _asks_for_more(change, after):
                    return change, changed, after
                if further is None and self._goes_further(outcome, after, change, seen):
                    further = change, changed, after
                    if outcome.error_class == "SystemExit" and not self._about(change, after):
                        return further  # the parser is content with this flag; what comes is next
            batch = list(islice(guesses, 2))
        return further

    def _about(self, change: Change, after: Outcome) -> bool:
        """Whether a finding may be about a flag that a change wrote."""
        names = self._conditions(after).names
        written = [f for f in change.flags if f.startswith("--")]
        return any(f in after.message or f[2:].replace("-", "_") in names for f in written)

    def _guesses(self, outcome: Outcome, line: Line) -> Iterator[Change]:
        options = self.options(line)
        if outcome.error_class == "SystemExit":
            yield from parser_errors.guesses(outcome.message, line.argv, options, self.translations)
            return
        known = check_errors.Line(line.argv, line.env, options)
        yield from check_errors.guesses(outcome.message, self._conditions(outcome), known)

    @staticmethod
    def _goes_further(
        outcome: Outcome, after: Outcome, change: Change, seen: set[tuple[str, str, str]]
    ) -> bool:
        """Another finding than before, and not one that the change itself brought in."""
        if after.state == "unreachable":
            return outcome.error_class == "SystemExit" and after.error_class != "SystemExit"
        if after.key in seen:
            return False
        if after.error_class == "SystemExit":
            if outcome.error_class != "SystemExit":
                return False
            return not any(f in after.message for f in change.flags)
        spelled = [f for f in change.flags if f in after.message]
        return not (spelled and outcome.error_class != "SystemExit")


def _asks_for_more(change: Change, after: Outcome) -> bool:
    """The check is passed and what comes next is a value that only the user knows."""
    return any(w.startswith("<") and w in after.asked for w in change.argv)
