"""Evidence files: ordered, without noise, whole or not at all."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.exceptions import BadInputError
from app.models import Run, utc_now
from app.runs.evidence import evidence_path, read_evidence, record_of, write_evidence
from app.runs.subjects import declares


def run(subject: str, step: str = "trigger", **more: Any) -> Run:
    values: dict[str, Any] = {
        "id": "a" * 16,
        "entry_id": "e",
        "slug": "some-error",
        "outcome": "raised",
    }
    return Run(**(values | {"subject": subject, "step": step, "passed": True} | more))


def test_releases_stand_in_their_order_trigger_before_fix(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    subjects = ["reference", "sglang==0.5.16", "sglang==0.5.6", "sglang==0.5.6.post1"]
    write_evidence(path, [run(s, step) for s in subjects for step in ("fix", "trigger")])
    assert [(r["subject"], r["step"]) for r in read_evidence(path)] == [
        (s, step)
        for s in ("sglang==0.5.6", "sglang==0.5.6.post1", "sglang==0.5.16", "reference")
        for step in ("trigger", "fix")
    ]


def test_verifying_again_with_the_same_verdict_changes_nothing(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    assert write_evidence(path, [run("sglang==0.5.16", seconds=1.0)])
    before = path.read_bytes()
    later = run(
        "sglang==0.5.16",
        id="b" * 16,
        seconds=2.0,
        started_at=utc_now() + timedelta(days=1),
        stdout="noise",
        isolation=["another machine"],
    )
    assert not write_evidence(path, [later])
    assert path.read_bytes() == before


def test_another_verdict_replaces_the_line_and_leaves_the_others(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    write_evidence(path, [run("sglang==0.5.16"), run("sglang==0.5.17")])
    assert write_evidence(path, [run("sglang==0.5.17", outcome="returned", passed=False)])
    assert [(r["subject"], r["outcome"]) for r in read_evidence(path)] == [
        ("sglang==0.5.16", "raised"),
        ("sglang==0.5.17", "returned"),
    ]


def test_lines_of_releases_that_are_not_declared_any_more_are_dropped(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    write_evidence(path, [run("sglang==0.5.16"), run("sglang==0.5.17"), run("reference")])
    declared = partial(declares, "sglang >=0.5.17", reference=False)
    assert write_evidence(path, [run("sglang==0.5.17")], declared=declared)
    assert [r["subject"] for r in read_evidence(path)] == ["sglang==0.5.17"]


def test_a_declared_release_that_could_not_be_run_today_keeps_its_lines(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    subjects = ["sglang==0.5.16", "sglang==0.5.17", "sglang==0.5.18rc1", "reference"]
    write_evidence(path, [run(s) for s in subjects])
    before = path.read_bytes()
    declared = partial(declares, "sglang >=0.5.16", reference=True)
    assert not write_evidence(path, [run("sglang==0.5.17")], declared=declared)
    assert not write_evidence(path, [], declared=declared)
    assert path.read_bytes() == before


def test_a_skipped_run_never_takes_the_place_of_one_that_passed(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    write_evidence(path, [run("sglang==0.5.16"), run("sglang==0.5.17", passed=False)])
    skipped: dict[str, Any] = {"outcome": "skipped", "passed": False, "reason": "no wheel"}
    write_evidence(path, [run("sglang==0.5.16", **skipped), run("sglang==0.5.17", **skipped)])
    assert [r["outcome"] for r in read_evidence(path)] == ["raised", "skipped"]


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    subjects = [f"sglang==0.5.{n}" for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda s: write_evidence(path, [run(s)]), subjects))
    assert [r["subject"] for r in read_evidence(path)] == subjects


def test_keys_are_the_contracts_and_nothing_printed_is_kept() -> None:
    record = record_of(run("sglang==0.5.16", error_class="ValueError", stdout="engine text"))
    assert {"entryId", "errorClass", "startedAt", "standIns", "guardReached"} <= set(record)
    assert record["stdout"] == ""
    json.dumps(record)


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = evidence_path("some-error", tmp_path)
    write_evidence(path, [run("sglang==0.5.16")])
    with path.open("a") as f:
        f.write("{}\n")
    with pytest.raises(BadInputError, match=r"some-error.jsonl:2 is not a run record"):
        read_evidence(path)


def test_no_half_written_file_is_left(tmp_path: Path) -> None:
    write_evidence(evidence_path("some-error", tmp_path), [run("sglang==0.5.16")])
    assert [p.name for p in tmp_path.iterdir()] == ["some-error.jsonl"]
