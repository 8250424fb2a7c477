"""Dockerfile and compose file name only what there is; nobody builds the image here."""

import re
import shlex
from typing import Any

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
