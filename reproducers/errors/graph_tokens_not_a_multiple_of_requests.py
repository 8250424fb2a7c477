"""A hybrid model's graph state is allocated for tokens that do not divide by requests.

Symptom
-------
`AssertionError: max_num_tokens=8 must be divisible by max_bs=3` while graphs are prepared.

Mechanism
---------
For graphs of a hybrid model the backend allocates tables with a row for each request and a column
for each draft token. It gets the largest number of requests and of tokens and derives the columns
by division. In a graph every request has the same number of tokens, so the division must come out
even.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
MULTIPLE = "Give a multiple"
PAD = "Pad before you ask"
ALIGNMENT = 8


def graph_state(subject: Subject) -> Callable[[int, int], int]:
    """`columns(max_bs, max_num_tokens)`: draft tokens a request of the allocated tables."""
    if subject.version is None:
        from reproducers.reference.buffers import draft_tokens_per_request

        return draft_tokens_per_request
    module = subject.load("sglang.srt.layers.attention.hybrid_linear_attn_backend")

    def columns(max_bs: int, max_num_tokens: int) -> int:
        names = ("state_indices", "query_start_loc", "retrieve_next_token", "retrieve_next_sibling",
                 "retrieve_parent_token")  # fmt: skip
        lists: dict[str, Any] = {f"{name}_list": [] for name in names}
        backend = SimpleNamespace(
            **lists, pad_slot_id=-1, device="cpu", _replayssm_enabled=lambda: False
        )
        why = "no model is loaded: the lists that the method fills"
        subject.in_place_of("MambaAttnBackendBase", backend, why=why)
        module.MambaAttnBackendBase.init_cuda_graph_state(backend, max_bs, max_num_tokens)
        return int(backend.retrieve_next_token_list[-1].shape[1])

    return columns


def trigger(subject: Subject) -> None:
    """Eight tokens for three requests."""
    subject.value("max_num_tokens", 8)
    subject.value("max_bs", 3)
    graph_state(subject)(3, 8)


def fix(subject: Subject) -> None:
    """The same requests with four tokens each."""
    same(subject, "tokens-a-request", graph_state(subject)(3, 12), 4)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the backend."""
    columns = graph_state(subject)
    hold_page(
        subject,
        snippets,
        columns,
        cases={
            "8 for 3": (3, 8),
            "12 for 3": (3, 12),
            "3 for 3": (3, 3),
            "2 for 3": (3, 2),
        },
        error=AssertionError,
        text="must be divisible by max_bs=3",
        rescued=((3, 8), 3),
        passed_on=("3", 8),
        names={"columns": columns, "max_bs": 3, "width": 4},
    )
    same(subject, "one-token-a-request", columns(3, 3), 1)
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the backend: requests, tokens and tokens a request."""
    columns = graph_state(subject)

    def allocated(code: Mapping[str, str], title: str, **names: Any) -> list[int]:
        sizes = carried_out(code, title, max_bs=3, num_tokens_per_req=4, **names)
        found = columns(sizes["max_bs"], sizes["max_num_tokens"])
        return [sizes["max_bs"], sizes["max_num_tokens"], found]

    refused = "AssertionError: max_num_tokens={} must be divisible by max_bs=3"
    tried(subject, MULTIPLE, "3 requests of 4", partial(allocated, snippets, MULTIPLE), [3, 12, 4])
    fewer = altered(snippets, MULTIPLE, "num_tokens_per_req", "num_tokens_per_req - 1")
    less_one = partial(allocated, fewer, MULTIPLE)
    tried(subject, MULTIPLE, "one token less", less_one, refused.format(11))

    padded = partial(allocated, snippets, PAD, alignment=ALIGNMENT)
    tried(subject, PAD, "3 requests of 4, aligned to 8", padded, [4, 16, 4])
    alone = partial(columns, 3, 16)
    tried(subject, PAD, "the tokens alone rounded up", alone, refused.format(16))
