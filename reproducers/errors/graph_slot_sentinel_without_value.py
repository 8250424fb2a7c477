"""A graph input buffer is to be padded with a sentinel that it does not have.

Symptom
-------
`RuntimeError: GraphSlot 'extra': FILL_SENTINEL requires pad_value` at the first batch that is
smaller than its graph.

Mechanism
---------
A batch that does not fill its graph leaves rows over. What they hold is decided by the slot's
padding policy; `FILL_SENTINEL` writes the slot's `pad_value`, such as a sequence length that makes
attention read one token. Without a value there is nothing to write. The combination is accepted
when the slot is declared and fails when padding is first needed.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.graph_buffers import MAX_TOKENS, names_of, registers, rows_of, slot_maker
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
WAYS = {
    "Give the value": ("pad_value=1", "pad_value=None", [7, 7, 7, 7, 1, 1]),
    "Use `ZERO`": ("ZERO", "FILL_SENTINEL", [7, 7, 7, 7, 0, 0]),
    "Use `FOREACH_COPY`": ("FOREACH_COPY", "FILL_SENTINEL", [7] * MAX_TOKENS),
}
"""What is done by each solution, the same without it, and the rows after a batch of four."""


def padded(subject: Subject, pad_value: int | None, policy: str = "FILL_SENTINEL") -> Any:
    """Rows of a slot after the tail behind four rows was reset."""
    slot = registers(subject)(slot_maker(subject)("extra", "tokens", policy, pad_value))
    rows_of(slot).fill_(1)
    slot.reset_padding(4, MAX_TOKENS)
    return rows_of(slot).tolist()


def trigger(subject: Subject) -> None:
    """A sentinel policy without a sentinel, and a batch of four rows in six."""
    subject.value("pad_value", None)
    padded(subject, None)


def fix(subject: Subject) -> None:
    """The same slot with a sentinel of 7."""
    same(subject, "tail-is-reset", padded(subject, 7), [1, 1, 1, 1, 7, 7])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the slot."""

    def pad(policy: str, pad_value: int | None) -> Any:
        return padded(subject, pad_value, policy)

    hold_page(
        subject,
        snippets,
        pad,
        cases={
            "sentinel without value": ("FILL_SENTINEL", None),
            "sentinel 7": ("FILL_SENTINEL", 7),
            "sentinel 0": ("FILL_SENTINEL", 0),
            "zero": ("ZERO", None),
        },
        error=RuntimeError,
        text="GraphSlot 'extra': FILL_SENTINEL requires pad_value",
        rescued=(("FILL_SENTINEL", None), [1, 1, 1, 1, 0, 0]),
        passed_on=("NO_SUCH_POLICY", None),
        names={"pad": pad},
    )
    make, register = slot_maker(subject), registers(subject)
    declared = outcome(lambda: register(make("extra", "tokens", "FILL_SENTINEL", None)))
    same(subject, "declared-without-complaint", declared, "returns")
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own slots."""

    def rows_after(given: Mapping[str, str], title: str) -> Any:
        slot = carried_out(given, title, **names_of(subject))["slot"]
        rows_of(slot).fill_(7)
        slot.reset_padding(4, MAX_TOKENS)
        return rows_of(slot).tolist()

    refused = "RuntimeError: GraphSlot 'extra': FILL_SENTINEL requires pad_value"
    for title, (there, instead, rows) in WAYS.items():
        without = altered(snippets, title, there, instead)
        tried(subject, title, "4 rows of 7 in 6", partial(rows_after, snippets, title), rows)
        tried(subject, title, f"{instead} instead", partial(rows_after, without, title), refused)
