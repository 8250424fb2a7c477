"""Proof that each trigger finds its guard and nothing else: copies of a release, changed once."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.runs import execute
from reproducers.protocol import Request
from tests.reproducers.mutate import mutated, taken_out, with_other_words
from tests.reproducers.pairs import ends, entry_file, ran, request_for

pytestmark = pytest.mark.wheel

Edit = Callable[[str, ast.stmt], str]

WITHOUT_GUARD: dict[str, Edit] = {
    # What the guard keeps out is None, and None has no attribute to go on with.
    "spec-info-unset-in-target-verify": lambda _s, _n: "return seq_lens, None, None, tree_mask",
    # Torch refuses the first copy of several: what has no guard is copied without.
    "stale-speculative-width": lambda _s, _n: "return None",
}
"""What stands in place of the statement that raises, where `pass` only leads to the next one."""

REFUSED_LATER = {
    "adaptive-steps-without-state": "AttributeError",
    "batch-exceeds-largest-bucket": "IndexError",
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


def changed(request: Request, folder: Path, edit: Edit, slug: str, version: str) -> Request:
    """The request on a copy; where a library raises, at the line that the trigger found."""
    if not entry_file(slug).facts.raised_by:
        return mutated(request, folder, edit)
    found = ran(slug, version, "trigger").site
    assert found is not None
    there = tuple(site for site in request.sites if site["file"] == found.file)
    return mutated(replace(request, sites=there), folder, edit, line=found.line)


each_end = pytest.mark.parametrize(("slug", "version"), ends(guarded=True))


@each_end
def test_without_the_guard_the_trigger_returns(slug: str, version: str, tmp_path: Path) -> None:
    request = request_for(slug, version, "trigger")
    edit = WITHOUT_GUARD.get(slug, taken_out)
    result = execute(changed(request, tmp_path, edit, slug, version))
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
