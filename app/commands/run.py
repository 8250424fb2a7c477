"""`reprobase run`: raise an error with the engine's real code, and show the fix passing."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `run`."""
    parser.add_argument("key", metavar="ID_OR_SLUG", help="the error")
    parser.add_argument("--step", choices=("trigger", "fix", "both"), default="both")
    parser.add_argument(
        "--on",
        metavar="SUBJECT",
        action="append",
        default=[],
        help="PACKAGE==VERSION, `reference`, or `all` that the reproducer declares; "
        "may be given several times; the newest release by default",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", action="store_true", help="the runs as one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run the steps; exit code 0 if all passed, 1 if one did not, 3 if nothing could be run."""
    from app.commands import running, running_found
    from app.runs.evidence import record_of
    from app.runs.sandbox import from_command_line
    from app.settings import load_settings

    settings = load_settings()
    from_command_line()
    found = running_found.runs_of(args.key, args.on, args.step, settings)
    if found is None:
        [target] = running.find_targets([args.key], settings)
        subjects = running.subjects_of(target, args.on, settings)
        found = running.run_target(target, subjects, args.step, args.device, settings)
    runs = []
    for row in found:
        runs.append(row)
        if not args.json:
            print(running.summary(row), flush=True)
            _details(row.message, row.traceback)
        running.keep([row], settings)
    if args.json:
        records = [record_of(row) | {"stdout": row.stdout} for row in runs]
        print(json.dumps(records, ensure_ascii=False, indent=2))
    return running.exit_code(runs)


def _details(message: str | None, traceback: list[dict[str, object]]) -> None:
    for frame in traceback:
        print(f"        {frame['file']}:{frame['line']} in {frame['function'] or '<module>'}")
    if message:
        print("        " + message.replace("\n", "\n        "))
