"""`reprobase load`: brings the database back from `data/` and the scanned wheels."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.loading.remembered import Remembered
    from app.settings import Settings
    from app.wheels import Wheel

CANNOT_TELL = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `load`."""
    parser.add_argument(
        "--rescan",
        action="store_true",
        help="also read every release of the catalog again from its cached wheel",
    )
    parser.add_argument(
        "--indexes", action="store_true", help="also make the indexes that answers are found with"
    )
    parser.add_argument(
        "--no-scan",
        action="store_true",
        help="leave releases that the database has lost for another time",
    )
    parser.add_argument("--json", action="store_true", help="what was loaded, as JSON")


def run(args: argparse.Namespace) -> int:
    """Load everything anew; local runs are kept.

    Releases that were scanned before and are not in the database, because it was lost, are read
    again from their wheels; exit code 3 if one of them could not be.
    """
    import json

    from sqlmodel import col, func, select

    from app.db import session
    from app.loading.curated import load_curated
    from app.loading.evidence import load_evidence
    from app.loading.remembered import missing, remember_catalog
    from app.models import Entry, Release, Run
    from app.services.found import load_found
    from app.settings import load_settings

    settings = load_settings()
    force = not args.indexes or args.rescan
    with session(settings) as db:
        explained = load_curated(db, force=force)
        shipped = load_evidence(db, force=force)
        load_found(db, settings)
        releases = list(db.exec(select(Release).order_by(Release.package, col(Release.ordinal))))
        names = [f"{r.package}=={r.version}" for r in releases]
        lost = [] if args.no_scan else missing(db, settings)
        remember_catalog(db, settings)
        local = db.exec(select(func.count()).select_from(Run).where(Run.origin == "local")).one()
    if args.rescan:
        _rescan(names, quiet=bool(lost))
    failed = _bring_back(lost, settings, runs_are_gone=local == 0)
    if args.indexes:
        from app.services.index_making import make_indexes

        make_indexes(settings, _say)
    with session(settings) as db:
        found = {
            "explained": explained,
            "evidence": shipped,
            "entries": db.exec(select(func.count()).select_from(Entry)).one(),
            "releases": db.exec(select(func.count()).select_from(Release)).one(),
            "runs": db.exec(select(func.count()).select_from(Run)).one(),
            "broughtBack": [r.name for r in lost if r.name not in failed],
            "notBroughtBack": failed,
        }
    if args.json:
        print(json.dumps(found))
    else:
        print(
            f"{explained} explained entries, {shipped} shipped runs; "
            f"the catalog has {found['entries']} entries of {found['releases']} releases and "
            f"{found['runs']} runs."
        )
    return CANNOT_TELL if failed else 0


def _bring_back(
    lost: "list[Remembered]", settings: "Settings", *, runs_are_gone: bool
) -> dict[str, str]:
    """Scan what the database lost; returns what could not be read, with the reason."""
    from app.commands.scan import Progress
    from app.exceptions import ReprobaseError
    from app.loading.scanning import scan_into_catalog

    if not lost:
        return {}
    count = "1 release" if len(lost) == 1 else f"{len(lost)} releases"
    _say(
        f"The database lacks {count} scanned before: {', '.join(r.name for r in lost)}. "
        "Reading them again from their wheels."
    )
    failed: dict[str, str] = {}
    for number, release in enumerate(lost, 1):
        try:
            wheel = _wheel_of(release, settings)
            show = Progress(f"[{number}/{len(lost)}] {release.name}")
            show.end(scan_into_catalog(wheel, settings, show))
        except ReprobaseError as e:
            failed[release.name] = str(e)
            _say(
                f"{release.name} could not be brought back: {e} "
                f"`reprobase scan {release.name}` tries again."
            )
    if runs_are_gone:
        _say(
            "Runs made on this machine were kept in the database alone: if there were any, they "
            "cannot be brought back. `reprobase run` makes them anew."
        )
    return failed


def _wheel_of(release: "Remembered", settings: "Settings") -> "Wheel":
    """The wheel a release was read from: the file it was given as, else the cache's, else pip's."""
    from pathlib import Path

    from app.wheels import fetch, open_wheel

    path = Path(release.path)
    if release.path and path.is_file() and settings.wheels_dir not in path.parents:
        wheel = open_wheel(path)
        if (wheel.package, wheel.version) == (release.package, release.version):
            return wheel
    return fetch(release.package, release.version, settings, on_progress=_say)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _rescan(names: list[str], *, quiet: bool) -> None:
    from app.commands import scan

    if not names:
        if not quiet:
            _say("No release is in the catalog; `reprobase scan P==V` adds one.")
        return
    parser = argparse.ArgumentParser()
    scan.add_arguments(parser)
    scan.run(parser.parse_args(["--again", *names]))
