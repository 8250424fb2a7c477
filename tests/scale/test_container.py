"""Dockerfile and compose file name only what there is; their instructions are followed by hand.

Nobody builds the image here: it would need a container runtime.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli import COMMANDS
from app.settings import PROJECT_ROOT

DOCKERFILE = (PROJECT_ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT_ROOT / "compose.yaml").read_text())
SETTINGS = set(
    re.findall(r"^\| ([A-Z_]+) \|", (PROJECT_ROOT / "app/settings.py").read_text(), re.MULTILINE)
)


def instructions() -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    return [(line.split()[0], line.split(None, 1)[1]) for line in joined.splitlines() if line]


WORKDIR = next(rest for key, rest in instructions() if key == "WORKDIR")
UID = int(re.findall(r"--uid (\d+)", DOCKERFILE)[0])


def test_what_is_copied_is_there_and_let_through() -> None:
    let = {
        line[1:]
        for line in (PROJECT_ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {name for key, rest in instructions() if key == "COPY" for name in rest.split()[:-1]}
    assert copied == let
    assert all((PROJECT_ROOT / name).exists() for name in copied)


def test_every_instruction_is_one_and_the_last_user_is_not_root() -> None:
    known = {"FROM", "ARG", "ENV", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE",
             "HEALTHCHECK", "ENTRYPOINT", "CMD"}  # fmt: skip
    assert {key for key, _ in instructions()} == known
    [user] = [rest for key, rest in instructions() if key == "USER"]
    assert user == "reprobase"
    created = next(rest for key, rest in instructions() if "useradd" in rest)
    assert shlex.split(created)[-1] == user


def test_settings_and_commands_exist() -> None:
    names = set(re.findall(r"REPROBASE_([A-Z_]+)", DOCKERFILE))
    for service in COMPOSE["services"].values():
        names |= set(re.findall(r"REPROBASE_([A-Z_]+)", str(service.get("environment"))))
    assert names <= SETTINGS, names - SETTINGS
    commands = [COMPOSE["services"]["site"]["command"][0]]
    commands += re.findall(r'^CMD \["(\w+)"', DOCKERFILE, re.MULTILINE)
    assert set(commands) <= set(COMMANDS)


def test_volumes_and_dependencies_of_the_compose_file_are_declared() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        named = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert named <= set(COMPOSE["volumes"])
    assert services["site"]["ports"] == ["127.0.0.1:8000:8000"], "this machine alone"


@pytest.fixture
def image() -> Iterator[Path]:
    """What the instructions make, by hand: a folder that everybody may read, and one to write to.

    The dependencies are those that the tests run with, in place of what `pip` would fetch.
    """
    folder = Path(tempfile.mkdtemp(prefix="reprobase-image-"))
    folder.chmod(0o755)
    work = folder / WORKDIR.lstrip("/")
    work.mkdir(parents=True)
    for key, rest in instructions():
        *sources, target = rest.split() if key == "COPY" else [""]
        for name in sources:
            source = PROJECT_ROOT / name
            place = work / target / name if target == "./" else work / target
            if source.is_dir():
                shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, place)
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    [site] = venv.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    install = next(rest for key, rest in instructions() if "pip install" in rest)
    words = [sys.executable, "-m", "pip", "--python", str(venv / "bin/python")]
    words += [*shlex.split(install)[1:], "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run(words, cwd=work, check=True)
    yield folder
    shutil.rmtree(folder)


def test_what_the_instructions_make_serves_and_is_found_healthy(image: Path) -> None:
    """As its user, who may write to one folder; asked by the image's own health check."""
    data = image / "data"
    data.mkdir()
    before: list[str] = []
    if os.getuid() == 0:
        os.chown(data, UID, UID)
        before = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    set_ = next(rest for key, rest in instructions() if key == "ENV" and "REPROBASE" in rest)
    environment = dict(
        word.partition("=")[::2] for word in shlex.split(set_.replace("/data", str(data)))
    )
    path = f"{image}/venv/bin:{os.environ['PATH']}"
    entry, default = (
        json.loads(next(rest for key, rest in instructions() if key == wanted))
        for wanted in ("ENTRYPOINT", "CMD")
    )
    assert default == ["serve", "--host", "0.0.0.0"]
    command = [*before, *entry, "serve", "--host", "127.0.0.1", "--port", port, "--no-scan"]
    health = next(rest for key, rest in instructions() if key == "HEALTHCHECK")
    check = json.loads(health.partition("CMD")[2].replace("8000", port))
    log = (image / "log").open("w+")
    server = subprocess.Popen(
        command, cwd=image / WORKDIR.lstrip("/"), env={"PATH": path, **environment}, stderr=log
    )
    try:
        end = time.monotonic() + 120
        while subprocess.run(
            [*before, *check], env={"PATH": path}, capture_output=True, check=False
        ).returncode:
            assert server.poll() is None, Path(log.name).read_text()
            assert time.monotonic() < end, Path(log.name).read_text()
            time.sleep(0.5)
    finally:
        server.terminate()
        server.wait(60)
        log.close()
    assert (data / "reprobase.db").is_file()
