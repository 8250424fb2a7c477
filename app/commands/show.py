"""`reprobase show`: one entry, as text, JSON or Markdown."""

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    parser.add_argument("key", metavar="ID_OR_SLUG", help="an id, a slug, or an older one of them")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    """Print the entry; exit code 2 with near matches if there is none."""
    from app.commands.catalog import catalog
    from app.services.entries import entry_document
    from app.services.entry_page import entry_page
    from app.services.resolve import resolve
    from app.settings import load_settings

    settings = load_settings()
    with catalog(settings) as db:
        document = entry_document(db, resolve(db, args.key).entry, settings)
    if args.json or args.format == "json":
        print(document.model_dump_json(by_alias=True, indent=2))
        return 0
    page = entry_page(document.record)
    if args.format == "markdown":
        from app.web.markdown_twin import markdown_twin

        print(markdown_twin(page, document.dataset_version), end="")
        return 0
    from app.commands.entry_text import entry_text

    print(entry_text(page, color=sys.stdout.isatty()), end="")
    return 0
