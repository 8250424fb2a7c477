"""`reprobase diagnose`: what went wrong in this log, in a tenth of a second."""

import argparse
import gc
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.diagnosis.result import Diagnosis
    from app.settings import Settings

CODES = {"known": 1, "unknown": 1, "clean": 0, "incomplete": 3}
_READABLE = 100
"""Findings that a reader may still look at as JSON."""
_SLOW = 1.0
"""Seconds after which progress is shown."""
_MEGABYTE = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "file",
        nargs="*",
        default=["-"],
        metavar="FILE",
        help="the log, plain, .gz or .zst; - reads a pipe; several, a folder, or archives of logs "
        "(tar, zip) are read at once and put together",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="processes for several logs; one a processor"
    )
    parser.add_argument(
        "--command", metavar="LINE", help="the line that the server was launched with"
    )
    parser.add_argument(
        "--release", metavar="PACKAGE==VERSION", help="the release; inferred from the log otherwise"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Diagnose and print; the exit code is the verdict's."""
    # what is kept of a log is bounded, and nothing of it goes before the end
    gc.disable()
    try:
        return _run(args)
    finally:
        gc.enable()


def _run(args: argparse.Namespace) -> int:
    from app.diagnosis.diagnose import check_readable, diagnose_path, diagnose_stream
    from app.diagnosis.index import Index
    from app.diagnosis.strings import Strings
    from app.exceptions import BadInputError
    from app.settings import load_settings

    if args.release and "==" not in args.release:
        raise BadInputError(f"--release {args.release!r} is none; it reads like sglang==0.5.23.")
    if args.jobs is not None and args.jobs < 1:
        raise BadInputError(f"--jobs is {args.jobs}; it takes a number from 1 on.")
    paths = [Path(name) for name in args.file if name != "-"]
    for path in paths:
        if path.is_dir():
            from app.diagnosis.logs import check_folder

            check_folder(path)
        else:
            check_readable(path)
    settings = load_settings()
    if _several(args.file):
        from app.commands.diagnosing import diagnosed_together

        return diagnosed_together(paths, _index(settings), settings, args)
    matcher = Strings(Index(_index(settings)))
    progress = _Progress()
    options = {"matcher": matcher, "command": args.command, "release": args.release}
    if not paths:
        if sys.stdin.isatty():
            print("Paste the log, then press Ctrl-D.", file=sys.stderr)
        result = diagnose_stream(sys.stdin.buffer, progress=progress, **options)
    else:
        result = diagnose_path(paths[0], progress=progress, **options)
    progress.end()
    if result.verdict != "known" and settings.scan_state_file.exists():
        from app.services.diagnosis import note_reading

        note_reading(result, settings)
    _show(result, as_json=args.json)
    if args.is_program:
        # nor is it taken apart piece by piece when nothing comes after
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(CODES[result.verdict])
    return CODES[result.verdict]


def _show(result: "Diagnosis", *, as_json: bool) -> None:
    if as_json:
        import json

        # indenting is slow, and nobody reads a thousand findings by eye
        indent = 1 if len(result.findings) <= _READABLE else None
        print(json.dumps(result.to_json(), ensure_ascii=False, indent=indent, default=str))
    else:
        from app.commands.diagnosis_text import text

        print(text(result, colour=sys.stdout.isatty()))


def _several(names: list[str]) -> bool:
    """Whether more than one log is meant."""
    from app.exceptions import BadInputError

    if len(names) == 1:
        if names[0] == "-":
            return False
        from app.diagnosis.forms import is_one_log

        return not is_one_log(Path(names[0]))
    if "-" in names:
        raise BadInputError("A pipe (-) is read by itself; give the other logs without it.")
    return True


def _index(settings: "Settings") -> Path | bytes:
    """The compiled index, written first if it is missing or older than the catalog."""
    from app.diagnosis.catalog import fresh

    path = fresh(settings)
    if path is not None:
        return path
    why = _unwritable(settings.index_dir)
    print("Compiling the index of the catalog, once ...", file=sys.stderr)

    def say(text: str) -> None:
        print(f"  {text}", file=sys.stderr)

    if not why:
        from app.loading.index import refresh

        return refresh(settings, progress=say)
    from app.loading.index import compiled

    print(
        f"  It cannot be kept for the next time: {settings.index_dir} cannot be written ({why})."
        " Set REPROBASE_CACHE_DIR to a folder that can.",
        file=sys.stderr,
    )
    return compiled(settings, progress=say)[0]


def _unwritable(folder: Path) -> str:
    """Why nothing can be kept in a folder, tried before the work and not after; empty if it can."""
    import tempfile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as e:
        return e.strerror or str(e)


class _Progress:
    """Says on standard error how much was read, if it takes long."""

    def __init__(self) -> None:
        self._started = self._said = time.monotonic()
        self._shown = False

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._started < _SLOW or now - self._said < _SLOW / 4:
            return
        self._said = now
        self._shown = True
        rate = done / (now - self._started) / _MEGABYTE
        end = "\r" if sys.stderr.isatty() else "\n"
        print(
            f"read {done // _MEGABYTE} MB, {rate:.0f} MB/s ", end=end, file=sys.stderr, flush=True
        )

    def end(self) -> None:
        """Leave the line clean for what follows."""
        if self._shown and sys.stderr.isatty():
            print(" " * 40, end="\r", file=sys.stderr)


def is_known(result: "Diagnosis") -> bool:
    """Whether an entry explains the root cause."""
    return result.verdict == "known"
