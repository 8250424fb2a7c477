"""A PostgreSQL server of its own for a test, started from Debian's packages."""

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent if found else Path(str(on_path)).parent


SERVER = "REPROBASE_TEST_POSTGRES"
"""Names a server's URL: then worlds of tests have a database of their own in it."""


def database_in(server: str) -> str:
    """The URL of a new, empty database in a running server."""
    import psycopg  # noqa: PLC0415  # only where there is a server

    name = f"world_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.replace("/postgres?", f"/{name}?")


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database; the server listens on a socket in a folder only."""
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="reprobase-pg-"))
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    before = as_user if os.getuid() == 0 else []
    if before:
        shutil.chown(folder, "postgres", "postgres")
    data = folder / "data"
    user = "postgres" if before else os.environ.get("USER", "postgres")

    def call(*command: str) -> None:
        done = subprocess.run([*before, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout

    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    try:
        call(str(programs / "initdb"), "-D", str(data), "-U", user, "-A", "trust", "-E", "UTF8")
        call(str(programs / "pg_ctl"), "-D", str(data), "-w", "-o", options,
             "-l", str(folder / "log"), "start")  # fmt: skip
        yield f"postgresql://{user}@/postgres?host={folder}"
    finally:
        with contextlib.suppress(AssertionError):
            call(str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
