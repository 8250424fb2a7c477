"""Runs that end together on PostgreSQL: none is lost, and both workers renew what they must."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlmodel import select

from app.db import close_engines, read_meta, session, touch
from app.models import Run
from app.services.renewal import LISTS
from app.settings import Settings
from tests.http.test_renewal import run_of, store
from tests.web.catalogs import SLUG, fill
from tests.web.conftest import settings_in
from tests.web.postgres import postgres

pytestmark = pytest.mark.postgres
AT_ONCE = 4


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with postgres() as url:
        settings = settings_in(tmp_path_factory.mktemp("pg"), DATABASE_URL=url)
        fill(settings, versions=("1.1",))
        yield settings
        close_engines()


@pytest.mark.parametrize("_round", range(5))
def test_the_words_of_one_error_are_written_by_many_at_once(
    settings: Settings, _round: int
) -> None:
    """The first word of a name is a new row: two who write it must not end in a conflict."""
    with session(settings) as db:
        for run in db.exec(select(Run).where(Run.slug == SLUG)):
            db.delete(run)
        touch(db, catalog=False)
    runs = [run_of(), run_of(step="fix", outcome="returned", guard_reached=True),
            *(run_of(subject="sglang==1.0") for _ in range(AT_ONCE - 2))]  # fmt: skip
    ids = {run.id for run in runs}
    gate = Barrier(AT_ONCE)

    def one(run: Run) -> None:
        gate.wait()
        store(settings, run)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, runs))
    with session(settings) as db:
        assert set(db.exec(select(Run.id).where(Run.slug == SLUG))) == ids
        assert read_meta(db, f"ran:{LISTS}"), "trigger and fix are there: it is executed now"
        assert read_meta(db, f"ran:{SLUG}")
