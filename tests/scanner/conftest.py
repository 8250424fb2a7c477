"""An empty catalog, on SQLite and on a PostgreSQL server started for the tests."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.db import close_engines
from app.settings import Settings, load_settings


def settings_in(folder: Path, database: str) -> Settings:
    """Settings of a world of its own."""
    return load_settings(
        {
            "HOME": str(folder),
            "REPROBASE_DATABASE_URL": database,
            "REPROBASE_CACHE_DIR": str(folder / "cache"),
        }
    )


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Settings]:
    """Settings with an empty SQLite database."""
    yield settings_in(tmp_path, f"sqlite:///{tmp_path / 'catalog.db'}")
    close_engines()


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of our own, gone when the tests end."""
    binaries = Path(shutil.which("initdb") or "/usr/lib/postgresql/15/bin/initdb").resolve().parent
    if not (binaries / "pg_ctl").exists():
        pytest.skip("there is no PostgreSQL server program on this machine")
    folder = tmp_path_factory.mktemp("postgres")
    # The server refuses to run as root; an ordinary user must reach its folder.
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        for path in (folder, *folder.parents):
            if path.owner() == "root" and path != Path("/") and not path.stat().st_mode & 0o001:
                path.chmod(path.stat().st_mode | 0o011)
        shutil.chown(folder, user)

    def call(*command: str | Path) -> None:
        subprocess.run(command, check=True, capture_output=True, user=user, cwd="/")

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    call(binaries / "initdb", "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"
    call(binaries / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
    try:
        yield f"postgresql://test@127.0.0.1:{port}/postgres"
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):  # it may be gone already
            call(binaries / "pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings with an empty database of each kind."""
    if request.param == "sqlite":
        yield settings_in(tmp_path, f"sqlite:///{tmp_path / 'catalog.db'}")
    else:
        url = request.getfixturevalue("postgres_url")
        empty(url)
        yield settings_in(tmp_path, url)
    close_engines()


def empty(url: str) -> None:
    """Drop everything that is in the database."""
    import psycopg  # noqa: PLC0415  # only where there is a server

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
