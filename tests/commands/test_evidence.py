"""Shipped evidence is loaded beside local runs, and a broken line is told."""

from pathlib import Path

import pytest
from sqlmodel import select

from app.db import session
from app.exceptions import BadInputError
from app.loading.evidence import EVIDENCE_DIR, load_evidence
from app.models import Run
from app.runs.evidence import write_evidence
from app.settings import Settings
from tests.web.catalogs import ENTRY_ID, SLUG, fill
from tests.web.conftest import empty

__all__ = ["empty"]


def run_of(run_id: str, subject: str, **more: object) -> Run:
    facts = {"entry_id": "of another time", "slug": SLUG, "step": "trigger", "outcome": "raised"}
    return Run.model_validate({"id": run_id, "subject": subject, **facts, **more})


def test_shipped_runs_belong_to_todays_entry_and_are_marked(
    empty: Settings, tmp_path: Path
) -> None:
    fill(empty, versions=())
    runs = [
        run_of("d" * 16, "sglang==1.0", values={"some_value": 3}),
        run_of("e" * 16, "reference"),
    ]
    write_evidence(tmp_path / f"{SLUG}.jsonl", runs)
    for _ in range(2):
        with session(empty) as db:
            assert load_evidence(db, tmp_path) == 2
            shipped = db.exec(select(Run).where(Run.origin == "shipped")).all()
            assert {run.entry_id for run in shipped} == {ENTRY_ID}
            assert {run.id for run in shipped} == {"d" * 16, "e" * 16}
            assert db.get(Run, "d" * 16).values == {"some_value": 3}
            assert len(db.exec(select(Run)).all()) == 5
    (tmp_path / f"{SLUG}.jsonl").unlink()
    with session(empty) as db:
        load_evidence(db, tmp_path)
        assert {run.origin for run in db.exec(select(Run))} == {"local"}


def test_a_run_made_here_is_not_replaced_by_its_shipped_copy(
    empty: Settings, tmp_path: Path
) -> None:
    fill(empty, versions=())
    write_evidence(tmp_path / f"{SLUG}.jsonl", [run_of("aaaaaaaaaaaaaaa1", "sglang==1.1")])
    with session(empty) as db:
        load_evidence(db, tmp_path)
        assert db.get(Run, "aaaaaaaaaaaaaaa1").origin == "local"


@pytest.mark.parametrize("line", ["{", '{"id": "x"}', "[]", '{"id":"a","step":3}'])
def test_a_broken_line_is_told_and_changes_nothing(
    empty: Settings, tmp_path: Path, line: str
) -> None:
    path = tmp_path / f"{SLUG}.jsonl"
    write_evidence(path, [run_of("d" * 16, "sglang==1.0")])
    path.write_text(path.read_text() + line + "\n")
    with (
        pytest.raises(BadInputError, match=rf"{SLUG}.jsonl:2 is not a run record"),
        session(empty) as db,
    ):
        load_evidence(db, tmp_path)
    with session(empty) as db:
        assert db.exec(select(Run)).all() == []


GOOD_FIX = {"step": "fix", "outcome": "returned", "guard_reached": True, "checks": [{"ok": True}]}
CONTRADICTIONS = [
    {"passed": True},
    {"passed": True, "matched": True, "outcome": "timeout"},
    {"passed": True, "matched": True, "reason": "invalid: the stand-in triton.cdiv called"},
    {"passed": True, "matched": True, "guard_reached": True, "outcome": "wrong-result"},
    {"passed": False, "matched": True},
    GOOD_FIX,
    {**GOOD_FIX, "passed": True, "guard_reached": False},
    {**GOOD_FIX, "passed": True, "checks": []},
    {**GOOD_FIX, "passed": True, "checks": [{"ok": True}, {"ok": False}]},
    {**GOOD_FIX, "passed": True, "outcome": "skipped"},
]


@pytest.mark.parametrize("said", CONTRADICTIONS)
def test_a_line_whose_verdict_contradicts_what_it_saw_is_refused(
    empty: Settings, tmp_path: Path, said: dict[str, object]
) -> None:
    fill(empty, versions=())
    write_evidence(tmp_path / f"{SLUG}.jsonl", [run_of("d" * 16, "sglang==1.0", **said)])
    refused = pytest.raises(BadInputError, match=r"jsonl:1 is not a run record: it says that the")
    with refused, session(empty) as db:
        load_evidence(db, tmp_path)


def test_verdicts_that_follow_from_what_was_seen_are_loaded(
    empty: Settings, tmp_path: Path
) -> None:
    fill(empty, versions=())
    invalid = "invalid: the stand-in triton.cdiv called"
    runs = [
        run_of("1" * 16, "sglang==1.0", passed=True, matched=True),
        run_of("2" * 16, "sglang==1.0", passed=True, **GOOD_FIX),
        run_of("3" * 16, "sglang==1.1", matched=True, reason=invalid),
        run_of("4" * 16, "sglang==1.1", **{**GOOD_FIX, "outcome": "skipped"}),
    ]
    write_evidence(tmp_path / f"{SLUG}.jsonl", runs)
    with session(empty) as db:
        assert load_evidence(db, tmp_path) == 4


def test_what_is_shipped_agrees_with_itself(empty: Settings) -> None:
    with session(empty) as db:
        load_evidence(db, EVIDENCE_DIR)
