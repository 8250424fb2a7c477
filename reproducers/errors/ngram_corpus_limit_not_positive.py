"""An external corpus for n-gram speculation is limited to no tokens at all.

Symptom
-------
The server refuses to start: `ValueError: --speculative-ngram-external-corpus-max-tokens must be
positive when --speculative-ngram-external-corpus-path is set.`

Mechanism
---------
The limit bounds how much of the corpus goes into the suffix automaton, and with it the memory that
the automaton takes. Its default is 10 000 000 tokens. Zero or less would load nothing, so it is
refused as soon as a corpus path is given, after the budget was found positive. Here a launch line
goes through the release's own parser and resolution, which does not open the corpus.
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
NO_LIMIT = "Leave the flag out"
POSITIVE = "Give a positive limit"
NO_CORPUS = "Leave the corpus out"
NGRAM = {"device": "cuda", "speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 4}
CORPUS = NGRAM | {
    "speculative_ngram_external_corpus_path": "corpus.jsonl",
    "speculative_ngram_external_sam_budget": 2,
}
NOTHING = CORPUS | {"speculative_ngram_external_corpus_max_tokens": 0}
LIMITED = CORPUS | {"speculative_ngram_external_corpus_max_tokens": 100_000}


def start(subject: Subject, options: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a launch line of these options; the settings the server would run with."""
    return resolved(subject, line_of(options))


def trigger(subject: Subject) -> None:
    """A corpus of which nothing may be loaded."""
    subject.value("speculative_ngram_external_corpus_max_tokens", 0)
    start(subject, NOTHING)


def fix(subject: Subject) -> None:
    """The same line with a limit of 100 000 tokens."""
    limit = start(subject, LIMITED)["speculative_ngram_external_corpus_max_tokens"]
    subject.value("speculative_ngram_external_corpus_max_tokens", limit)
    same(subject, "resolved-limit", limit, 100_000)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the limit."""
    without = NGRAM | {"speculative_ngram_external_corpus_max_tokens": 0}
    hold_launch_page(
        subject,
        snippets,
        partial(start, subject),
        partial(resolved, subject),
        text="--speculative-ngram-external-corpus-max-tokens must be positive",
        cases={
            "limit 0": NOTHING,
            "limit -1": CORPUS | {"speculative_ngram_external_corpus_max_tokens": -1},
            "limit 100000": LIMITED,
            "no limit given": CORPUS,
            "limit 0 without a corpus": without,
        },
        refused=NOTHING,
        rescued={"speculative_ngram_external_corpus_max_tokens": 10_000_000},
        other=LIMITED | {"speculative_ngram_external_sam_budget": 4},
    )
    solutions(subject, snippets)

    default = start(subject, CORPUS)["speculative_ngram_external_corpus_max_tokens"]
    same(subject, "default-is-ten-million", default, 10_000_000)
    same(
        subject, "checked-with-a-corpus-only", outcome(partial(start, subject, without)), "returns"
    )
    both = outcome(partial(start, subject, NOTHING | {"speculative_ngram_external_sam_budget": 0}))
    subject.check("budget-is-checked-first", "sam-budget must be positive" in both, got=both)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: its change goes into the page's own broken line."""

    def loaded(line: str) -> list[Any]:
        """The corpus, and how many of its tokens may be loaded."""
        settings = resolved(subject, line)
        names = ("path", "max_tokens")
        return [settings[f"speculative_ngram_external_corpus_{name}"] for name in names]

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": loaded,
        "before": "ValueError: --speculative-ngram-external-corpus-max-tokens must be positive...",
    }
    for title, after in (
        (NO_LIMIT, ["corpus.jsonl", 10_000_000]),
        (POSITIVE, ["corpus.jsonl", 100_000]),
        (NO_CORPUS, [None, 0]),
    ):
        tried_change(subject, snippets, title, **asked, after=after)
