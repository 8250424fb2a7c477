"""An external corpus is given for n-gram speculation, but no draft tokens are set aside for it.

Symptom
-------
The server refuses to start: `ValueError: --speculative-ngram-external-sam-budget must be positive
when --speculative-ngram-external-corpus-path is set.`

Mechanism
---------
N-gram speculation drafts from what was said before. An external corpus, held in a suffix automaton
(SAM), is a second source, and the budget is how many of the draft tokens may come from it. The
budget's default is 0, so a corpus path alone is refused: the corpus would be loaded and never
used. Here a launch line goes through the release's own parser and resolution, which does not open
the corpus.
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
SHARE = "Give the corpus a share of the draft"
NO_CORPUS = "Leave the corpus out"
NGRAM = {"device": "cuda", "speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 4}
CORPUS = NGRAM | {"speculative_ngram_external_corpus_path": "corpus.jsonl"}
BUDGET = CORPUS | {"speculative_ngram_external_sam_budget": 2}


def start(subject: Subject, options: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a launch line of these options; the settings the server would run with."""
    return resolved(subject, line_of(options))


def trigger(subject: Subject) -> None:
    """A corpus and the default budget."""
    subject.value("speculative_ngram_external_sam_budget", 0)
    start(subject, CORPUS)


def fix(subject: Subject) -> None:
    """The same line with two of the four draft tokens set aside for the corpus."""
    settings = start(subject, BUDGET)
    budget = settings["speculative_ngram_external_sam_budget"]
    subject.value("speculative_ngram_external_sam_budget", budget)
    same(subject, "resolved-budget", budget, 2)
    path = settings["speculative_ngram_external_corpus_path"]
    same(subject, "resolved-corpus", path, "corpus.jsonl")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the budget."""
    hold_launch_page(
        subject,
        snippets,
        partial(start, subject),
        partial(resolved, subject),
        text="--speculative-ngram-external-sam-budget must be positive",
        cases={
            "a corpus, no budget": CORPUS,
            "a corpus, budget 0": CORPUS | {"speculative_ngram_external_sam_budget": 0},
            "a corpus, budget -1": CORPUS | {"speculative_ngram_external_sam_budget": -1},
            "a corpus, budget 2": BUDGET,
            "no corpus": NGRAM,
        },
        refused=CORPUS,
        rescued={"speculative_ngram_external_sam_budget": 1},
        other=BUDGET | {"speculative_ngram_external_corpus_max_tokens": 0},
    )
    solutions(subject, snippets)

    default = start(subject, NGRAM)["speculative_ngram_external_sam_budget"]
    same(subject, "default-budget-is-zero", default, 0)
    eagle = {"speculative_algorithm": "EAGLE", "speculative_draft_model_path": "DRAFT"}
    came = outcome(partial(start, subject, {"device": "cuda", **eagle} | {
        k: v for k, v in CORPUS.items() if "corpus" in k}))  # fmt: skip
    same(subject, "other-algorithms-ignore-the-corpus", came, "returns")
    most = outcome(partial(start, subject, CORPUS | {"speculative_ngram_external_sam_budget": 4}))
    subject.check("budget-below-draft-tokens", most.startswith("ValueError: "), got=most)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: its change goes into the page's own broken line."""

    def corpus_of(line: str) -> list[Any]:
        settings = resolved(subject, line)
        return [settings[f"speculative_ngram_external_{x}"] for x in ("corpus_path", "sam_budget")]

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": corpus_of,
        "before": "ValueError: --speculative-ngram-external-sam-budget must be positive...",
    }
    for title, after in ((SHARE, ["corpus.jsonl", 2]), (NO_CORPUS, [None, 0])):
        tried_change(subject, snippets, title, **asked, after=after)
