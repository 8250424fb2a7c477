"""A copy of a release with one of its checks replaced, to see what a check can do and decides."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from app.services.preflight_running import Answer, request_for, run
from app.settings import DATA_DIR, Settings
from app.wheels import fetch

RELEASE: Final = "0.5.18"
FILE: Final = "sglang/srt/server_args.py"
GUARD: Final = "if self.enable_hierarchical_cache and self.disable_radix_cache:"
"""A check that this release has once, in this file."""


def answer_of_altered(
    old: str, new: str, settings: Settings, name: str, env: Mapping[str, str] | None = None
) -> Answer:
    """What a release says to a line that its guard refuses, with `old` replaced by `new` in it."""
    llama = json.loads((DATA_DIR / "configs" / "llama.json").read_text())["config"]
    payload: dict[str, Any] = {
        "task": "check",
        "program": "launch_server",
        "argv": ["--model-path", "a/b", "--enable-hierarchical-cache", "--disable-radix-cache"],
        "env": dict(env or {}),
        "gpu": "h200",
        "configs": {"a/b": json.dumps(llama)},
        "translations": {},
    }
    request = request_for(fetch("sglang", RELEASE, settings), settings, payload)
    assert request.subject.root is not None
    same_disk = Path(request.subject.root).parent / f".test-{os.getpid()}-{name}"
    with _altered(Path(request.subject.root), same_disk, old, new) as root:
        return run(replace(request, subject=replace(request.subject, root=str(root))))


@contextlib.contextmanager
def _altered(root: Path, copy: Path, old: str, new: str) -> Iterator[Path]:
    """The wheel's folder with one file changed; the rest are links to the same files."""
    try:
        for folder, _, files in os.walk(root):
            target = copy / Path(folder).relative_to(root)
            target.mkdir(parents=True)
            for name in files:
                os.link(Path(folder) / name, target / name)
        source = (root / FILE).read_text()
        assert source.count(old) == 1
        (copy / FILE).unlink()
        (copy / FILE).write_text(source.replace(old, new))
        yield copy
    finally:
        for folder, _, files in os.walk(copy, topdown=False):
            for name in files:
                (Path(folder) / name).unlink()
            Path(folder).rmdir()
