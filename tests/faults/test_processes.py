"""A worker that dies, and a PostgreSQL that goes away: the site says so and is back by itself."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from starlette.testclient import TestClient

from app.db import close_engines
from app.main import create_app
from app.settings import PROJECT_ROOT, Settings
from tests.web.catalogs import SLUG, fill
from tests.web.conftest import settings_in
from tests.web.postgres import _programs, postgres


@contextmanager
def workers(settings: Settings, number: int) -> Iterator[tuple[str, psutil.Process]]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--no-scan",
               "--workers", str(number)]  # fmt: skip
    environment = os.environ | {
        "REPROBASE_DATABASE_URL": settings.database_url,
        "REPROBASE_CACHE_DIR": str(settings.cache_dir),
    }
    child = subprocess.Popen(command, env=environment, cwd=PROJECT_ROOT)
    try:
        yield f"http://127.0.0.1:{port}", psutil.Process(child.pid)
    finally:
        child.terminate()
        child.wait(60)


def answers(address: str, seconds: float = 90) -> bool:
    """Whether the site answers within some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            time.sleep(0.2)
    return False


def serving(parent: psutil.Process) -> set[int]:
    """The workers: children that are no resource tracker."""
    found = set()
    for child in parent.children():
        with suppress(psutil.Error):  # it has ended meanwhile
            if "spawn_main" in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


def test_a_worker_that_is_killed_is_replaced(empty: Settings) -> None:
    fill(empty, versions=("1.0",))
    close_engines()
    with workers(empty, 2) as (address, parent):
        assert answers(address)
        before = serving(parent)
        assert len(before) == 2
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        assert answers(address), "the other one goes on"
        end = time.monotonic() + 60
        while len(after := serving(parent) - {victim}) < 2 and time.monotonic() < end:
            time.sleep(0.2)
        assert len(after) == 2
        assert answers(address)


def pg_ctl(folder: Path, *arguments: str) -> None:
    before = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    command = [str(_programs() / "pg_ctl"), "-D", str(folder / "data"), "-w", *arguments]
    subprocess.run([*(before if os.getuid() == 0 else []), *command], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip


@pytest.mark.postgres
def test_a_lost_postgresql_is_told_and_its_return_noticed(tmp_path: Path) -> None:
    with postgres() as url:
        folder = Path(url.partition("host=")[2])
        settings = settings_in(tmp_path, DATABASE_URL=url)
        fill(settings, versions=("1.0",))
        with TestClient(create_app(settings), raise_server_exceptions=False) as site:
            assert site.get("/readyz").status_code == 200
            pg_ctl(folder, "-m", "immediate", "stop")
            for path in ("/readyz", f"/api/errors/{SLUG}", "/api/releases"):
                answer = site.get(path)
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "5"), path
                assert "cannot be used" in answer.json()["detail"]
            page = site.get("/errors")
            assert (page.status_code, "Traceback" in page.text) == (503, False)
            assert site.get("/healthz").status_code == 200
            options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
            pg_ctl(folder, "-o", options, "-l", str(folder / "log"), "start")
            for path in ("/readyz", f"/api/errors/{SLUG}", "/api/releases", "/errors"):
                assert site.get(path).status_code == 200, path
            pg_ctl(folder, "-m", "fast", "-o", options, "-l", str(folder / "log"), "restart")
            assert site.get("/readyz").status_code == 200, "nobody noticed that it was away"
        close_engines()
