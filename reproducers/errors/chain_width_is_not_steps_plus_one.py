"""A chain of drafts has another number of verify tokens than its steps and the root.

Symptom
-------
`AssertionError: topk=1 requires speculative_num_draft_tokens == speculative_num_steps + 1, got 8
and 3` while a draft worker is built or its steps are changed.

Mechanism
---------
With one beam the draft is a chain: its tables are known without scores and are made once. A verify
of it has one token a step and one for the root. Argument resolution sets the number so; code that
changes steps or tokens later, as adaptive speculation does, can break it, and then the tables would
not fit the batch.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.eagle import chain_tables, chain_worker
from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
BOTH = "Set both together"
LAUNCH_LINE = "Take the tokens from a launch line"
TREE = "Raise topk"
EAGLE = "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT"


def trigger(subject: Subject) -> None:
    """Three steps and eight tokens."""
    subject.value("speculative_num_steps", 3)
    subject.value("speculative_num_draft_tokens", 8)
    chain_tables(subject)(3, 8)


def fix(subject: Subject) -> None:
    """The same steps with four tokens: each node hangs under the one before."""
    parents, selected = chain_tables(subject)(3, 4)
    same(subject, "parents", parents, [-1, 0, 1])
    same(subject, "selected", selected, [0, 1, 2])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the worker's tables."""
    tables = chain_tables(subject)
    hold_page(
        subject,
        snippets,
        tables,
        cases={
            "3 steps, 8 tokens": (3, 8),
            "3 steps, 4 tokens": (3, 4),
            "3 steps, 3 tokens": (3, 3),
            "1 step, 2 tokens": (1, 2),
        },
        error=AssertionError,
        text="speculative_num_draft_tokens == speculative_num_steps + 1, got 8 and 3",
        rescued=((3, 8), [[-1, 0, 1], [0, 1, 2]]),
        passed_on=("three", 4),
        names={"tables": tables, "steps": 3},
        seen=list,
    )
    same(subject, "one-step-has-no-parents", list(tables(1, 2)), [[], [0]])
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the worker's tables and the release's own parser."""

    def rebuilt(given: Mapping[str, str]) -> list[Any]:
        worker, tables = chain_worker(subject)
        vars(worker).update(speculative_num_steps=2, speculative_num_draft_tokens=3)
        carried_out(given, BOTH, worker=worker, steps=3)
        return list(tables())

    chain = [[-1, 0, 1], [0, 1, 2]]
    refused = (
        "AssertionError: topk=1 requires speculative_num_draft_tokens == speculative_num_steps + 1,"
        " got {} and 3"
    )
    alone = altered(snippets, BOTH, "worker.speculative_num_draft_tokens = steps + 1", "")
    tried(subject, BOTH, "from 2 steps to 3", lambda: rebuilt(snippets), chain)
    tried(subject, BOTH, "the steps alone", lambda: rebuilt(alone), refused.format(3))

    def tables_of(line: str) -> list[Any]:
        sizes = resolved(subject, f"{EAGLE} {line}")
        steps, tokens = sizes["speculative_num_steps"], sizes["speculative_num_draft_tokens"]
        return list(chain_tables(subject)(steps, tokens))

    eight, left_out = lines_of(code_of(snippets, LAUNCH_LINE))
    tried(subject, LAUNCH_LINE, "the line before", lambda: tables_of(eight), chain)
    tried(subject, LAUNCH_LINE, "the line after", lambda: tables_of(left_out), chain)
    tried(
        subject,
        LAUNCH_LINE,
        "3 steps, 8 tokens",
        lambda: list(chain_tables(subject)(3, 8)),
        refused.format(8),
    )

    def rebuilt_with(line: str) -> bool:
        """Whether a worker with the line's sizes has tables afterwards."""
        sizes = resolved(subject, f"{EAGLE} {line}")
        worker, _ = chain_worker(subject)
        names = ("speculative_num_steps", "speculative_num_draft_tokens")
        vars(worker).update({name: sizes[name] for name in names})
        worker.topk = sizes["speculative_eagle_topk"]
        worker._rebuild_topk1_chain_buffers()  # noqa: SLF001  # the place of the error
        return hasattr(worker, "_topk1_parents_prealloc")

    tree = lines_of(code_of(snippets, TREE))[1]
    tried(
        subject, TREE, "topk 4 and 8 tokens have tables", lambda: rebuilt_with(tree), expected=False
    )
    tried(subject, TREE, "topk 1 has tables", lambda: rebuilt_with(eight), expected=True)
