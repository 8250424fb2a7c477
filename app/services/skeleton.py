"""`make new`: the two files that an explained error begins with; they fail until filled in.

    python -m app.services.skeleton ID SLUG

What the catalog knows is filled in: package, class, type, message, family. Everything that only a
person knows is left empty, and an empty section is an error that names file and line. The
reproducer's trigger does nothing yet, so its run fails; none raises by hand.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from sqlmodel import Session, select

from app.db import session
from app.exceptions import BadInputError, ReprobaseError
from app.knowledge.entry_file import HEADINGS
from app.loading.curated import load_curated
from app.models import Entry, Release
from app.services.history import life_of
from app.services.resolve import resolve
from app.settings import DATA_DIR, PROJECT_ROOT, Settings, load_settings

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_REPRODUCER = '''"""

Symptom
-------


Mechanism
---------

"""

from collections.abc import Mapping

from reproducers.upstream.subject import Subject

RELEASES = "{releases}"


def trigger(subject: Subject) -> None:
    ...


def fix(subject: Subject) -> None:
    ...


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    ...
'''


def write_skeleton(
    db: Session, key: str, slug: str, *, data: Path = DATA_DIR, root: Path = PROJECT_ROOT
) -> list[Path]:
    """Write `errors/<slug>.md` and the reproducer of an entry.

    Args:
        db: the catalog.
        key: id of the entry.
        slug: what is found, never the remedy; small letters, digits and hyphens.
        data: the folder that holds `errors/`.
        root: the folder that holds `reproducers/errors/`.

    Returns:
        The files.

    Raises:
        NotFoundError: no such entry.
        BadInputError: the slug is none, the entry is explained already, or a file is there.
    """
    if not _SLUG.fullmatch(slug):
        raise BadInputError(f"{slug!r} is no slug: small letters, digits and single hyphens.")
    entry = resolve(db, key).entry
    if entry.slug is not None:
        raise BadInputError(f"This error is explained already: data/errors/{entry.slug}.md.")
    page = data / "errors" / f"{slug}.md"
    reproducer = root / "reproducers" / "errors" / f"{slug.replace('-', '_')}.py"
    for path in (page, reproducer):
        if path.exists():
            raise BadInputError(f"{path} is there already; choose another slug.")
    page.write_text(_page(entry), encoding="utf-8")
    reproducer.write_text(_REPRODUCER.format(releases=_releases(db, entry)), encoding="utf-8")
    return [page, reproducer]


def _page(entry: Entry) -> str:
    facts = {
        "package": entry.package,
        "error_class": entry.error_class,
        "error_type": entry.error_type,
        "message": entry.template,
        "severity": "",
        "family": entry.family or "",
        "tags": [],
        "related": [],
        "handling_strategy": "",
    }
    # JSON's strings and lists are TOML's as well, but for halves of characters.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]
    sections = "\n".join(f"## {heading}\n" for heading in HEADINGS)
    return "\n".join(["```toml", *lines, "```", "# ", "", sections])


def _releases(db: Session, entry: Entry) -> str:
    """The scanned releases that have the error, as a specifier."""
    there = [step.version for step in life_of(db, entry, []).steps if step.status != "gone"]
    known = {r.version: r.ordinal for r in _scanned(db, entry.package) if r.version in there}
    versions = sorted(known, key=known.__getitem__)
    return f"{entry.package} >={versions[0]},<={versions[-1]}" if versions else ""


def _scanned(db: Session, package: str) -> list[Release]:
    return list(db.exec(select(Release).where(Release.package == package)))


def main(settings: Settings | None = None) -> int:
    """Write the files and say what comes next."""
    parser = argparse.ArgumentParser(prog="make new", description="Begin to explain an error.")
    parser.add_argument("id", help="the error's id: `reprobase search WORDS --json` shows it")
    parser.add_argument("slug", help="a short name of what is found: kda-verify-exceeds-scratch")
    args = parser.parse_args()
    settings = settings or load_settings()
    try:
        with session(settings) as db:
            load_curated(db)
            paths = write_skeleton(db, args.id, args.slug)
    except ReprobaseError as e:
        sys.stderr.write(f"make new: {e}\n")
        return e.exit_code
    for path in paths:
        sys.stdout.write(f"{path.relative_to(PROJECT_ROOT)}\n")
    sys.stdout.write(
        f"Fill in both, then `reprobase run {args.slug} --on all`. Until the page is whole, every "
        "command names the first thing that is missing.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
