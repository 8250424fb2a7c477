"""`reprobase export`: the whole catalog as JSON, NDJSON or SARIF."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlmodel import Session

    from app.services.records import EntryRecord
    from app.settings import Settings

_TELL = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `export`."""
    parser.add_argument("--format", choices=("json", "ndjson", "sarif"), required=True)
    parser.add_argument("--package", default="", help="only this package")
    parser.add_argument("--explained", action="store_true", help="only entries that are explained")


def run(args: argparse.Namespace) -> int:
    """Write the catalog to standard output, an entry at a time."""
    from app.commands.catalog import catalog
    from app.services.entries import dataset_version
    from app.services.filters import check_filters
    from app.settings import load_settings

    settings = load_settings()
    with catalog(settings) as db:
        check_filters(db, package=args.package)
        version = dataset_version(db)
        records = _records(db, settings, args)
        if args.format == "ndjson":
            for record in records:
                print(record.model_dump_json(by_alias=True))
        elif args.format == "json":
            _json(records, version)
        else:
            _sarif(records)
    return 0


def _records(
    db: "Session", settings: "Settings", args: argparse.Namespace
) -> Iterator["EntryRecord"]:
    from sqlmodel import col, select

    from app.models import Entry
    from app.services.entries import entry_record

    wanted = select(Entry).order_by(Entry.package, col(Entry.explained).desc(), Entry.id)
    if args.package:
        wanted = wanted.where(Entry.package == args.package)
    if args.explained:
        wanted = wanted.where(col(Entry.explained))
    for number, entry in enumerate(db.exec(wanted), 1):
        yield entry_record(db, entry, settings)
        if number % _TELL == 0:
            print(f"{number} entries ...", file=sys.stderr)


def _json(records: Iterator["EntryRecord"], version: str) -> None:
    import json

    print(f'{{"datasetVersion": {json.dumps(version)}, "records": [')
    separator = ""
    for record in records:
        print(separator + record.model_dump_json(by_alias=True), end="")
        separator = ",\n"
    print("\n]}")


def _sarif(records: Iterator["EntryRecord"]) -> None:
    """SARIF 2.1.0: a rule for each entry, a result for each place in the newest release."""
    import json
    from importlib.metadata import version

    rules, results = [], []
    for number, record in enumerate(records):
        rules.append(_rule(record))
        if record.file_path:
            results.append(_result(record, number))
    driver: dict[str, Any] = {
        "name": "reprobase",
        "version": version("reprobase"),
        "rules": rules,
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    print()


def _rule(record: "EntryRecord") -> dict[str, Any]:
    from app.web.render import message_text

    words = message_text(record.error_message) or record.condition
    rule: dict[str, Any] = {
        "id": record.slug or record.id,
        "name": record.error_class,
        "shortDescription": {"text": words or record.error_class},
        "properties": {
            "package": record.package,
            "tags": record.tags,
            "family": record.background_tag,
        },
        "defaultConfiguration": {"level": "warning" if record.severity == "warning" else "error"},
    }
    if record.meaning:
        rule["fullDescription"] = {"text": record.meaning}
    if record.solutions:
        rule["help"] = {
            "text": "\n\n".join(record.solutions),
            "markdown": "\n\n".join(record.solutions),
        }
    return rule


def _result(record: "EntryRecord", rule: int) -> dict[str, Any]:
    from app.web.render import message_text

    words = message_text(record.error_message) or record.condition or record.error_class
    return {
        "ruleId": record.slug or record.id,
        "ruleIndex": rule,
        "level": "note",
        "message": {"text": words},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": record.file_path},
                    "region": {"startLine": max(1, record.line_number or 1)},
                }
            }
        ],
    }
