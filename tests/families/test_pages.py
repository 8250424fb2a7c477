"""The pages of the families: one for each tag, all of one shape, and no tag that nothing gives."""

import re
import tomllib

import pytest

from app.knowledge.family_file import read_family_files
from app.scanner.families import TAGS
from app.settings import DATA_DIR

PAGES = read_family_files(DATA_DIR / "families")
HEADINGS = ["What it is", "How it reads", "Telling it apart", "What usually fixes it"]


def test_every_tag_has_a_page_and_every_page_a_rule() -> None:
    assert set(PAGES) == set(TAGS)
    assert len(TAGS) >= 29


@pytest.mark.parametrize("tag", sorted(PAGES))
def test_a_page_has_its_sections_in_order(tag: str) -> None:
    page = PAGES[tag]
    assert [heading for heading, _ in page.sections] == HEADINGS
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", tag)
    assert "\n" not in page.facts.summary
    assert page.facts.summary.endswith(".")


@pytest.mark.parametrize("tag", sorted(PAGES))
def test_a_page_names_only_families_that_exist_and_its_near_ones(tag: str) -> None:
    text = dict(PAGES[tag].sections)["Telling it apart"]
    named = set(re.findall(r"(?<!\*)\*([a-z-]+)\*(?!\*)", text))
    tags = {word for word in named if "-" in word or word in PAGES} - {tag}
    assert tags <= set(PAGES)
    assert set(PAGES[tag].facts.near) <= set(PAGES) - {tag}


def test_no_two_pages_say_the_same_in_one_line() -> None:
    summaries = [page.facts.summary for page in PAGES.values()]
    assert len(set(summaries)) == len(summaries)


def test_every_family_that_an_explained_entry_names_exists() -> None:
    named = {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8").split("```")[1][4:]).get("family")
        for path in sorted((DATA_DIR / "errors").glob("*.md"))
    }
    assert {slug: tag for slug, tag in named.items() if tag and tag not in PAGES} == {}
