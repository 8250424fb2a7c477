"""The sample logs of tests/corpus are answered as their header lines say."""

import itertools
from collections.abc import Callable

import pytest

from app.diagnosis.diagnose import diagnose
from app.diagnosis.matcher import Matcher
from tests.diagnosis.corpus import MARK, Sample, samples, wrong

SAMPLES = samples()
KEYS = {
    "release", "command", "verdict", "class", "template", "slug", "file", "function", "site",
    "params", "role", "rank", "count", "others", "missing", "fix", "nofix", "hint", "engine",
    "foreign", "findings", "redacted", "absent", "entry", "finding",
}  # fmt: skip


def test_there_are_samples_of_every_verdict() -> None:
    assert len(SAMPLES) >= 40
    assert {s.expected["verdict"] for s in SAMPLES} == {"known", "unknown", "incomplete", "clean"}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_a_sample_has_only_known_keys_and_no_code_of_an_engine(sample: Sample) -> None:
    assert set(sample.expected) <= KEYS
    lines = sample.log.split("\n")
    for frame, below in itertools.pairwise(lines):
        if "/sglang/srt/" in frame and 'File "' in frame and "\\n" not in frame:
            wrapped = ", in " not in frame or len(frame) == max(map(len, lines))
            interleaved = wrapped or 'File "' in below or "Traceback" in below
            assert MARK in below or interleaved or below.rstrip() in ("", "...") or '"' in below


NEGATIVE = [s for s in SAMPLES if s.expected["verdict"] == "clean"]


@pytest.mark.parametrize("sample", NEGATIVE, ids=lambda s: s.name)
def test_a_negative_sample_matches_nothing(sample: Sample, engine: Matcher) -> None:
    assert wrong(diagnose(sample.text(), matcher=engine), sample.expected) == []


@pytest.mark.wheel
@pytest.mark.xdist_group("diagnosis")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_a_sample_is_answered_as_its_header_says(
    sample: Sample, releases: Matcher, source_of: Callable[[str, str, int], str]
) -> None:
    answer = diagnose(
        sample.text(source_of), matcher=releases, command=sample.expected.get("command")
    )
    assert wrong(answer, sample.expected) == []


@pytest.mark.wheel
@pytest.mark.xdist_group("diagnosis")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_a_sample_is_answered_the_same_without_its_code_lines(
    sample: Sample, releases: Matcher
) -> None:
    answer = diagnose(sample.text(), matcher=releases, command=sample.expected.get("command"))
    assert wrong(answer, sample.expected) == []
