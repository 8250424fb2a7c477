"""Two graph input buffers are registered under one name.

Symptom
-------
`ValueError: GraphSlot 'positions' already registered; use enable()/disable() to gate per-iter.`
while a graph runner is built.

Mechanism
---------
The registry holds one buffer for each field of the batch, by the field's name. A captured graph has
read the first buffer's address; a second one under the same name would be filled, and the graph
would go on reading the first. So a name can be registered once.
"""

from collections.abc import Mapping
from functools import partial

from reproducers.calls.graph_buffers import MAX_TOKENS, names_of, registers, rows_of, slot_maker
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
THERE = "Use the slot that is there"
OTHER_NAME = "Choose another name"
NEW_REGISTRY = "Make a new registry"


def trigger(subject: Subject) -> None:
    """A second slot `positions` in a decode registry, which has one."""
    subject.value("name", "positions")
    registers(subject)(slot_maker(subject)("positions"))


def fix(subject: Subject) -> None:
    """The same slot under a name of its own."""
    slot = registers(subject)(slot_maker(subject)("my_positions"))
    same(subject, "name", slot.name, "my_positions")
    same(subject, "rows", len(rows_of(slot)), MAX_TOKENS)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the registry."""
    make, register = slot_maker(subject), registers(subject)

    def add(name: str, axis: str = "tokens") -> str:
        return str(register(make(name, axis)).name)

    hold_page(
        subject,
        snippets,
        add,
        cases={
            "positions": ("positions",),
            "my_positions": ("my_positions",),
            "seq_lens": ("seq_lens", "bs"),
            "input_ids_2": ("input_ids_2",),
        },
        error=ValueError,
        text="GraphSlot 'positions' already registered",
        rescued=(("positions",), "positions"),
        passed_on=("new", "rows"),
        names={"add": add},
    )
    message = outcome(lambda: add("positions"))
    holder = type(slot_maker(subject)("x"))
    gates = [n for n in ("enable", "disable") if hasattr(holder, n)]
    same(
        subject, "named-methods-are-not-there", ["enable()/disable()" in message, gates], [True, []]
    )
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own registry."""

    def slot_of(given: Mapping[str, str], title: str) -> list[object]:
        slot = carried_out(given, title, **names_of(subject))["slot"]
        return [slot.name, len(rows_of(slot))]

    register = 'register_slot(GraphSlot("positions", shape, torch.int64))'
    again = {
        THERE: altered(snippets, THERE, 'get_slot("positions")', register),
        OTHER_NAME: altered(snippets, OTHER_NAME, "my_positions", "positions"),
        NEW_REGISTRY: altered(snippets, NEW_REGISTRY, "registry = Cuda", "unused = Cuda"),
    }
    for title, name in (
        (THERE, "positions"),
        (OTHER_NAME, "my_positions"),
        (NEW_REGISTRY, "positions"),
    ):
        tried(
            subject, title, "name and rows", partial(slot_of, snippets, title), [name, MAX_TOKENS]
        )
        refused = "ValueError: GraphSlot 'positions' already registered..."
        tried(
            subject,
            title,
            "`positions` registered again",
            partial(slot_of, again[title], title),
            refused,
        )
