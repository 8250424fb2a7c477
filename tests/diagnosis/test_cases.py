"""Walks a folder of cases given by REPROBASE_CASES: `logs/*.json` with `log` and `expected`."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from app.diagnosis.diagnose import diagnose
from app.diagnosis.judging import bare
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Diagnosis, Finding

CASES = os.environ.get("REPROBASE_CASES")
pytestmark = [
    pytest.mark.wheel,
    pytest.mark.xdist_group("diagnosis"),
    pytest.mark.skipif(not CASES, reason="REPROBASE_CASES names no folder of cases"),
]


def _cases() -> list[Any]:
    folder = Path(CASES or ".") / "logs"
    return [
        pytest.param(json.loads(path.read_text(encoding="utf-8")), id=path.stem)
        for path in sorted(folder.glob("*.json"))
    ]


@pytest.mark.parametrize("case", _cases())
def test_the_case_is_answered_as_expected(case: dict[str, Any], releases: Matcher) -> None:
    answer = diagnose(case["log"], matcher=releases, command=case.get("launch_command") or None)
    expected = case["expected"]
    finding = _wanted(answer, expected)
    assert finding is not None, [(f.error_class, f.template, f.message) for f in answer.findings]
    assert bare(finding.error_class or "") == bare(expected["error_class"])
    if expected.get("negative"):
        assert not [f for f in answer.findings if f.package == "sglang"]
        assert answer.verdict == "incomplete"
        return
    assert answer.verdict == "known"
    assert answer.root_cause is not None
    assert answer.findings[answer.root_cause] is finding
    _place(finding, expected)
    said = [_plain(v) for v in finding.params.values()] + [_plain(finding.rank)]
    missing = {
        name: value
        for name, value in expected["params"].items()
        if not any(_plain(value) == s or _plain(value) in s for s in said)
    }
    allowed = {
        "deepest_sglang_frame",
        "num_tokens_per_bs",
        "scheme",
        "condition",
        "line_of_first_header",
    }
    assert set(missing) <= allowed | {"avail_mem_after_load_gb", "first_rank"}, missing


def _wanted(answer: Diagnosis, expected: dict[str, Any]) -> Finding | None:
    """The finding whose template, or whose message, is the expected one."""
    words = [w for w in re.split(r"\{[^{}]*\}|\.\.\.", expected["message_template"]) if len(w) > 8]
    root = answer.findings[answer.root_cause] if answer.root_cause is not None else None
    for finding in [root, *answer.findings] if root else answer.findings:
        text = f"{finding.template} {finding.message}"
        if all(w.strip() in text for w in words[:1]) or (
            expected["message_template"] == "(no message)" and not finding.message
        ):
            return finding
    return None


def _place(finding: Finding, expected: dict[str, Any]) -> None:
    if not expected["file"].startswith("srt/"):
        assert finding.package != "sglang" or finding.frame is None or finding.site is not None
        return
    places = [(p.file, p.function) for p in (finding.frame, finding.site) if p]
    wanted = ("sglang/" + expected["file"], expected["function"].rpartition(".")[2])
    assert wanted in [(file, function.rpartition(".")[2]) for file, function in places]


def _plain(value: Any) -> str:
    return str(value).strip("[]'\" ")
