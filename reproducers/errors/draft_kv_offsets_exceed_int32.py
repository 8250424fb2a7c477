"""A draft batch needs KV index offsets that 32 bits cannot hold.

Symptom
-------
`AssertionError: kv_indices flat offset would overflow int32; reduce batch/topk/context` at startup
or at the first large draft.

Mechanism
---------
For a draft every branch, one a beam of a request, lists the cache entries that it sees, up to the
whole context. The lists stand in one flat buffer, row behind row, and kernels address it with
32-bit offsets. Requests times beams times context must therefore stay below 2^31; beyond it offsets
would wrap around to negative numbers.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.calls.launch import LLAMA, line_of, once_each, resolved
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
FEWER = "Admit fewer requests"
BEAMS = "Draft with fewer beams"
SHORTER = "Shorten the context"
LONG = LLAMA | {"max_position_embeddings": 131072}
TOO_MANY = {
    "device": "cuda",
    "max_running_requests": 4096,
    "context_length": 131072,
    "speculative_algorithm": "EAGLE",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 8,
    "speculative_num_draft_tokens": 16,
}


def buffer_width(subject: Subject) -> Callable[[int, int, int], int]:
    """`width(num_seqs, topk, max_context_len)`: entries of the buffer for one step."""
    if subject.version is None:
        from reproducers.reference.widths import draft_kv_indices_buffer_width

        return draft_kv_indices_buffer_width
    utils = subject.load("sglang.srt.speculative.spec_utils")
    width: Callable[[int, int, int], int] = utils.draft_kv_indices_buffer_width
    return width


def buffer_of(subject: Subject) -> Callable[[int, int, int], Any]:
    """`allocate(num_seqs, topk, max_context_len)`: the Triton backend's buffer for three steps.

    [steps, entries]; it is on torch's device without memory.
    """
    module = subject.load("sglang.srt.layers.attention.triton_backend")
    prepare = module.TritonMultiStepDraftBackend.init_forward_metadata

    def allocate(num_seqs: int, topk: int, max_context_len: int) -> Any:
        made: list[Any] = []
        backend = SimpleNamespace(
            topk=topk,
            max_context_len=max_context_len,
            speculative_num_steps=3,
            device="meta",
            window_rail=False,
            common_template=lambda _batch, buffer, *_rest, **_options: made.append(buffer),
        )
        why = "no model is loaded: the sizes that the buffer is made from"
        subject.in_place_of("TritonMultiStepDraftBackend", backend, why=why)
        prepare(backend, SimpleNamespace(batch_size=num_seqs))
        return made[0]

    return allocate


def trigger(subject: Subject) -> None:
    """4096 requests, eight beams, a context of 131072."""
    subject.value("entries", 4096 * 8 * 131072)
    buffer_width(subject)(4096, 8, 131072)


def fix(subject: Subject) -> None:
    """The same requests and context with one beam and a batch of 2048."""
    same(subject, "entries", buffer_width(subject)(2048, 1, 131072), 2048 * 131072)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the width."""
    width = buffer_width(subject)
    hold_page(
        subject,
        snippets,
        width,
        cases={
            "4096 x 8 x 131072": (4096, 8, 131072),
            "2048 x 1 x 131072": (2048, 1, 131072),
            "2^31": (2**14, 1, 2**17),
            "2^31 less one row": (2**14 - 1, 1, 2**17),
        },
        error=AssertionError,
        text="kv_indices flat offset would overflow int32",
        rescued=((4096, 8, 131072), 2047),
        passed_on=("4096", 8, 131072),
        names={"width": width, "context": 131072, "topk": 8},
        seen=lambda entries: entries // (8 * 131072),
    )
    if subject.version is not None:
        solutions(subject, snippets)

    same(subject, "beams-count", width(2, 3, 5), 30)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: a launch line before and after, and the buffer for its batch."""
    allocate = buffer_of(subject)

    launch = once_each(partial(resolved, subject, model=LONG, draft=LONG))

    def buffer(line: str) -> dict[str, Any]:
        settings = launch(line)
        names = ("max_running_requests", "speculative_eagle_topk", "context_length")
        made = allocate(*(settings[name] for name in names))
        return {"entries": made.shape[1], "GiB": round(made.nbytes / 2**30)}

    refused = "AssertionError: kv_indices flat offset would overflow int32..."
    for title, entries, size in (
        (FEWER, 2047 * 8 * 131072, 48),
        (BEAMS, 4096 * 1 * 131072, 12),
        (SHORTER, 4096 * 8 * 32768, 24),
    ):
        asked: dict[str, Any] = {"line": line_of(TOO_MANY), "seen": buffer, "before": refused}
        tried_change(subject, snippets, title, **asked, after={"entries": entries, "GiB": size})
    one_more = line_of(TOO_MANY | {"max_running_requests": 2048})
    tried(subject, FEWER, "2048 requests", partial(buffer, one_more), refused)
