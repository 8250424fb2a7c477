"""`make new`: two files that fail until a person has filled them in."""

import re
import shutil
from pathlib import Path

import pytest

from app.db import session
from app.exceptions import BadInputError
from app.knowledge.entry_file import HEADINGS, BadFileError, read_entry_file
from app.loading.curated import ERRORS_DIR
from app.services.reproducers import find_reproducer
from app.services.skeleton import write_skeleton
from app.settings import PROJECT_ROOT, Settings
from tests.knowledge.files import GOOD
from tests.web.catalogs import ENTRY_ID, SLUG, TEMPLATE, fill
from tests.web.conftest import empty

__all__ = ["empty"]
NAME = "rows-that-are-missing"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A temporary copy of what a contributor works on."""
    for folder in ("data/errors", "reproducers"):
        shutil.copytree(
            PROJECT_ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def begin(settings: Settings, copy: Path, slug: str = NAME) -> tuple[Path, Path]:
    with session(settings) as db:
        page, code = write_skeleton(db, ENTRY_ID, slug, data=copy / "data", root=copy)
    return page, code


def unexplained(settings: Settings) -> None:
    """A catalog in which nobody has explained the toy error yet."""
    from app.loading.releases import load_release  # noqa: PLC0415  # a scan of its own
    from app.scanner.release import scan_wheel  # noqa: PLC0415  # as above
    from app.wheels import open_wheel  # noqa: PLC0415  # as above
    from tests.web.catalogs import wheel_of  # noqa: PLC0415  # as above

    for version in ("1.0", "1.1"):
        wheel = open_wheel(wheel_of(settings.wheels_dir / "sglang", version))
        with session(settings) as db:
            load_release(db, scan_wheel(wheel, processes=0))


def test_both_files_hold_what_the_catalog_knows_and_fail(empty: Settings, copy: Path) -> None:
    unexplained(empty)
    page, code = begin(empty, copy)
    assert (page.name, code.name) == (f"{NAME}.md", "rows_that_are_missing.py")
    text = page.read_text()
    assert f'message = "{TEMPLATE}"' in text
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(HEADINGS)
    with pytest.raises(BadFileError, match=rf"{NAME}\.md:\d+: .*severity"):
        read_entry_file(page)
    file = find_reproducer(NAME, copy / "reproducers" / "errors")
    assert file is not None
    assert file.releases == "sglang >=1.0,<=1.1"
    assert (file.trigger, file.fix) == ("...", "..."), "nothing is raised by hand"


def test_every_section_has_to_be_filled_in(empty: Settings, copy: Path) -> None:
    """Filled in piece by piece, the page names the next piece until it is whole."""
    unexplained(empty)
    page, _ = begin(empty, copy)
    whole = re.split(rf"\n## (?={'|'.join(HEADINGS)})", GOOD)
    head, *sections = page.read_text().split("\n## ")
    head = head.replace('severity = ""', 'severity = "stops-server"')
    page.write_text("\n## ".join([head, *sections]))
    with pytest.raises(BadFileError, match="title"):
        read_entry_file(page)
    head = head.replace("\n# \n", "\n# A title\n\nOne sentence.\n")
    for number in range(len(sections)):
        page.write_text("\n## ".join([head, *sections]))
        with pytest.raises(BadFileError, match=f"{HEADINGS[number]!r} is empty"):
            read_entry_file(page)
        filled = [s for s in whole if s.startswith(f"{HEADINGS[number]}\n")]
        sections[number] = filled[0]
    page.write_text("\n## ".join([head, *sections]))
    assert read_entry_file(page).slug == NAME


def test_the_reproducer_is_python_that_raises_nothing_by_hand(empty: Settings, copy: Path) -> None:
    unexplained(empty)
    _, code = begin(empty, copy)
    assert "raise" not in code.read_text()
    compile(code.read_text(), code.name, "exec")


def test_nothing_is_overwritten(empty: Settings, copy: Path) -> None:
    unexplained(empty)
    begin(empty, copy)
    taken = next(iter(sorted(ERRORS_DIR.glob("*.md")))).stem
    for slug in (NAME, taken):
        with pytest.raises(BadInputError, match="there already"):
            begin(empty, copy, slug)
    with pytest.raises(BadInputError, match="no slug"):
        begin(empty, copy, "Not A Slug")


def test_what_is_explained_is_not_begun_again(empty: Settings, copy: Path) -> None:
    fill(empty, versions=("1.0",))
    with pytest.raises(BadInputError, match=f"data/errors/{SLUG}.md"):
        begin(empty, copy)
