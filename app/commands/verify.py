"""`reprobase verify`: run the reproducers and write `data/evidence/`."""

import argparse
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.models import Run


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
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="errors at a time; one for each processor by default"
    )
    parser.add_argument("--json", action="store_true", help="the runs as one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run and write; exit code 0 if all passed, 1 if one did not, 3 if nothing could be run."""
    from app.commands import running
    from app.exceptions import BadInputError
    from app.runs.evidence import evidence_path, read_evidence, record_of, write_evidence
    from app.runs.sandbox import from_command_line
    from app.settings import load_settings

    jobs = args.jobs or os.cpu_count() or 1
    if jobs < 1:
        raise BadInputError(f"--jobs is {args.jobs}; it takes 1 or more.")
    settings = load_settings()
    from_command_line()
    cancel = threading.Event()

    def verify(target: running.Target) -> "list[Run]":
        slug = target.entry.slug
        subjects = running.subjects_of(target, args.on, settings)
        runs = []
        for row in running.run_target(
            target, subjects, "both", args.device, settings, cancel=cancel
        ):
            if cancel.is_set():
                return []
            runs.append(row)
            running.keep([row], settings)
            if not args.json:
                print(f"{slug}  {running.summary(row)}", flush=True)
        path = evidence_path(slug)
        if "all" in args.on:
            changed = write_evidence(path, runs, declared=target.declares)
            kept = {str(r["subject"]) for r in read_evidence(path)} - set(subjects)
            if kept:
                running.say(f"{path.name}: not at hand and left as they were: {_listed(kept)}")
        else:
            changed = write_evidence(path, runs)
        running.say(f"{path.name}: {'written' if changed else 'as it was'}")
        return runs

    targets = running.find_targets(args.keys, settings)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            everything = [row for runs in pool.map(verify, targets) for row in runs]
        except BaseException:
            # What runs is ended and what waits is dropped; files of finished errors stay.
            cancel.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if args.json:
        print(json.dumps([record_of(row) for row in everything], ensure_ascii=False, indent=2))
    return running.exit_code(everything)


def _listed(subjects: set[str]) -> str:
    from app.services.evidence import subject_order

    return ", ".join(sorted(subjects, key=subject_order))
