"""What "executed on" means, the same for the list, the page, the first page and its counters."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from app.db import close_engines, session
from app.models import Alias, Entry, Explanation, Run
from app.runs import new_run_id
from app.services.entries import entry_record
from app.services.entry_page import entry_page
from app.services.evidence import executed_ids, executed_on, newest_runs
from app.services.home import home
from app.services.listing import ListQuery, list_errors
from app.settings import Settings, load_settings

ENTRY, SLUG = "e" * 16, "some-error"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BAD = [{"id": "guard-1", "section": "Type guard", "ok": False}]
GOOD = [{"id": "guard-1", "section": "Type guard", "ok": True}]


def run(step: str, subject: str = "sglang==1.0", *, later: int = 0, **more: Any) -> Run:
    """A run that passed unless it is said otherwise, so many minutes after noon."""
    outcome = "raised" if step == "trigger" else "returned"
    known: dict[str, Any] = {
        "id": new_run_id(), "entry_id": ENTRY, "slug": SLUG, "outcome": outcome, "passed": True,
    }  # fmt: skip
    when = NOON + timedelta(minutes=later)
    return Run(**(known | {"step": step, "subject": subject, "started_at": when} | more))


def newest_first(*runs: Run) -> list[Run]:
    return sorted(runs, key=lambda r: r.started_at, reverse=True)


PAIR = (run("trigger"), run("fix"))
NOT_EXECUTED = {
    "a trigger here and a fix there": (run("trigger"), run("fix", "sglang==1.1")),
    "a trigger on one device and a fix on another": (run("trigger"), run("fix", device="cuda")),
    "a newer fix that failed": (*PAIR, run("fix", later=1, passed=False, outcome="raised")),
    "a newer trigger that ran out of time": (
        *PAIR,
        run("trigger", later=1, passed=False, outcome="timeout"),
    ),
    "a claim that is not so": (run("trigger"), run("fix", claims=BAD)),
    "a claim that is not so any more": (*PAIR, run("fix", later=1, claims=BAD)),
    "a fix alone": (run("fix"),),
}
EXECUTED = {
    "a pair": PAIR,
    "a pair whose older fix failed": (*PAIR, run("fix", later=-1, passed=False)),
    "a pair and a newer run that was skipped": (
        *PAIR,
        run("fix", later=1, passed=False, outcome="skipped"),
    ),
    "a claim that is so again": (*PAIR, run("fix", later=1, claims=BAD), run("fix", later=2)),
}


@pytest.mark.parametrize("case", EXECUTED)
def test_the_newest_trigger_and_fix_of_one_place_count(case: str) -> None:
    assert executed_on(newest_first(*EXECUTED[case])) == [("sglang==1.0", "cpu")]


@pytest.mark.parametrize("case", NOT_EXECUTED)
def test_anything_less_does_not(case: str) -> None:
    assert executed_on(newest_first(*NOT_EXECUTED[case])) == []


def test_a_skipped_run_is_shown_only_where_no_other_is() -> None:
    skipped = run("fix", later=1, outcome="skipped", passed=False)
    assert newest_runs([skipped, PAIR[1]]) == [PAIR[1]]
    assert newest_runs([skipped]) == [skipped]


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    yield load_settings({"HOME": str(tmp_path)})
    close_engines()


@pytest.fixture
def db(settings: Settings) -> Iterator[Session]:
    with session(settings) as opened:
        opened.add(
            Entry(
                id=ENTRY, package="sglang", error_class="ValueError", error_type="exception",
                template="no", pattern="no", slug=SLUG, explained=True,
            )
        )  # fmt: skip
        opened.flush()
        yield opened


@pytest.mark.parametrize("case", [*EXECUTED, *NOT_EXECUTED])
def test_list_page_and_first_page_say_the_same(db: Session, settings: Settings, case: str) -> None:
    for one in (EXECUTED | NOT_EXECUTED)[case]:
        db.add(Run.model_validate(one.model_dump()))
    db.flush()
    executed = case in EXECUTED
    assert executed_ids(db) == executed_ids(db, [ENTRY]) == ({ENTRY} if executed else set())
    assert [r.verified for r in list_errors(db, ListQuery()).records] == [executed]
    assert list_errors(db, ListQuery(status="executed")).total == executed
    assert home(db).executed == executed
    page = entry_page(entry_record(db, db.get_one(Entry, ENTRY), settings))
    assert page.verified == (["sglang==1.0"] if executed else [])


def test_runs_under_a_former_id_count_for_what_it_became(db: Session) -> None:
    db.add(Alias(alias="f" * 16, entry_id=ENTRY, kind="reworded"))
    for one in PAIR:
        db.add(Run(**(one.model_dump() | {"entry_id": "f" * 16, "slug": None})))
    db.flush()
    assert executed_ids(db) == executed_ids(db, [ENTRY]) == {ENTRY}


def test_a_claim_counts_on_the_first_page_only_while_the_newest_run_holds_it(db: Session) -> None:
    content = {"title": "No", "type_guard": "def is_fine(n): ..."}
    db.add(Explanation(slug=SLUG, entry_id=ENTRY, content=content))
    db.add(run("fix", claims=GOOD))
    db.flush()
    assert (home(db).claims, home(db).claims_open) == (1, 0)
    db.add(run("fix", later=1, claims=BAD))
    db.flush()
    assert (home(db).claims, home(db).claims_open) == (0, 1)
