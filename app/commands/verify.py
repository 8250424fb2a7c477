"""`reprobase verify`: run the reproducers and write `data/evidence/`."""

import argparse
import json
import os
import threading


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
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=float,
        help="of a run, before it is ended; the usual limit by default, more on a busy machine",
    )
    parser.add_argument("--json", action="store_true", help="the runs as one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run and write; exit code 0 if all passed, 1 if one did not, 3 if nothing could be run."""
    from app.commands import running
    from app.commands.verifying import Here, Piece, executed, pieces_of
    from app.models import Run
    from app.runs.evidence import evidence_path, read_evidence, record_of, write_evidence
    from app.runs.sandbox import from_command_line
    from app.settings import load_settings
    from app.spread import spread_of

    _refuse_nothing("--jobs", args.jobs)
    _refuse_nothing("--seconds", args.seconds)
    jobs = args.jobs or os.cpu_count() or 1
    settings = load_settings()
    from_command_line()
    cancel = threading.Event()

    def tell(piece: Piece, row: Run) -> None:
        running.keep([row], settings)
        if not args.json:
            print(f"{piece.target.entry.slug}  {running.summary(row)}", flush=True)

    def write(piece: Piece, runs: list[Run]) -> None:
        path = evidence_path(piece.target.entry.slug)
        if "all" in args.on:
            changed = write_evidence(path, runs, declared=piece.target.declares)
            there = {str(r["subject"]) for r in read_evidence(path)}
            kept = there - set(piece.subjects)
            if kept:
                running.say(f"{path.name}: not at hand and left as they were: {_listed(kept)}")
        else:
            changed = write_evidence(path, runs)
        running.say(f"{path.name}: {'written' if changed else 'as it was'}")

    pieces = pieces_of(args.keys, args.on, args.device, args.seconds, settings)
    spread = spread_of(settings, jobs)
    elsewhere = settings.ray_address is not None
    gpus = 1 if args.device == "cuda" else 0
    done: dict[str, list[Run]] = {}
    found = spread.each(executed, pieces, None if elsewhere else Here(cancel, tell), gpus=gpus)
    try:
        for piece, rows in found:
            runs = [Run.model_validate(row) for row in rows]
            for run in runs if elsewhere else ():
                tell(piece, run)
            write(piece, runs)
            done[piece.target.entry.slug] = runs
    finally:
        # What runs is ended and what waits is dropped; files of finished errors stay.
        cancel.set()
        spread.close()
    everything = [row for piece in pieces for row in done[piece.target.entry.slug]]
    if args.json:
        print(json.dumps([record_of(row) for row in everything], ensure_ascii=False, indent=2))
    return running.exit_code(everything)


def _refuse_nothing(option: str, given: float | None) -> None:
    from app.exceptions import BadInputError

    if given is not None and not given > 0:
        raise BadInputError(f"{option} is {given:g}; it takes more than 0.")


def _listed(subjects: set[str]) -> str:
    from app.services.evidence import subject_order

    return ", ".join(sorted(subjects, key=subject_order))
