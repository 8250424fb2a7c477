"""A graph input buffer is read before it was registered.

Symptom
-------
`RuntimeError: GraphSlot 'extra': buffer not allocated` when a view for replay is made.

Mechanism
---------
Declaring a slot only describes it: name, axis, dtype, padding. Its memory comes with
`register_slot`, from the registry's sizes. A slot that was never registered, or that was registered
switched off, has none, and there is nothing that a graph could read.
"""

from collections.abc import Mapping

from reproducers.calls.graph_buffers import MAX_TOKENS, registers, rows_of, slot_maker
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """A slot that was declared and not registered."""
    subject.value("name", "extra")
    rows_of(slot_maker(subject)("extra"))


def fix(subject: Subject) -> None:
    """The same slot after it was registered."""
    slot = registers(subject)(slot_maker(subject)("extra"))
    same(subject, "rows", rows_of(slot).tolist(), [0] * MAX_TOKENS)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the slot."""
    make, register = slot_maker(subject), registers(subject)
    hold_page(
        subject,
        snippets,
        rows_of,
        cases={
            "declared": (make("extra"),),
            "registered": (register(make("extra")),),
            "registered along requests": (register(make("extra", "bs")),),
        },
        error=RuntimeError,
        text="GraphSlot 'extra': buffer not allocated",
        rescued=((make("extra"),), None),
        passed_on=lambda: int("no number"),
        names={"rows_of": rows_of, "slot": make("extra"), "register": register},
    )
    sentinel = register(make("extra", "tokens", "FILL_SENTINEL", 9))
    same(subject, "starts-with-its-padding", rows_of(sentinel).tolist(), [9] * MAX_TOKENS)
