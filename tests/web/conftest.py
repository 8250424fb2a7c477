"""The real application over a small real catalog."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.db import close_engines, session
from app.loading.curated import ERRORS_DIR, load_curated
from app.loading.evidence import load_evidence
from app.main import create_app
from app.settings import Settings, load_settings
from tests.web.browsers import serving
from tests.web.catalogs import fill
from tests.web.postgres import SERVER, database_in


def settings_in(folder: Path, **more: str) -> Settings:
    """Settings of an empty world of their own; of SQLite if nobody says otherwise."""
    server = os.environ.get(SERVER)
    return load_settings(
        {
            "HOME": str(folder),
            "REPROBASE_DATABASE_URL": database_in(server)
            if server and "DATABASE_URL" not in more
            else f"sqlite:///{folder / 'catalog.db'}",
            "REPROBASE_CACHE_DIR": str(folder / "cache"),
            **{f"REPROBASE_{key}": value for key, value in more.items()},
        }
    )


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a filled catalog that tests only read."""
    settings = settings_in(tmp_path_factory.mktemp("world"))
    fill(settings)
    return settings


@pytest.fixture(scope="session")
def site(world: Settings) -> Iterator[TestClient]:
    """A browser's view of the site, from the machine itself."""
    with TestClient(
        create_app(world),
        base_url="http://127.0.0.1:8000",
        client=("127.0.0.1", 50000),
        follow_redirects=False,
    ) as client:
        yield client


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a world with nothing in it."""
    yield settings_in(tmp_path)
    close_engines()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site of its own: three toy releases and the real curated entries."""
    settings = settings_in(tmp_path_factory.mktemp("served"))
    fill(settings)
    both = shutil.copytree(settings.cache_dir / "errors", settings.cache_dir / "both")
    shutil.copytree(ERRORS_DIR, both, dirs_exist_ok=True)
    with session(settings) as db:
        load_curated(db, both)
        load_evidence(db)
    with serving(settings, as_it_is=True) as address:
        yield address
