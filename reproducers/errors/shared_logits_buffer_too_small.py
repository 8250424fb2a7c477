"""A graph writes more logits rows than the buffer that all graphs share holds.

Symptom
-------
`AssertionError: shared logits buffer holds 32 rows but caller needs 64 (vocab_size=...)` while
graphs of adaptive speculation are captured.

Mechanism
---------
All graphs of a process write their logits into one buffer, sized once: requests times tokens per
request. Adaptive speculation captures graphs for every candidate, and a verify of 7 steps has 8
tokens a request where one of 3 steps has 4. A buffer sized from the start step alone is too small
for a wider candidate. Releases up to 0.5.18 size it that way.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.adaptive import logits_buffer
from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.15,<=0.5.23"
REFERENCE = True
SIZE = "Size by the widest candidate"
START_WIDE = "Start with the widest candidate"
NO_WIDER = "List no wider candidates than the start step"
LINE = (
    "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT "
    "--speculative-eagle-topk 1 --speculative-num-steps 3 --speculative-num-draft-tokens 4"
)
REQUESTS = 8
START, WIDEST = 3, 7  # draft steps


def trigger(subject: Subject) -> None:
    """A buffer for eight requests of three steps, asked for eight requests of seven."""
    subject.value("max_rows", REQUESTS * (START + 1))
    subject.value("rows", REQUESTS * (WIDEST + 1))
    logits_buffer(subject)(REQUESTS * (START + 1), REQUESTS * (WIDEST + 1))


def fix(subject: Subject) -> None:
    """The same rows from a buffer sized for the widest candidate."""
    rows = REQUESTS * (WIDEST + 1)
    buffer = logits_buffer(subject)(rows, rows)
    same(subject, "shape", list(buffer.shape), [rows, 11])
    same(subject, "dtype", str(buffer.dtype), "torch.float32")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the buffer."""
    rows_of = logits_buffer(subject)
    hold_page(
        subject,
        snippets,
        rows_of,
        cases={
            "64 of 32": (32, 64),
            "32 of 32": (32, 32),
            "1 of 32": (32, 1),
            "33 of 32": (32, 33),
        },
        error=AssertionError,
        text="shared logits buffer holds 32 rows but caller needs 64",
        rescued=((32, 64), [64, 11]),
        passed_on=("32", 64),
        names={"rows_of": rows_of, "max_bs": REQUESTS, "steps": [START, WIDEST]},
        seen=lambda buffer: list(buffer.shape),
    )
    solutions(subject, snippets)

    same(subject, "rows-are-tokens", list(rows_of(32, 32).shape), [32, 11])


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the buffer and with the release's own parser."""
    rows_of = logits_buffer(subject)
    refused = "AssertionError: shared logits buffer holds 32 rows but caller needs 64..."

    def shape(title: str | None) -> list[int]:
        """Of the buffer from which the widest candidate takes its rows."""
        names: dict[str, Any] = {
            "candidate_steps": [1, START, WIDEST],
            "speculative_num_steps": START,
        }
        names |= {"max_bs": REQUESTS, "max_rows": REQUESTS * (START + 1)}
        left = carried_out(snippets, title, **names) if title else names
        rows = REQUESTS * (max(left["candidate_steps"]) + 1)
        return list(rows_of(left["max_rows"], rows).shape)

    for title, rows in ((SIZE, 64), (NO_WIDER, 32)):
        tried(subject, title, "candidates 1, 3, 7 as they are", partial(shape, None), refused)
        tried(subject, title, "candidates 1, 3, 7", partial(shape, title), [rows, 11])
    if subject.version is None:
        return  # the reference has no launch line

    def started(line: str) -> list[int]:
        """Shape of the buffer that is sized from the line's start step."""
        width = resolved(subject, line)["speculative_num_draft_tokens"]
        return list(rows_of(REQUESTS * width, REQUESTS * (WIDEST + 1)).shape)

    asked: dict[str, Any] = {"line": LINE, "seen": started, "before": refused, "after": [64, 11]}
    tried_change(subject, snippets, START_WIDE, **asked)
