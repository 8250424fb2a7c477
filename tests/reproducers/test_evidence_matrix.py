"""The table of errors and releases is what the evidence says, and the evidence is of today."""

import importlib.util
from types import ModuleType

import pytest

from app.runs.evidence import EVIDENCE_DIR, read_evidence
from app.settings import PROJECT_ROOT
from tests.reproducers.pairs import SLUGS, declared, entry_file, reproducer


@pytest.fixture(scope="module")
def page() -> ModuleType:
    """The script that writes it."""
    path = PROJECT_ROOT / "docs" / "evidence_matrix.py"
    spec = importlib.util.spec_from_file_location("evidence_matrix", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_what_the_evidence_says(page: ModuleType) -> None:
    """`python docs/evidence_matrix.py` was run after the last `reprobase verify`."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.page()
    assert text.count("| [") == len(SLUGS)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_reproducer_passed_where_its_error_begins_and_where_it_ends(slug: str) -> None:
    """Both steps, on the oldest and the newest release that it declares, and on the reference."""
    ends = {f"sglang=={v}" for v in (declared(slug)[:1] + declared(slug)[-1:])}
    ends |= {"reference"} if reproducer(slug).has_reference else set()
    records = read_evidence(EVIDENCE_DIR / f"{slug}.jsonl")
    shown = {(r["subject"], r["step"]) for r in records if r["passed"] and r["device"] == "cpu"}
    assert {(subject, step) for subject in ends for step in ("trigger", "fix")} <= shown


@pytest.mark.parametrize("slug", SLUGS)
def test_no_evidence_of_a_claim_that_does_not_hold(slug: str) -> None:
    """What a page's code does on a release is what the page says, in every recorded run."""
    records = read_evidence(EVIDENCE_DIR / f"{slug}.jsonl")
    assert [c for r in records for c in r["claims"] if c["ok"] is not True] == []
    assert {r["slug"] for r in records} == {slug}
    if entry_file(slug).facts.error_type == "silent":
        triggers = [r for r in records if r["step"] == "trigger" and r["passed"]]
        assert all(r["outcome"] == "wrong-result" and r["expected"] != r["got"] for r in triggers)
