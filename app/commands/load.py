"""`reprobase load`: brings the database back from `data/` and the scanned wheels."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.settings import Settings


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
    parser.add_argument("--json", action="store_true", help="what was loaded, as JSON")


def run(args: argparse.Namespace) -> int:
    """Load everything anew; local runs are kept."""
    import json

    from sqlmodel import col, func, select

    from app.db import session
    from app.loading.curated import load_curated
    from app.loading.evidence import load_evidence
    from app.models import Entry, Release, Run
    from app.settings import load_settings

    settings = load_settings()
    force = not args.indexes or args.rescan
    with session(settings) as db:
        explained = load_curated(db, force=force)
        shipped = load_evidence(db, force=force)
        releases = list(db.exec(select(Release).order_by(Release.package, col(Release.ordinal))))
        names = [f"{r.package}=={r.version}" for r in releases]
    if args.rescan:
        _rescan(names)
    if args.indexes:
        _indexes(settings)
    with session(settings) as db:
        found = {
            "explained": explained,
            "evidence": shipped,
            "entries": db.exec(select(func.count()).select_from(Entry)).one(),
            "releases": db.exec(select(func.count()).select_from(Release)).one(),
            "runs": db.exec(select(func.count()).select_from(Run)).one(),
        }
    if args.json:
        print(json.dumps(found))
    else:
        print(
            f"{found['explained']} explained entries, {found['evidence']} shipped runs; "
            f"the catalog has {found['entries']} entries of {found['releases']} releases and "
            f"{found['runs']} runs."
        )
    return 0


def _indexes(settings: "Settings") -> None:
    """Make what the first search and the first entry page would have to wait for."""
    from app.db import session
    from app.diagnosis.catalog import fresh
    from app.loading import index
    from app.search import refresh
    from app.services.related import all_related

    with session(settings) as db:
        refresh(db, settings)
        all_related(db, settings)
    if fresh(settings) is None:
        index.refresh(settings)


def _rescan(names: list[str]) -> None:
    from app.commands import scan

    if not names:
        print("No release is in the catalog; `reprobase scan P==V` adds one.", file=sys.stderr)
        return
    parser = argparse.ArgumentParser()
    scan.add_arguments(parser)
    scan.run(parser.parse_args(names))
