"""`reprobase search WORDS...`: ranked entries for words, or for a message as it was printed."""

import argparse
import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.services.records import Summary

_DEFAULT_LIMIT = 20
_MOST = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="WORDS",
        help="words or a message, behind -- if one begins with a dash; - reads standard input",
    )
    parser.add_argument(
        "--limit", type=int, default=_DEFAULT_LIMIT, help=f"most results (default {_DEFAULT_LIMIT})"
    )
    parser.add_argument("--package", default="", help="only entries of this package")
    parser.add_argument("--release", default="", metavar="P==V", help="only entries of a release")
    parser.add_argument("--family", default="", help="only entries of this family")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace) -> int:
    """Search and print what was found."""
    from sqlmodel import col, select

    from app.commands.catalog import catalog
    from app.exceptions import BadInputError
    from app.models import Entry
    from app.search import Filters, search
    from app.services.entries import dataset_version
    from app.services.filters import check_filters
    from app.services.listing import find_release, summaries
    from app.settings import load_settings

    if not 1 <= args.limit <= _MOST:
        raise BadInputError(f"--limit is {args.limit}; it goes from 1 to {_MOST}.")
    text = sys.stdin.read() if args.words == ["-"] else " ".join(args.words)
    if not text.strip():
        raise BadInputError("There is nothing to search for. Give words, or a message.")
    settings = load_settings()
    with catalog(settings) as db:
        check_filters(db, package=args.package, family=args.family)
        release = find_release(db, args.package, args.release) if args.release else None
        named = f"{release.package}=={release.version}" if release else ""
        filters = Filters(package=args.package, release=named, family=args.family)
        found = search(db, text + " ", filters, limit=args.limit, settings=settings)
        ids = [hit.id for hit in found.hits]
        entries = {e.id: e for e in db.exec(select(Entry).where(col(Entry.id).in_(ids)))}
        rows = summaries(db, [entries[i] for i in ids if i in entries], release)
        version = dataset_version(db)
    if args.json:
        records = [row.model_dump(mode="json", by_alias=True) for row in rows]
        document = {
            "query": text, "records": records, "total": found.total, "datasetVersion": version,
        }  # fmt: skip
        print(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        _print(rows, found.total)
    return 0


def _print(rows: list["Summary"], total: int) -> None:
    width = max(40, shutil.get_terminal_size().columns)
    for row in rows:
        mark = " [explained]" if row.explained else ""
        where = f"{row.file_path}:{row.line_number}" if row.file_path else row.package
        print(f"{row.slug or row.id}{mark}  {row.error_class}  {where}")
        message = " ".join(row.error_message.split())
        print(textwrap.indent(textwrap.shorten(message, width - 4, placeholder=" …"), "    "))
    if not rows:
        print("Nothing found. `reprobase releases` lists what is scanned.", file=sys.stderr)
    elif total > len(rows):
        print(f"{len(rows)} of {total}; --limit shows more.", file=sys.stderr)
