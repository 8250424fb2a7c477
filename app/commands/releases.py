"""`reprobase releases`: what is scanned; `--remove` takes a release out."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--remove",
        metavar="PACKAGE==VERSION",
        help="take a release out of the catalog; its wheel stays in the cache",
    )


def run(args: argparse.Namespace) -> int:
    """List the scanned releases, by package, oldest first."""
    from sqlmodel import col, select

    from app.db import session
    from app.loading.releases import remove_release
    from app.loading.remembered import forget
    from app.loading.scanning import release_result
    from app.models import Release
    from app.settings import load_settings
    from app.wheels import parse_release

    settings = load_settings()
    if args.remove:
        package, version = parse_release(args.remove)
        with session(settings) as db:
            remove_release(db, package, version)
        forget(settings, package, version)
    with session(settings) as db:
        wanted = select(Release).order_by(col(Release.package), col(Release.ordinal))
        results = [release_result(db, release) for release in db.exec(wanted)]
    if args.json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
        return 0
    if not results:
        print("No release is scanned yet. `reprobase scan sglang==0.5.23` adds one.")
        return 0
    rows = [("release", "entries", "sites", "native", "unreadable", "scanned")]
    rows += [
        (
            f"{r['package']}=={r['version']}",
            f"{r['entries']:,}",
            f"{r['sites']:,}",
            f"{r['native']:,}",
            f"{r['unrecoverable']:,}",
            r["scannedAt"],
        )
        for r in results
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *rest = (
            cell.ljust(w) if i in (0, 5) else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *rest]).rstrip())
    return 0
