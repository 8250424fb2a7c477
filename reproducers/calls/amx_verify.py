"""One attention layer of a verify on the AMX backend, with the CPU kernel in plain torch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from reproducers.calls.amx import (
    COMMITTED,
    DRAFT,
    amx_backend,
    attention_layer,
    forward_batch,
    verify_input,
)
from reproducers.upstream.subject import Subject

HEADS, DIM = 2, 4
LENGTHS = (8, 32, 128, 512)
"""Committed tokens, powers of two."""


def extend_attention(  # noqa: PLR0917  # the kernel's own signature
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    k_buffer: Any,
    v_buffer: Any,
    req_to_token: Any,
    req_pool_indices: Any,
    seq_lens: Any,
    extend_seq_lens: Any,
    extend_start_loc: Any,
    max_len_extend: int,
    sm_scale: float,
    logit_cap: float,
    *_options: Any,
) -> None:
    """The CPU kernel in plain torch for a chain: attention into `o` [tokens, heads, dim]."""
    from reproducers.reference.attention import naive_extend_attention

    o.copy_(
        naive_extend_attention(
            q,
            k,
            v,
            k_buffer=k_buffer,
            v_buffer=v_buffer,
            req_to_token=req_to_token,
            req_pool_indices=req_pool_indices,
            seq_lens=seq_lens,
            extend_seq_lens=extend_seq_lens,
            extend_start_loc=extend_start_loc,
            max_len_extend=max_len_extend,
            sm_scale=sm_scale,
            logit_cap=logit_cap,
        )
    )


def verify_layer(
    subject: Subject,
    committed: Sequence[int] = COMMITTED,
    draft: int = DRAFT,
    forward_extend: Callable[..., Any] | None = None,
) -> Callable[[int], tuple[list[int], float]]:
    """`run(added)`: verify a chain of `draft` with `added` tokens added to the batch's `seq_lens`.

    Gives the prefix lengths that the kernel worked with, and how far its outputs are from those
    of the whole prefix, relative. forward_extend: the backend's method, if it is changed.
    """
    torch = subject.torch
    backend = amx_backend(subject, context_len=max(16, max(committed) + draft))
    generator = torch.Generator().manual_seed(subject.seed)
    cache = backend.token_to_kv_pool.get_key_buffer(0)
    cache.copy_(torch.randn(cache.shape, generator=generator))
    table = backend.req_to_token_pool.req_to_token
    table.copy_(torch.randperm(table.numel(), generator=generator).view_as(table) % len(cache))
    q, k, v = (torch.randn(2 * draft, HEADS, DIM, generator=generator) for _ in range(3))
    seen: list[Any] = []

    def kernel(*arguments: Any) -> None:
        """Note the lengths, then attend."""
        seen[:] = (arguments[8] - arguments[9]).tolist()
        extend_attention(*arguments)

    subject.substitute(vars(backend), "extend_attention_fwd", kernel, why="needs an Intel AMX CPU")
    layer = attention_layer(subject, heads=HEADS, dim=DIM, scaling=DIM**-0.5)

    def run(added: int) -> tuple[list[int], float]:
        spec_info = verify_input(subject, topk=1, draft_token_num=draft)
        batch = forward_batch(subject, spec_info, committed=committed, draft=draft)
        backend.init_forward_metadata(batch)
        batch.seq_lens = batch.seq_lens + added
        flat = q.reshape(2 * draft, HEADS * DIM)
        extend = (
            backend.forward_extend if forward_extend is None else partial(forward_extend, backend)
        )
        got = extend(flat, k, v, layer, batch, save_kv_cache=False)
        right = torch.empty_like(q)
        extend_attention(
            q,
            k,
            v,
            right,
            cache,
            cache,
            table,
            torch.arange(2),
            torch.tensor(committed) + draft,
            torch.full((2,), draft, dtype=torch.int32),
            torch.arange(2, dtype=torch.int32) * draft,
            draft,
            layer.scaling,
            0.0,
        )
        error = float((got.view_as(right) - right).norm() / right.norm())
        return list(seen), error

    return run


def record_errors(subject: Subject) -> None:
    """Record the error of the outputs against the committed length, a line a number of drafts."""
    lines = {
        f"{draft} drafts": [
            round(verify_layer(subject, [length, length], draft)(0)[1], 4) for length in LENGTHS
        ]
        for draft in (4, 8)
    }
    exponents = [length.bit_length() - 1 for length in LENGTHS]
    axis = {"xLabel": "committed tokens, as a power of two", "yLabel": "relative"}
    subject.value("Error of the outputs by committed length", {"x": exponents, **lines, **axis})
