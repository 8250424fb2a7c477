"""`reprobase run` and `reprobase verify`, as a user types them, on a real release."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.commands import running
from app.exceptions import NotFoundError
from app.models import Run
from app.runs.places import Wording
from app.runs.plan import Runnable
from app.services.reproducers import ReproducerFile
from app.settings import Settings, load_settings
from tests.wheels.making import make_wheel

SLUG = "unknown-speculative-phase"


def reprobase(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with a database of its own and the usual cache."""
    environment = {
        "REPROBASE_DATABASE_URL": f"sqlite:///{tmp_path / 'test.db'}",
        "REPROBASE_CACHE_DIR": str(load_settings().cache_dir),
        "HOME": str(tmp_path),
        "PATH": str(Path(sys.executable).parent),
    }
    command = [sys.executable, "-m", "app.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=300
    )


@pytest.mark.wheel
def test_run_gives_the_runs_as_json_and_says_by_its_exit_code_that_all_passed(
    tmp_path: Path,
) -> None:
    done = reprobase(tmp_path, "run", SLUG, "--on", "sglang==0.5.18", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    trigger, fix = json.loads(done.stdout)
    assert (trigger["step"], trigger["outcome"], trigger["matched"]) == ("trigger", "raised", True)
    assert (fix["step"], fix["outcome"], fix["guardReached"]) == ("fix", "returned", True)
    assert fix["checks"]
    assert trigger["site"]["file"].startswith("sglang/srt/")
    assert "trigger on sglang==0.5.18" in done.stderr


@pytest.mark.wheel
def test_run_by_a_published_id_tells_about_it_in_words(tmp_path: Path) -> None:
    done = reprobase(
        tmp_path, "run", "6d46981c2eb2f8c3", "--on", "sglang==0.5.18", "--step", "trigger"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pass  trigger  sglang==0.5.18")
    assert "Unknown speculative phase: decode" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["unknown-speculativ-phase"], "Near: unknown-speculative-phase"),
        ([SLUG, "--on", "sglang 0.5.18"], "write it as PACKAGE==VERSION"),
        ([SLUG, "--on", "vllm==0.5.18"], "is an error of sglang, not of vllm"),
        ([SLUG, "--step", "both of them"], "invalid choice"),
    ],
)
def test_bad_input_is_exit_code_2_and_a_sentence(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = reprobase(tmp_path, "run", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def run(**values: Any) -> Run:
    known: dict[str, Any] = {"id": "x", "entry_id": "e", "step": "fix", "subject": "s"}
    return Run(**(known | values))


def test_the_exit_code_tells_passed_failed_and_cannot_tell_apart() -> None:
    good = run(outcome="returned", passed=True)
    assert running.exit_code([good, run(outcome="skipped")]) == 0
    assert running.exit_code([good, run(outcome="raised", passed=False)]) == 1
    assert running.exit_code([run(outcome="skipped")]) == 3
    unfounded = run(outcome="returned", passed=True, claims=[{"id": "c", "ok": False}])
    assert running.exit_code([unfounded]) == 1
    assert "NOT SO: c" in running.summary(unfounded)


def toy_target(tmp_path: Path, releases: str) -> tuple[running.Target, Settings]:
    """A reproducer of an error that `toy==1.0`, which is cached, does not have."""
    settings = load_settings({"HOME": str(tmp_path)})
    folder = settings.wheels_dir / "toy"
    folder.mkdir(parents=True)
    make_wheel(folder, {"toy/__init__.py": ""}, package="toy", version="1.0")
    entry = Runnable("e" * 16, "toy-error", "toy", "exception", Wording("ValueError", "no", "no"))
    file = ReproducerFile("toy-error", "", releases, "", "", "", has_reference=False)
    return running.Target(entry, file), settings


def test_a_declared_release_without_the_error_is_a_failure(tmp_path: Path) -> None:
    target, settings = toy_target(tmp_path, "toy >=1.0")
    rows = list(running.run_target(target, ["toy==1.0"], "both", "cpu", settings))
    assert [(r.step, r.outcome, r.passed) for r in rows] == [
        ("trigger", "died", False),
        ("fix", "died", False),
    ]
    assert "toy==1.0 does not have this error" in str(rows[0].reason)
    assert running.exit_code(rows) == 1


def test_a_release_that_nobody_declared_is_skipped_without_the_error(tmp_path: Path) -> None:
    target, settings = toy_target(tmp_path, "toy >=2.0")
    rows = list(running.run_target(target, ["toy==1.0", "toy==1.0"], "fix", "cpu", settings))
    assert [r.outcome for r in rows] == ["skipped", "skipped"]
    with pytest.raises(NotFoundError, match="does not have this error"):
        list(running.run_target(target, ["toy==1.0"], "fix", "cpu", settings))
