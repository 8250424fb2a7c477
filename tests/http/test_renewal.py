"""A finished run has the pages made anew that it concerns, on every worker, and no others."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlmodel import Session, select
from starlette.testclient import TestClient

from app.db import read_meta, session, touch, touch_named, wait_for_writers
from app.http.answers import HTML, NO_RUNS, Answers, Rendered, rendered
from app.main import create_app
from app.models import Entry, Run, utc_now
from app.runs import new_run_id
from app.services.renewal import LISTS, names_of, renewing
from app.services.run_worker import fail_forgotten
from app.settings import Settings
from tests.web.catalogs import ENTRY_ID, OLD_ID, SLUG, fill

HERE = [
    f"/errors/{SLUG}", f"/errors/{SLUG}.md", f"/api/errors/{SLUG}", f"/api/errors/{ENTRY_ID}",
]  # fmt: skip
ROWS = [
    "/", "/errors", "/errors?q=rows", "/errors?status=executed", "/api/errors",
    "/api/errors?evidence=none", "/families/capacity-exceeded", "/api/families/capacity-exceeded",
    "/releases/sglang/2.0", "/api/releases/sglang/2.0", "/releases/sglang/diff", "/llms.txt",
]  # fmt: skip
NEVER = [
    "/families", "/releases", "/api/families", "/api/releases",
    "/sitemap.xml", "/feed.atom", "/preflight",
]  # fmt: skip


@pytest.fixture
def two(empty: Settings) -> Iterator[list[TestClient]]:
    """Two workers over one database."""
    fill(empty)
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                TestClient(
                    create_app(empty), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)
                )
            )
            for _ in range(2)
        ]


def kept(site: TestClient) -> set[int]:
    """The answers that a worker has at hand, by which object they are."""
    return {id(made) for made in answers_of(site)._kept.values()}


def answers_of(site: TestClient) -> Answers:
    found = site.app.state.reprobase.answers  # type: ignore[attr-defined]  # the application
    assert isinstance(found, Answers)
    return found


def other_page(site: TestClient) -> str:
    [row] = site.get("/api/errors", params={"q": "cannot stop"}).json()["records"]
    return f"/errors/{row['id']}"


def made_anew(site: TestClient, paths: list[str], settings: Settings, run: Run) -> list[str]:
    """Which of some pages are made anew after a run was stored."""
    answers = answers_of(site)
    before = {}
    for path in paths:
        known = kept(site)
        assert site.get(path).status_code == 200, path
        [before[path]] = kept(site) - known or {0}
    objects = list(answers._kept.values())  # so that no number comes again
    store(settings, run)
    answers.forget()
    anew = []
    for path in paths:
        known = kept(site)
        site.get(path)
        if kept(site) - known or before[path] not in kept(site):
            anew.append(path)
    assert objects
    return anew


def store(settings: Settings, run: Run) -> None:
    with session(settings) as db, renewing(db, [run]):
        db.add(run)


def run_of(**facts: Any) -> Run:
    """A run of the explained entry that fits what it has, finished just now."""
    values: dict[str, Any] = {
        "id": new_run_id(), "entry_id": ENTRY_ID, "slug": SLUG, "step": "trigger",
        "subject": "sglang==1.1", "outcome": "raised", "error_class": "ValueError",
        "message": "a message of just now", "matched": True, "passed": True, "state": "done",
        "started_at": utc_now() + timedelta(seconds=1),
    }  # fmt: skip
    return Run(**(values | facts))


def test_a_run_that_changes_no_row_renews_the_pages_of_its_error_alone(
    two: list[TestClient], empty: Settings
) -> None:
    paths = [*HERE, *ROWS, *NEVER, other_page(two[0])]
    assert sorted(made_anew(two[0], paths, empty, run_of(subject="sglang==1.0"))) == sorted(HERE)


def test_a_run_that_changes_what_rows_tell_renews_every_list(
    two: list[TestClient], empty: Settings
) -> None:
    """The error is no longer executed: lists, sums and filters tell so, and no other page is."""
    paths = [*HERE, *ROWS, *NEVER, other_page(two[0])]
    failed = run_of(passed=False, matched=False, outcome="returned")
    assert two[0].get("/api/errors?status=executed").json()["total"] == 1
    assert sorted(made_anew(two[0], paths, empty, failed)) == sorted([*HERE, *ROWS])
    for site in two:
        assert site.get("/api/errors?status=executed").json()["total"] == 0


def test_every_worker_shows_the_new_run(two: list[TestClient], empty: Settings) -> None:
    for site in two:
        for path in HERE:
            site.get(path)
    run = run_of(subject="sglang==2.0")
    store(empty, run)
    for site in two:
        answers_of(site).forget()
        for path in HERE[:1] + HERE[2:]:
            assert run.id in site.get(path).text, path


@pytest.mark.parametrize("facts", [{"entry_id": OLD_ID}, {"slug": None}])
def test_an_older_id_and_the_slug_concern_the_same_page(
    two: list[TestClient], empty: Settings, facts: dict[str, str | None]
) -> None:
    """Runs are kept under the id that the error had when they were made."""
    with session(empty) as db:
        entry = db.get(Entry, ENTRY_ID)
        assert entry is not None
        assert {ENTRY_ID, SLUG} <= names_of(db, entry)
    paths = [HERE[0], HERE[2], other_page(two[0])]
    assert made_anew(two[0], paths, empty, run_of(subject="sglang==1.0", **facts)) == paths[:2]


def test_a_forgotten_run_renews_its_page(two: list[TestClient], empty: Settings) -> None:
    site = two[0]
    run = run_of(state="running", outcome=None, started_at=utc_now() - timedelta(hours=1))
    with session(empty) as db:
        db.add(run)
    before = site.get(HERE[2]).text
    with session(empty) as db:
        assert fail_forgotten(db, empty) == 1
    answers_of(site).forget()
    assert site.get(HERE[2]).text != before


def test_an_answer_that_does_not_say_what_it_reads_is_dropped_with_every_run(
    empty: Settings,
) -> None:
    made: list[str] = []

    def build(name: str, reads: frozenset[str] | None, _db: Session) -> Rendered:
        made.append(name)
        return rendered(name, HTML, reads)

    async def ask(names: list[str]) -> list[str]:
        made.clear()
        for name, reads in {
            "all": None, "none": NO_RUNS, "a": frozenset({"a", LISTS}), "b": frozenset({"b"}),
        }.items():  # fmt: skip
            await answers.get(name, partial(build, name, reads))
        with session(empty) as db:
            wait_for_writers(db)
            touch_named(db, names)
        answers.forget()
        return list(made)

    answers = Answers(empty)

    async def all_of_it() -> list[list[str]]:
        return [await ask(["a"]), await ask(["b", "c"]), await ask(["a"]), await ask([])]

    found = asyncio.run(all_of_it())
    assert found == [["all", "none", "a", "b"], ["all", "a"], ["all", "b"], ["all", "a"]]


def test_the_words_of_names_end_with_the_revision(empty: Settings) -> None:
    """So there are never more of them than errors that were run since the last scan."""
    with session(empty) as db:
        wait_for_writers(db)
        touch_named(db, ["a", "b"])
    with session(empty) as db:
        assert read_meta(db, "ran:a")
        touch(db, catalog=False)
    with session(empty) as db:
        assert read_meta(db, "ran:a") is None
        assert read_meta(db, "ran:b") is None


def test_trigger_and_fix_that_end_together_are_both_seen(empty: Settings) -> None:
    """Neither sees the other half-written: whoever comes second tells that it is executed now."""
    fill(empty)
    with session(empty) as db:
        for run in db.exec(select(Run).where(Run.slug == SLUG)):
            db.delete(run)
    lists = _word(empty)
    both = [run_of(), run_of(step="fix", outcome="returned", guard_reached=True)]
    gate = threading.Barrier(2)

    def one(run: Run) -> None:
        gate.wait()
        store(empty, run)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, both))
    assert _word(empty) != lists


def _word(settings: Settings) -> str | None:
    with session(settings) as db:
        return read_meta(db, f"ran:{LISTS}")


def test_what_a_worker_keeps_for_sending_goes_with_the_answer(
    two: list[TestClient], empty: Settings
) -> None:
    """Otherwise a second generation of all pages would stay in memory."""
    site = two[0]
    layer = site.app.middleware_stack  # type: ignore[attr-defined]  # the application
    while type(layer).__name__ != "Ready":
        layer = getattr(layer, "app", None) or layer._app
    for _ in range(2):
        for path in HERE + ROWS:
            site.get(path)
    assert len(layer._prepared) > len(HERE)
    with session(empty) as db:
        touch(db)
    answers_of(site).forget()
    site.get("/about")
    site.get("/families")
    assert len(layer._prepared) == 0


def test_a_reader_of_lists_alone_is_not_an_error(empty: Settings) -> None:
    """No id or slug is the name that stands for lists."""
    with session(empty) as db:
        assert db.exec(select(Entry).where(Entry.slug == LISTS)).first() is None
