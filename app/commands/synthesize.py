"""`reprobase synthesize`: find triggers and fixes, and execute them on the release's real code."""

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.wheels import Wheel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `synthesize`."""
    parser.add_argument("release", metavar="PACKAGE==VERSION", help="for example sglang==0.5.23")
    parser.add_argument(
        "--path",
        metavar="GLOB",
        action="append",
        default=[],
        help="only sites of these files, for example 'sglang/srt/arg_groups/*'; may be repeated",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="at most N sites, in reading order")
    parser.add_argument("--sample", type=int, metavar="N", help="N sites at random")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the sample (default 0)"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default 2)")
    parser.add_argument("--again", action="store_true", help="look again at what is known already")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Look at the sites; exit code 0, or 3 if there is none."""
    from app.exceptions import BadInputError
    from app.runs.sandbox import from_command_line
    from app.services.synthesizing import Wish, synthesize_release
    from app.settings import load_settings
    from app.wheels import fetch, parse_release

    for name in ("limit", "sample", "jobs"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise BadInputError(f"--{name} is {value}; it takes a number from 1 on.")
    settings = load_settings()
    from_command_line()
    package, version = parse_release(args.release)
    wheel: Wheel = fetch(package, version, settings, on_progress=_say)
    wish = Wish(tuple(args.path), args.limit, args.sample, args.seed, again=args.again)
    progress = _Progress(args.release)
    results = synthesize_release(wheel, wish, settings, jobs=args.jobs, on_progress=progress)
    progress.end()
    if args.json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
    else:
        for line in summary(results):
            print(line)
    if not results:
        _say("No raise or assert of the release is in these files.")
    return 0 if results else 3


def summary(results: list[dict[str, Any]]) -> list[str]:
    """What came of it, in a few lines."""
    from collections import Counter

    total = len(results)
    triggered = sum(r["trigger"] is not None for r in results)
    fixed = sum(r["fix"] is not None for r in results)
    launched = sum(r["level"] == "launch" for r in results)
    seconds = sum(float(r["seconds"]) for r in results)
    if not total:
        return []
    lines = [
        (
            f"{total:,} sites: {triggered:,} triggers executed ({triggered / total:.1%}), "
            f"{fixed:,} with a fix ({fixed / total:.1%}), {launched:,} as launch lines; "
            f"{seconds / total:.2f} s a site"
        )
    ]
    reasons = Counter(str(r["reason"]) for r in results if r["reason"])
    lines += [f"  {count:>6,}  {reason}" for reason, count in reasons.most_common()]
    return lines


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Progress:
    """One line on standard error: rewritten on a terminal, else a line every five seconds."""

    def __init__(self, release: str) -> None:
        self._release = release
        self._terminal = sys.stderr.isatty()
        self._said = 0.0

    def __call__(self, done: int, total: int, found: int) -> None:
        now = time.monotonic()
        if now - self._said < (0.2 if self._terminal else 5.0) and done < total:
            return
        self._said = now
        line = f"{self._release}: {done:,} of {total:,} sites, {found:,} with trigger and fix"
        print(
            f"\r\x1b[K{line}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def end(self) -> None:
        """Finish the line."""
        if self._terminal:
            print(file=sys.stderr)
