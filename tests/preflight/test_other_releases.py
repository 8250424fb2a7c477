"""What other releases say to a line: on request, in a budget, and who was not asked is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.services.preflight import Question, check
from app.services.preflight_all import as_json, check_all
from app.services.preflight_warm import WarmPool
from app.settings import Settings
from app.wheels import fetch

LINE = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --cuda-graph-max-bs 64"
"""0.5.23 has two flags that begin like this one, 0.5.18 has it."""
OLD, NEW = "0.5.18", "0.5.23"


@pytest.fixture
def two_releases(settings: Settings, tmp_path: Path) -> Settings:
    """A cache that holds two releases, with what was unpacked of them before."""
    wheels = tmp_path / "wheels" / "sglang"
    wheels.mkdir(parents=True)
    for version in (OLD, NEW):
        path = fetch("sglang", version, settings).path
        for file in (path, path.with_name(path.name + ".json")):
            (wheels / file.name).symlink_to(file)
    for name in ("unpacked", "bytecode"):
        (settings.cache_dir / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(settings.cache_dir / name)
    return replace(settings, cache_dir=tmp_path)


def _question(version: str, patience: float | None, *, passing: bool = False) -> Question:
    return Question(
        line=LINE, release=f"sglang=={version}", gpu="h200", patience=patience, passing=passing
    )


@pytest.mark.wheel
def test_the_others_are_asked_about_a_refusal_and_about_a_line_that_passes(
    two_releases: Settings,
) -> None:
    refused = check(_question(NEW, None), two_releases)
    [error] = [f for f in refused.findings if f.level == "error"]
    assert error.holds is not None
    assert (error.holds.refused, error.holds.accepted) == ([NEW], [OLD])
    assert error.holds.text == f"refused from {NEW}, accepted in {OLD}"
    passes = check(_question(OLD, None, passing=True), two_releases)
    assert passes.verdict == "pass"
    assert passes.releases is not None
    assert passes.as_json()["releases"]["refused"] == [NEW]
    assert passes.as_json()["releases"]["accepted"] == [OLD]


@pytest.mark.wheel
def test_who_was_not_asked_for_want_of_time_is_named(two_releases: Settings) -> None:
    report = check(_question(NEW, 0.001), two_releases)
    [error] = [f for f in report.findings if f.level == "error"]
    assert error.holds is not None
    assert error.holds.not_asked == [OLD]
    assert error.holds.text == f"refused from {NEW}, not asked: {OLD}"


@pytest.mark.wheel
def test_the_first_answer_does_not_wait_for_other_releases(
    two_releases: Settings, pool: WarmPool
) -> None:
    """A loaded release answers alone, and says how it was isolated."""
    report = check(_question(NEW, 0.0), two_releases, pool=pool)
    assert report.verdict == "fail"
    assert report.releases is None
    assert any("network: none" in measure for measure in report.isolation)


@pytest.mark.wheel
def test_each_release_in_the_cache_gives_its_own_answer(two_releases: Settings) -> None:
    reports = check_all(LINE, two_releases, gpu="h200")
    assert [(r.release, r.verdict) for r in reports] == [
        (f"sglang=={OLD}", "pass"),
        (f"sglang=={NEW}", "fail"),
    ]
    document = as_json(reports)
    assert document["accepted"] == [f"sglang=={OLD}"]
    assert document["refused"] == [f"sglang=={NEW}"]
    assert all(r.isolation for r in reports)
