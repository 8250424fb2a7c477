"""`reprobase preflight`: would this launch line be refused, by the release's own checks."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.exceptions import BadInputError

if TYPE_CHECKING:
    from app.preflight.report import Report
    from app.settings import Settings

_PATIENCE: Final = 4.0
"""Seconds from the start in which other releases are asked about a finding, by default."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight`."""
    parser.add_argument(
        "--release",
        metavar="P==V",
        help="the release whose checks decide, or `all` that are in the cache; "
        "the default release if not given",
    )
    parser.add_argument(
        "--gpu",
        metavar="NAME",
        help="the GPU to be simulated: h100, h200, b200, b300, a100, l40s, rtx5090, mi300x, cpu; "
        "guessed from the line if not given",
    )
    parser.add_argument(
        "--config", metavar="DIR", help="the folder with the model's config.json, or that file"
    )
    parser.add_argument(
        "--file", metavar="FILE", help="read the launch lines of a file; - is stdin"
    )
    parser.add_argument("--format", choices=("text", "json", "sarif"), default="text")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--since",
        action="store_true",
        help="ask every cached release whether it takes the line, however long it takes",
    )
    parser.add_argument("--collect-flags", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="the launch line, after two dashes",
    )


def run(args: argparse.Namespace) -> int:
    """Check the line; 0 it passes, 1 it is refused, 3 it cannot be told."""
    from app.runs import from_command_line
    from app.settings import load_settings

    settings = load_settings()
    from_command_line()
    if args.collect_flags:
        from app.services.preflight_flags import collect

        return collect(settings, _progress)
    form = "json" if args.json else args.format
    text, file = _text(args)
    if args.release == "all":
        return _all(args, settings, text, form)
    reports = _check(args, settings, text, args.release or settings.default_release, bool(file))
    _print(reports, form, file)
    return _worst([r.exit_code for r in reports])


def _text(args: argparse.Namespace) -> tuple[str, str]:
    """The launch line, and the file it stands in."""
    words = args.command[1:] if args.command[:1] == ["--"] else args.command
    if args.file and words:
        raise BadInputError("Give either --file or a command after `--`, not both.")
    if args.file and args.file != "-":
        path = Path(args.file)
        try:
            return path.read_text(encoding="utf-8"), args.file
        except (OSError, UnicodeDecodeError) as e:
            raise BadInputError(f"{path} cannot be read ({e}).") from e
    if args.file == "-" or words == ["-"]:
        return sys.stdin.read(), ""
    if len(words) == 1:
        return words[0], ""  # a whole line in quotes, a manifest from "$(cat ...)"
    import shlex

    # Placeholders like <model> come through the shell in quotes: they are no redirections.
    return " ".join(
        w if w.startswith("<") and w.endswith(">") else shlex.quote(w) for w in words
    ), ""


def _check(
    args: argparse.Namespace,
    settings: "Settings",
    text: str,
    release: str,
    every: bool,  # noqa: FBT001  # a file has many lines
) -> list["Report"]:
    from app.preflight.command import parse, parse_all

    commands = parse_all(text) if every else [parse(text)]
    from app.services.preflight import Question, check  # only once there is a line to check

    question = Question(
        line=text,
        release=release,
        gpu=args.gpu,
        config_dir=Path(args.config) if args.config else None,
        local=True,
        patience=None if args.since else _PATIENCE,
        passing=args.since,
    )
    return [check(question, settings, command=c, on_progress=_progress) for c in commands]


def _all(args: argparse.Namespace, settings: "Settings", text: str, form: str) -> int:
    """Which releases would take this line."""
    from app.services.preflight_all import check_all

    reports = check_all(
        text,
        settings,
        gpu=args.gpu,
        config_dir=Path(args.config) if args.config else None,
        on_progress=_progress,
    )
    if form == "text":
        from app.commands.preflight_text import table

        print(table(reports))
    elif form == "json":
        from app.services.preflight_all import as_json

        print(json.dumps(as_json(reports), ensure_ascii=False, indent=2))
    else:
        _print(reports, form, args.file or "")
    return _worst([r.exit_code for r in reports])


def _print(reports: Sequence["Report"], form: str, file: str) -> None:
    if form == "json":
        documents = [r.as_json() | ({"file": file} if file else {}) for r in reports]
        document = documents[0] if len(documents) == 1 else documents
        print(json.dumps(document, ensure_ascii=False, indent=2))
    elif form == "sarif":
        from importlib.metadata import version

        from app.preflight.sarif import as_sarif

        pairs = [(r, file) for r in reports]
        print(json.dumps(as_sarif(pairs, version("reprobase")), ensure_ascii=False, indent=2))
    else:
        from app.commands.preflight_text import as_text

        print("\n\n".join(as_text(r) for r in reports))


def _worst(codes: Sequence[int]) -> int:
    """A refusal counts more than what cannot be told."""
    return next((c for c in (1, 3) if c in codes), 0)


def _progress(text: str) -> None:
    print(f"reprobase preflight: {text}", file=sys.stderr, flush=True)
