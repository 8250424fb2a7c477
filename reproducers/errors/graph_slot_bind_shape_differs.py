"""A graph input buffer is to adopt a tensor of another shape.

Symptom
-------
`ValueError: bind tensor for slot 'extra' has shape (5,), expected (6,).` while a graph runner is
built.

Mechanism
---------
A slot can adopt memory that exists instead of allocating its own, so that two runners share it. The
tensor must be exactly as large as the slot's own buffer would be: requests of the largest graph, or
those times the tokens a request. A smaller one would be written beyond, a larger one would be
padded wrongly.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.graph_buffers import (
    MAX_BS,
    MAX_TOKENS,
    names_of,
    registers,
    rows_of,
    slot_maker,
)
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
BY_SIZES = "Allocate by the registry's sizes"
ONE_SIZE = "Build both runners for one size"
NO_BIND = "Leave `bind` out"


def trigger(subject: Subject) -> None:
    """A tensor of five rows for a slot of six tokens."""
    subject.value("shape", [5])
    bind = subject.torch.zeros(5, dtype=subject.torch.int64)
    registers(subject)(slot_maker(subject)("extra"), bind)


def fix(subject: Subject) -> None:
    """The same slot with a tensor of its size; the slot reads that very memory."""
    bind = subject.torch.zeros(MAX_TOKENS, dtype=subject.torch.int64)
    slot = registers(subject)(slot_maker(subject)("extra"), bind)
    bind += 7
    same(subject, "shared-memory", rows_of(slot).tolist(), [7] * MAX_TOKENS)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the registry."""
    torch, make, register = subject.torch, slot_maker(subject), registers(subject)

    def adopt(bind: Any, axis: str = "tokens") -> list[int]:
        return list(rows_of(register(make("extra", axis), bind)).shape)

    def zeros(*shape: int) -> Any:
        return torch.zeros(*shape, dtype=torch.int64)

    hold_page(
        subject,
        snippets,
        adopt,
        cases={
            "5 for 6 tokens": (zeros(5),),
            "6 for 6 tokens": (zeros(MAX_TOKENS),),
            "7 for 6 tokens": (zeros(7),),
            "2 for 2 requests": (zeros(MAX_BS), "bs"),
            "6 for 2 requests": (zeros(MAX_TOKENS), "bs"),
        },
        error=ValueError,
        text="bind tensor for slot 'extra' has shape (5,), expected (6,).",
        rescued=((zeros(5),), [MAX_TOKENS]),
        passed_on=(torch.zeros(MAX_TOKENS),),
        names={"adopt": adopt, "torch": torch, "max_bs": MAX_BS, "width": 3},
    )
    larger = outcome(lambda: adopt(zeros(MAX_TOKENS + 1)))
    subject.check("larger-is-refused-too", "has shape (7,), expected (6,)" in larger, got=larger)
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own registry."""

    def left(given: Mapping[str, str], title: str, **more: Any) -> dict[str, Any]:
        return carried_out(given, title, **(names_of(subject) | more))

    def refused(rows: int, expected: int) -> str:
        return (
            f"ValueError: bind tensor for slot 'extra' has shape ({rows},), expected ({expected},)."
        )

    def bound(**more: Any) -> list[int]:
        return list(left(snippets, BY_SIZES, **more)["bind"].shape)

    tried(subject, BY_SIZES, "2 requests of 3 tokens", bound, [MAX_TOKENS])
    tried(subject, BY_SIZES, "1 request instead", lambda: bound(max_bs=1), refused(3, MAX_TOKENS))

    def both(given: Mapping[str, str]) -> bool:
        names = left(given, ONE_SIZE)
        return bool(names["slot"].buffer.data_ptr() == names["shared"].buffer.data_ptr())

    wider = "second = CudaGraphBufferRegistry(device=device, max_bs=2, max_num_tokens=8)"
    line = "second = CudaGraphBufferRegistry(device=device, **sizes)"
    apart = altered(snippets, ONE_SIZE, line, wider)
    tried(subject, ONE_SIZE, "one memory", lambda: both(snippets), expected=True)
    tried(subject, ONE_SIZE, "another size", lambda: both(apart), refused(MAX_TOKENS, 8))

    def own(given: Mapping[str, str]) -> list[int]:
        five = subject.torch.zeros(5, dtype=subject.torch.int64)
        return list(left(given, NO_BIND, five=five)["slot"].buffer.shape)

    five = altered(snippets, NO_BIND, "int64)", "int64), bind=five")
    tried(subject, NO_BIND, "rows of its own", lambda: own(snippets), [MAX_TOKENS])
    tried(subject, NO_BIND, "five rows bound", lambda: own(five), refused(5, MAX_TOKENS))
