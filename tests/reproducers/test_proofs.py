"""Proof that each trigger finds its guard and nothing else: copies of a release, changed once."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.runs import execute
from reproducers.protocol import Frame, Request, Result
from tests.reproducers.mutate import mutated, taken_out, with_other_words
from tests.reproducers.pairs import ends, entry_file, ran, request_for

pytestmark = pytest.mark.wheel

Edit = Callable[[str, ast.stmt], str]

REFUSED_LATER = {
    "adaptive-steps-without-state": "AttributeError",
    "batch-exceeds-largest-bucket": "IndexError",
    "bit-packed-mask-exceeds-32-nodes": "UnboundLocalError",
    "cache-ring-views-have-another-rank": "RuntimeError",
    "conv-window-axis-not-found": "UnboundLocalError",
    "draft-cache-slots-differ": "RuntimeError",
    "graph-slot-sentinel-without-value": "TypeError",
    "graph-slot-without-buffer": "TypeError",
    "kda-state-pool-not-four-dimensional": "ValueError",
    "raw-replay-buffers-missing": "AttributeError",
    "replay-tile-does-not-divide": "ValueError",
    "sampling-seed-and-positions-differ": "AssertionError",
    "sampling-seed-count-differs-from-rows": "RuntimeError",
    "seeded-sampling-without-positions": "AttributeError",
    "spec-info-unset-in-target-verify": "AttributeError",
    "target-verify-without-algorithm": "ValueError",
    "tree-mask-mode-unknown": "UnboundLocalError",
    "verify-of-no-draft-tokens": "UnboundLocalError",
    "verify-tokens-exceed-largest-tier": "IndexError",
}
"""What the code after the guard raises, another error: it cannot do without what is kept out."""

NO_FIXED_WORD_FIRST = ("state-pool-entries-not-contiguous",)
"""Messages that begin with a value: a word put before them is read as part of that value."""


def altered(slug: str) -> Edit:
    """The edit after which the statement raises the same class with other words."""
    facts = entry_file(slug).facts
    if facts.raised_by or slug in NO_FIXED_WORD_FIRST:
        return lambda _source, _statement: f"raise {facts.error_class}('other words')"
    return with_other_words


MOST_LINES = 5
"""Lines of one function that a library refuses, one after another: the copies into buffers."""


def changed(request: Request, folder: Path, edit: Edit, slug: str, version: str) -> Request:
    """The request on a copy; where a library raises, at the line that the trigger found."""
    if not entry_file(slug).facts.raised_by:
        return mutated(request, folder, edit)
    return changed_at(request, folder, edit, ran(slug, version, "trigger").site)


def changed_at(request: Request, folder: Path, edit: Edit, found: Frame | None) -> Request:
    """The request on a copy in which the statement of a traceback's last frame is another."""
    assert found is not None
    there = tuple(site for site in request.sites if site["file"] == found.file)
    kept = mutated(replace(request, sites=there), folder, edit, line=found.line)
    return replace(kept, sites=request.sites)


def without_guard(slug: str, version: str, folder: Path) -> Result:
    """The trigger without its guard; where a library refuses, without each line that it refuses."""
    request = request_for(slug, version, "trigger")
    request = changed(request, folder / "0", taken_out, slug, version)
    result = execute(request)
    if entry_file(slug).facts.raised_by:
        for number in range(1, MOST_LINES):
            if not result.matched:
                break
            request = changed_at(request, folder / str(number), taken_out, result.site)
            result = execute(request)
    return result


each_end = pytest.mark.parametrize(("slug", "version"), ends(guarded=True))


@each_end
def test_without_the_guard_the_trigger_returns(slug: str, version: str, tmp_path: Path) -> None:
    result = without_guard(slug, version, tmp_path)
    refused = REFUSED_LATER.get(slug)
    assert (result.outcome, result.error_class) == ("raised" if refused else "returned", refused)
    assert not result.matched


@each_end
def test_with_other_words_the_trigger_does_not_match(
    slug: str, version: str, tmp_path: Path
) -> None:
    request = request_for(slug, version, "trigger")
    result = execute(changed(request, tmp_path, altered(slug), slug, version))
    assert result.outcome == "raised"
    assert not result.matched
    assert result.error_class == entry_file(slug).facts.error_class
