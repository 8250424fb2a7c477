"""The release's own code decides: in a copy whose check is altered, the answer is altered."""

from pathlib import Path

import pytest

from app.settings import Settings
from tests.preflight.altered import GUARD, answer_of_altered


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
    answer = answer_of_altered(old, new, settings, tmp_path.name)
    found = answer.main["findings"]
    if message is None:
        assert not found
        assert answer.main["state"] == "pass"
    else:
        assert message in found[0]["message"]
        assert found[0]["site"]["function"] == "ServerArgs._handle_cache_compatibility"
