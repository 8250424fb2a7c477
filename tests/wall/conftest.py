"""Toy releases for the tests of this folder, and whether this machine allows a whole wall."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runs.toys import Toys, toys_in


@pytest.fixture
def toys(tmp_path: Path) -> Toys:
    """Makes toy releases in a cache of its own."""
    return toys_in(tmp_path)


@functools.cache
def namespaces_allowed() -> bool:
    """Asked of the system's own tool, so that a fault of the wall cannot hide as a skipped test."""
    tool = shutil.which("unshare")
    if tool is None:
        return True
    who = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    command = [tool, *who, "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def whole_wall() -> None:
    """Skip where the machine itself forbids namespaces (a container without rights)."""
    if not namespaces_allowed():
        pytest.skip("this machine does not allow namespaces; test_degraded.py holds here")
