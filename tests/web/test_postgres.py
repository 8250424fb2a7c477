"""The catalog gives the same answers from PostgreSQL as from SQLite."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app import db as database
from app.db import close_engines, session
from app.main import create_app
from app.models import Run
from app.settings import Settings
from tests.web.catalogs import SLUG, fill
from tests.web.conftest import settings_in
from tests.web.postgres import postgres

pytestmark = pytest.mark.postgres
PATHS = [
    f"/api/errors/{SLUG}", "/api/errors", "/api/errors?q=rows", "/api/errors?status=executed",
    "/api/errors?release=sglang==2.0&status=new", "/api/families", "/api/releases",
    "/api/families/capacity-exceeded", "/api/releases/sglang/2.0", "/api/releases/sglang/diff",
    "/api/runs/aaaaaaaaaaaaaaa1",
]  # fmt: skip
_VARYING = {"datasetVersion", "analyzedAt", "scannedAt", "seconds", "analyzedSha", "sha256", "id"}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with postgres() as url:
        settings = settings_in(tmp_path_factory.mktemp("pg"), DATABASE_URL=url)
        fill(settings)
        yield settings
        close_engines()


def steady(value: Any) -> Any:
    """A document without what differs from one scan to the next."""
    if isinstance(value, dict):
        return {k: steady(v) for k, v in value.items() if k not in _VARYING}
    return [steady(v) for v in value] if isinstance(value, list) else value


def test_every_answer_is_the_same(site: TestClient, other: Settings) -> None:
    with TestClient(create_app(other)) as second:
        for path in PATHS:
            assert steady(second.get(path).json()) == steady(site.get(path).json()), path
        for path in ("/", "/errors", f"/errors/{SLUG}", "/readyz", "/metrics", "/sitemap.xml"):
            assert second.get(path).status_code == 200, path


def test_a_rebuild_keeps_the_runs_and_leaves_other_tables_alone(other: Settings) -> None:
    with session(other) as db:
        db.connection().exec_driver_sql("CREATE TABLE somebody_elses (n integer)")
        database.write_meta(db, "schema", "of another version")
    close_engines()
    with session(other) as db:
        assert db.get(Run, "aaaaaaaaaaaaaaa1") is not None
        db.connection().exec_driver_sql("SELECT n FROM somebody_elses")
