"""When a run passes, and what is kept of it."""

from dataclasses import replace

import pytest

from app.runs.record import claims_hold, new_run_id, passed, run_row
from reproducers.protocol import Frame, Request, Result, Subject

RAISED = Result(outcome="raised", error_class="ValueError", message="no", matched=True)
RETURNED = Result(
    outcome="returned", guard_reached=True, checks=[{"id": "n", "ok": True, "got": 1}]
)
REQUEST = Request(
    kind="reproducer",
    subject=Subject(name="sglang==0.5.18", package="sglang", version="0.5.18"),
    scratch="",
    slug="some-error",
    step="trigger",
)


def test_a_trigger_has_to_raise_what_matches() -> None:
    assert passed(RAISED, "trigger")
    assert not passed(replace(RAISED, matched=False), "trigger")
    assert not passed(replace(RAISED, outcome="timeout"), "trigger")
    assert not passed(RAISED, "fix")


def test_a_silent_error_has_to_give_a_wrong_result() -> None:
    wrong = Result(outcome="wrong-result", matched=True, guard_reached=True, expected=1, got=2)
    assert passed(wrong, "trigger", silent=True)
    assert not passed(wrong, "trigger")
    assert not passed(RAISED, "trigger", silent=True)
    assert not passed(replace(wrong, matched=False), "trigger", silent=True)


def test_a_wrong_result_that_no_code_of_the_place_gave_shows_nothing() -> None:
    made_up = Result(outcome="wrong-result", matched=True, expected=1, got=2)
    assert not passed(made_up, "trigger", silent=True)


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "raised"},
        {"guard_reached": False},
        {"checks": []},
        {"checks": [{"id": "a", "ok": True}, {"id": "b", "ok": False}]},
        {"stand_ins_called": ["triton.cdiv called"]},
        {"cuts": ["a.py::f"]},
    ],
)
def test_a_fix_needs_all_that_makes_it_evidence(change: dict[str, object]) -> None:
    assert passed(RETURNED, "fix")
    assert not passed(replace(RETURNED, **change), "fix")  # type: ignore[arg-type]  # one field


def test_a_row_says_what_the_result_says() -> None:
    site = Frame(file="sglang/a.py", function="f", line=3)
    result = replace(RAISED, site=site, traceback=[site], values={"n": 1}, isolation=["user"])
    row = run_row(result, REQUEST, entry_id="0" * 16)
    assert (row.slug, row.step, row.subject, row.state) == (
        "some-error",
        "trigger",
        "sglang==0.5.18",
        "done",
    )
    assert row.passed
    assert row.site == {"file": "sglang/a.py", "function": "f", "line": 3}
    assert row.traceback == [row.site]
    assert (row.values, row.isolation) == ({"n": 1}, ["user"])


def test_ids_of_runs_cannot_be_guessed() -> None:
    ids = {new_run_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(i) == 16 and int(i, 16) >= 0 for i in ids)


def test_one_claim_that_is_not_so_is_enough() -> None:
    assert claims_hold([])
    assert claims_hold([{"ok": True}])
    assert not claims_hold([{"ok": True}, {"ok": False}])
