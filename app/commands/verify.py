"""`reprobase verify`: run the reproducers and write `data/evidence/`."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `verify`."""
    parser.add_argument("keys", metavar="ID_OR_SLUG", nargs="*", help="errors; all by default")
    parser.add_argument(
        "--on",
        metavar="SUBJECT",
        action="append",
        default=[],
        help="PACKAGE==VERSION, `reference`, or `all` that a reproducer declares; "
        "may be given several times; the newest release by default",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", action="store_true", help="the runs as one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run and write; exit code 0 if all passed, 1 if one did not, 3 if nothing could be run."""
    from app.commands import running
    from app.runs.evidence import evidence_path, record_of, write_evidence
    from app.settings import load_settings

    settings = load_settings()
    everything = []
    for target in running.find_targets(args.keys, settings):
        slug = target.entry.slug
        subjects = running.subjects_of(target, args.on, settings)
        runs = []
        for row in running.run_target(target, subjects, "both", args.device, settings):
            runs.append(row)
            running.keep([row], settings)
            if not args.json:
                print(f"{slug}  {running.summary(row)}", flush=True)
        path = evidence_path(slug)
        declared = subjects if "all" in args.on else None
        changed = write_evidence(path, runs, subjects=declared)
        running.say(f"{path.name}: {'written' if changed else 'as it was'}")
        everything += runs
    if args.json:
        print(json.dumps([record_of(row) for row in everything], ensure_ascii=False, indent=2))
    return running.exit_code(everything)
