"""What an answer asks for when the catalog or the log says more than the launch line would."""

import json
import os
from pathlib import Path

import pytest

from app.diagnosis.diagnose import diagnose
from app.diagnosis.matcher import Matcher
from app.diagnosis.verdicts import COMMAND
from app.loading.index import build, save
from app.services.diagnosis import answer
from app.settings import Settings, load_settings
from tests.diagnosis.engines import ENGINE
from tests.diagnosis.test_matcher import FULL

UNKNOWN = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    save(build(ENGINE, []), tmp_path / "cache" / "index")
    return load_settings()


def scanning(settings: Settings, *, failed: bool = False, done: bool = False) -> None:
    state = {"release": "sglang==0.5.23", "said": "…", "pid": os.getpid()}
    settings.scan_state_file.parent.mkdir(parents=True, exist_ok=True)
    settings.scan_state_file.write_text(json.dumps({**state, "failed": failed, "done": done}))


@pytest.mark.parametrize("log", [UNKNOWN, "INFO nothing that anybody knows"])
def test_an_answer_without_an_entry_says_that_a_release_is_still_being_read(
    settings: Settings, log: str
) -> None:
    scanning(settings)
    missing = answer(log, settings).missing
    assert "sglang==0.5.23" in missing[0]
    assert "still being read" in missing[0]


def test_an_answer_with_an_entry_needs_no_further_release(settings: Settings) -> None:
    scanning(settings)
    found = answer(f"ValueError: {FULL}", settings)
    assert (found.verdict, found.missing) == ("known", [])


@pytest.mark.parametrize("how", ["failed", "done"])
def test_a_scan_that_is_over_is_not_waited_for(settings: Settings, how: str) -> None:
    scanning(settings, **{how: True})
    assert not any("being read" in m for m in answer(UNKNOWN, settings).missing)


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        ("", True),
        ("server_args=ServerArgs(model_path='x', tp_size=2)\n", False),
        ("python -m sglang.launch_server --model-path x --tp-size 2\n", False),
    ],
)
def test_the_launch_command_is_asked_for_only_if_the_log_does_not_say_it(
    engine: Matcher, before: str, *, asked: bool
) -> None:
    found = diagnose(f"{before}{UNKNOWN}", matcher=engine)
    assert found.verdict == "unknown"
    assert (COMMAND in found.missing) is asked
