"""`reprobase scan`: add releases to the catalog."""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.scanner.release import Scan
    from app.settings import Settings
    from app.wheels import Wheel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "releases",
        nargs="*",
        metavar="PACKAGE==VERSION",
        help="releases to fetch and scan, for example sglang==0.5.23",
    )
    parser.add_argument(
        "--wheel",
        type=Path,
        metavar="FILE",
        help="scan this wheel file instead of fetching one (one release at most)",
    )
    parser.add_argument(
        "--again", action="store_true", help="scan even what is in the catalog already"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Scan each release; those before a failure stay in the catalog."""
    from app.scanner.release import Scan
    from app.settings import load_settings

    settings = load_settings()
    _check_usage(args)
    first, *others = _wheels(args, settings)
    wheel = first()
    # Children on this machine read while the database is opened.
    begun = None if settings.ray_address else Scan(wheel, cache=settings.cache_dir)
    try:
        _scan_all(args, settings, wheel, begun, others)
    finally:
        if begun is not None:
            begun.cancel()
    return 0


def _scan_all(
    args: argparse.Namespace,
    settings: "Settings",
    wheel: "Wheel",
    begun: "Scan | None",
    others: "list[Callable[[], Wheel]]",
) -> None:
    from app.commands.catalog import catalog
    from app.loading.scanning import scan_into_catalog

    with catalog(settings):
        pass  # the curated entries are there before the sites that belong to them
    results: list[dict[str, Any]] = []
    try:
        while True:
            show = Progress(f"{wheel.package}=={wheel.version}")
            result = scan_into_catalog(wheel, settings, show, again=args.again, begun=begun)
            show.end(result)
            results.append(result)
            if not args.json:
                print(_line(result))
            if not others:
                break
            wheel, begun = others.pop(0)(), None
    finally:
        if args.json:
            print(json.dumps(results, ensure_ascii=False, indent=1))


def _check_usage(args: argparse.Namespace) -> None:
    from app.exceptions import BadInputError
    from app.wheels import parse_release

    if not args.releases and args.wheel is None:
        raise BadInputError("Name a release, for example `reprobase scan sglang==0.5.23`.")
    if args.wheel is not None and len(args.releases) > 1:
        raise BadInputError("--wheel is one release; name one PACKAGE==VERSION at most.")
    for release in args.releases:
        parse_release(release)


def _wheels(args: argparse.Namespace, settings: "Settings") -> "list[Callable[[], Wheel]]":
    """Ways to each wheel, fetched only when its turn has come."""
    from app.exceptions import BadInputError
    from app.wheels import fetch, open_wheel, parse_release

    def given() -> "Wheel":
        wheel = open_wheel(args.wheel)
        found = (wheel.package, wheel.version)
        if args.releases and parse_release(args.releases[0]) != found:
            raise BadInputError(f"{args.wheel.name} is {'=='.join(found)}, not {args.releases[0]}.")
        return wheel

    def fetched(release: str) -> "Wheel":
        package, version = parse_release(release)
        return fetch(package, version, settings, on_progress=_say)

    if args.wheel is not None:
        return [given]
    return [partial(fetched, release) for release in args.releases]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _line(result: dict[str, Any]) -> str:
    changes = ", ".join(
        f"{result[key]:,} {word}"
        for key, word in (
            ("new", "new"),
            ("moved", "moved"),
            ("reworded", "reworded"),
            ("classChanged", "of another class"),
            ("gone", "gone"),
        )
        if result[key]
    )
    unparsed = f", {len(result['unparsed'])} files not parsed" if result["unparsed"] else ""
    return (
        f"{result['package']}=={result['version']}: {result['sites']:,} sites in "
        f"{result['files']:,} files, {result['entries']:,} entries; {result['templates']:,} Python "
        f"messages and {result['native']:,} native checks read, {result['unrecoverable']:,} "
        f"unreadable{unparsed}" + (f"; {changes}" if changes else "")
    )


class Progress:
    """One line on standard error: rewritten on a terminal, else a line every second."""

    def __init__(self, release: str) -> None:
        self._release = release
        self._terminal = sys.stderr.isatty()
        self._said = 0.0
        self._what = ""

    def __call__(self, share: float, what: str) -> None:
        """Say how far it is, if it was not said just now."""
        """Say how far it is, unless that was said a moment ago."""
        now = time.monotonic()
        soon = now - self._said < (0.1 if self._terminal else 1.0)
        if soon and share < 1 and what == self._what:
            return
        self._said, self._what = now, what
        line = f"{self._release}: {what}, {share:.0%}"
        print(
            f"\r\x1b[K{line}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def end(self, result: dict[str, Any]) -> None:
        """Finish the line and list what could not be read."""
        if self._terminal:
            print(file=sys.stderr)
        for item in result["unparsed"]:
            _say(f"not parsed: {item['file']}: {item['reason']}")
        for item in result.get("failedPatterns", ()):
            _say(f"pattern fails: {item['file']}:{item['line']}: {item['template']}")
