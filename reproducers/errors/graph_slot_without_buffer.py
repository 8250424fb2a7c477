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
from typing import Any

from reproducers.calls.graph_buffers import MAX_TOKENS, names_of, registers, rows_of, slot_maker
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
REGISTER = "Register the slot when the runner is built"
ASK = "Ask whether the slot is there"


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
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own registry."""

    def registered(given: Mapping[str, str]) -> Any:
        return rows_of(carried_out(given, REGISTER, **names_of(subject))["slot"]).tolist()

    refused = "RuntimeError: GraphSlot 'extra': buffer not allocated"
    declared = altered(snippets, REGISTER, "registry.register_slot(", "(")
    tried(subject, REGISTER, "rows", lambda: registered(snippets), [0] * MAX_TOKENS)
    tried(subject, REGISTER, "declared only", lambda: registered(declared), refused)

    def view_of(given: Mapping[str, str], *, enabled: bool) -> Any:
        names = names_of(subject)
        names["registry"].register_slot(
            names["GraphSlot"]("extra", names["shape"], subject.torch.int64, enabled=enabled)
        )
        view = carried_out(given, ASK, padded_bs=1, padded_num_tokens=3, **names)["view"]
        return None if view is None else view.tolist()

    unasked = altered(snippets, ASK, 'registry.has_slot("extra")', "True")
    tried(subject, ASK, "switched on, 3 tokens", lambda: view_of(snippets, enabled=True), [0] * 3)
    tried(subject, ASK, "switched off", lambda: view_of(snippets, enabled=False), None)
    tried(subject, ASK, "switched off, not asked", lambda: view_of(unasked, enabled=False), refused)
