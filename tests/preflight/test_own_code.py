"""The release's own code decides: in a copy whose check is altered, the answer is altered."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.services.preflight_running import request_for, run
from app.settings import DATA_DIR, Settings
from app.wheels import fetch

FILE = "sglang/srt/server_args.py"
GUARD = "if self.enable_hierarchical_cache and self.disable_radix_cache:"
PAYLOAD = {
    "task": "check",
    "program": "launch_server",
    "argv": ["--model-path", "a/b", "--enable-hierarchical-cache", "--disable-radix-cache"],
    "env": {},
    "gpu": "h200",
    "configs": {"a/b": (DATA_DIR / "configs" / "llama.json").read_text()},
    "translations": {},
}


def _altered(root: Path, copy: Path, old: str, new: str) -> Path:
    """The wheel's folder with one file changed; the rest are links to the same files."""
    for folder, _, files in os.walk(root):
        target = copy / Path(folder).relative_to(root)
        target.mkdir(parents=True)
        for name in files:
            os.link(Path(folder) / name, target / name)
    source = (root / FILE).read_text()
    assert source.count(old) == 1
    (copy / FILE).unlink()
    (copy / FILE).write_text(source.replace(old, new))
    return copy


@pytest.mark.wheel
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GUARD, "if False:", None),
        ("enable-hierarchical-cache and disable-radix-cache are mutually", "ALTERED", "ALTERED"),
    ],
)
def test_without_its_guard_a_check_passes_and_with_other_words_it_says_those(
    old: str, new: str, message: str | None, settings: Settings, tmp_path: Path
) -> None:
    configs = {"a/b": json.dumps(json.loads(PAYLOAD["configs"]["a/b"])["config"])}
    wheel = fetch("sglang", "0.5.18", settings)
    request = request_for(wheel, settings, {**PAYLOAD, "configs": configs})
    assert request.subject.root is not None
    same_disk = Path(request.subject.root).parent / f".test-{os.getpid()}-{tmp_path.name}"
    try:
        root = _altered(Path(request.subject.root), same_disk, old, new)
        answer = run(replace(request, subject=replace(request.subject, root=str(root))))
    finally:
        for folder, _, files in os.walk(same_disk, topdown=False):
            for name in files:
                (Path(folder) / name).unlink()
            Path(folder).rmdir()
    found = answer.main["findings"]
    if message is None:
        assert not found
        assert answer.main["state"] == "pass"
    else:
        assert message in found[0]["message"]
        assert found[0]["site"]["function"] == "ServerArgs._handle_cache_compatibility"
