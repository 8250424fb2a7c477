"""A graph input buffer is to adopt a tensor of another dtype.

Symptom
-------
`ValueError: bind tensor for slot 'extra' has dtype torch.int32, expected torch.int64.` while a
graph runner is built.

Mechanism
---------
A slot can adopt memory that exists. The captured kernels read it by the dtype they were captured
with, so a tensor of another dtype would be read as other numbers: two int32 as one int64. Shapes
are compared first, then dtypes.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.graph_buffers import MAX_TOKENS, names_of, registers, rows_of, slot_maker
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
SLOTS_DTYPE = "Allocate with the slot's dtype"
COPY = "Leave `bind` out and copy"


def trigger(subject: Subject) -> None:
    """An int32 tensor for a slot of int64."""
    subject.value("dtype", "torch.int32")
    bind = subject.torch.zeros(MAX_TOKENS, dtype=subject.torch.int32)
    registers(subject)(slot_maker(subject)("extra"), bind)


def fix(subject: Subject) -> None:
    """The same slot with an int64 tensor."""
    bind = subject.torch.zeros(MAX_TOKENS, dtype=subject.torch.int64)
    slot = registers(subject)(slot_maker(subject)("extra"), bind)
    same(subject, "dtype", str(rows_of(slot).dtype), "torch.int64")
    same(subject, "same-memory", rows_of(slot).data_ptr() == bind.data_ptr(), True)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the registry."""
    torch, make, register = subject.torch, slot_maker(subject), registers(subject)

    def adopt(bind: Any) -> str:
        return str(rows_of(register(make("extra"), bind)).dtype)

    rows = {d: torch.zeros(MAX_TOKENS, dtype=d) for d in (torch.int32, torch.int64, torch.float32)}
    hold_page(
        subject,
        snippets,
        adopt,
        cases={str(dtype): (bind,) for dtype, bind in rows.items()},
        error=ValueError,
        text="bind tensor for slot 'extra' has dtype torch.int32, expected torch.int64.",
        rescued=((rows[torch.int32],), "torch.int64"),
        passed_on=(torch.zeros(5, dtype=torch.int64),),
        names={"adopt": adopt, "torch": torch, "tokens": MAX_TOKENS},
    )
    both = outcome(lambda: adopt(torch.zeros(5, dtype=torch.int32)))
    subject.check("shape-is-compared-first", "has shape (5,)" in both, got=both)
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own registry."""
    torch = subject.torch

    def left(given: Mapping[str, str], title: str) -> Any:
        names = names_of(subject) | {"own": torch.arange(MAX_TOKENS, dtype=torch.int32)}
        return carried_out(given, title, slot=slot_maker(subject)("extra"), **names)

    def shared(given: Mapping[str, str]) -> bool:
        names = left(given, SLOTS_DTYPE)
        return bool(names["bind"].data_ptr() == rows_of(names["slot"]).data_ptr())

    def copied(given: Mapping[str, str]) -> list[Any]:
        rows = rows_of(left(given, COPY)["slot"])
        return [str(rows.dtype), rows.tolist()]

    refused = (
        "ValueError: bind tensor for slot 'extra' has dtype torch.int32, expected torch.int64."
    )
    other = altered(snippets, SLOTS_DTYPE, "slot.dtype", "torch.int32")
    tried(
        subject, SLOTS_DTYPE, "the slot reads the tensor", lambda: shared(snippets), expected=True
    )
    tried(subject, SLOTS_DTYPE, "int32 in its place", lambda: shared(other), refused)
    bound = altered(snippets, COPY, "register_slot(slot)", "register_slot(slot, bind=own)")
    rows = ["torch.int64", list(range(MAX_TOKENS))]
    tried(subject, COPY, "six int32", lambda: copied(snippets), rows)
    tried(subject, COPY, "the same bound", lambda: copied(bound), refused)
