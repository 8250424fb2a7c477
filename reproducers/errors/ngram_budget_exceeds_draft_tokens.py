"""More draft tokens are set aside for the external corpus than a draft has.

Symptom
-------
The server refuses to start: `ValueError: speculative_ngram_external_sam_budget must be less than or
equal to speculative_num_draft_tokens - 1 (3).` The number in brackets is the largest that works.

Mechanism
---------
One of the draft tokens is the root: the last token that was verified. What is left,
`speculative_num_draft_tokens - 1`, is shared by the two sources of n-gram speculation, what was
said before and the external corpus. The budget is the corpus's share and cannot be more than that.
The number of draft tokens is 12 if none is given. Here a launch line goes through the release's own
parser and resolution, which does not open the corpus.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import line_of, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import BROKEN, outcome
from reproducers.solutions import tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
LOWER_BUDGET = "Lower the budget to the number in brackets, or below"
LONGER_DRAFT = "Lengthen the draft"
DRAFT_OF_4 = {
    "device": "cuda",
    "speculative_algorithm": "NGRAM",
    "speculative_num_draft_tokens": 4,
    "speculative_ngram_external_corpus_path": "corpus.jsonl",
}
TOO_MUCH = DRAFT_OF_4 | {"speculative_ngram_external_sam_budget": 4}
ALL = DRAFT_OF_4 | {"speculative_ngram_external_sam_budget": 3}


def start(subject: Subject, options: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a launch line of these options; the settings the server would run with."""
    return resolved(subject, line_of(options))


def trigger(subject: Subject) -> None:
    """A budget of four for a draft of four, one of which is the root."""
    subject.value("speculative_ngram_external_sam_budget", 4)
    subject.value("speculative_num_draft_tokens", 4)
    start(subject, TOO_MUCH)


def fix(subject: Subject) -> None:
    """The same line with a budget of three: all but the root."""
    settings = start(subject, ALL)
    budget = settings["speculative_ngram_external_sam_budget"]
    subject.value("speculative_ngram_external_sam_budget", budget)
    subject.value("speculative_num_draft_tokens", settings["speculative_num_draft_tokens"])
    same(subject, "resolved-budget", budget, 3)
    same(subject, "resolved-draft-tokens", settings["speculative_num_draft_tokens"], 4)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the bound."""
    default = {k: v for k, v in ALL.items() if k != "speculative_num_draft_tokens"}
    without = {k: v for k, v in TOO_MUCH.items() if "corpus" not in k}
    hold_launch_page(
        subject,
        snippets,
        partial(start, subject),
        partial(resolved, subject),
        text="speculative_ngram_external_sam_budget must be less than or equal",
        cases={
            "4 of 4": TOO_MUCH,
            "3 of 4": ALL,
            "4 of 5": TOO_MUCH | {"speculative_num_draft_tokens": 5},
            "11 of the default": default | {"speculative_ngram_external_sam_budget": 11},
            "12 of the default": default | {"speculative_ngram_external_sam_budget": 12},
            "4 of 4 without a corpus": without,
        },
        refused=TOO_MUCH,
        rescued={"speculative_ngram_external_sam_budget": 3},
        other=TOO_MUCH | {"speculative_ngram_external_corpus_max_tokens": 0},
    )
    solutions(subject, snippets)

    equal = outcome(partial(start, subject, TOO_MUCH))
    subject.check("as-many-as-drafted-is-too-many", equal.endswith("- 1 (3)."), got=equal)
    settings = start(subject, default)
    same(subject, "twelve-by-default", settings["speculative_num_draft_tokens"], 12)
    same(
        subject, "checked-with-a-corpus-only", outcome(partial(start, subject, without)), "returns"
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: its change goes into the page's own broken line."""

    def budget_of(line: str) -> list[int]:
        settings = resolved(subject, line)
        names = ("speculative_ngram_external_sam_budget", "speculative_num_draft_tokens")
        return [settings[name] for name in names]

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": budget_of,
        "before": "ValueError: speculative_ngram_external_sam_budget must be less than or equal...",
    }
    for title, after in ((LOWER_BUDGET, [3, 4]), (LONGER_DRAFT, [4, 5])):
        tried_change(subject, snippets, title, **asked, after=after)
