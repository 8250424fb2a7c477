"""Several logs for `reprobase diagnose`: read at once, told together."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Final

from app.commands.diagnose import CODES
from app.commands.diagnosis_text import text
from app.diagnosis.result import Diagnosis
from app.diagnosis.together import Cause, Together
from app.services.many_logs import diagnose_many
from app.settings import Settings

_NAMED: Final = 5
"""Logs that are named beside a cause; `--json` has them all."""
_LISTED: Final = 50
"""Logs that are listed one by one."""


def diagnosed_together(
    paths: list[Path], index: Path | bytes, settings: Settings, args: argparse.Namespace
) -> int:
    """Diagnose and print; the exit code is that of the most telling verdict."""
    progress = _Progress()
    found = diagnose_many(
        paths,
        index,
        settings,
        command=args.command,
        release=args.release,
        jobs=args.jobs,
        on_progress=progress,
    )
    progress.end()
    if args.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, default=str))
    else:
        print("\n".join(_lines(found, colour=sys.stdout.isatty())))
    return CODES[found.verdict]


def _lines(found: Together, *, colour: bool) -> list[str]:
    out = [found.summary]
    for cause in found.causes:
        first = found.answers[cause.logs[0]]
        assert isinstance(first, Diagnosis)
        head = "Root cause" if cause.role == "root-cause" else "Waits for another one"
        out += ["", f"{head} in {_named(cause)}", text(first, colour=colour)]
    out.append("")
    for name, answer in list(found.answers.items())[:_LISTED]:
        said = answer.summary if isinstance(answer, Diagnosis) else answer
        verdict = answer.verdict if isinstance(answer, Diagnosis) else "unreadable"
        out.append(f"{verdict:<10}  {name}: {said}")
    if len(found.answers) > _LISTED:
        out.append(f"... and {len(found.answers) - _LISTED:,} more; `--json` has them all.")
    return out


def _named(cause: Cause) -> str:
    more = len(cause.logs) - _NAMED
    named = ", ".join(cause.logs[:_NAMED])
    return f"{named} and {more:,} more" if more > 0 else named


class _Progress:
    """One line on standard error: rewritten on a terminal, else a line every five seconds."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._said = time.monotonic()
        self._shown = False

    def __call__(self, done: int, name: str) -> None:
        now = time.monotonic()
        if now - self._said < (0.2 if self._terminal else 5.0):
            return
        self._said, self._shown = now, True
        line = f"read {done:,} logs, {name}"
        start, end = ("\r\x1b[K", "") if self._terminal else ("", "\n")
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line clean for what follows."""
        if self._shown and self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr)
