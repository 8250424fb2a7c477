"""One attention layer of a verify on the AMX backend, with the CPU kernel in plain torch."""

from collections.abc import Callable
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


def verify_layer(subject: Subject) -> Callable[[int], tuple[list[int], float]]:
    """`run(added)`: verify a chain of four with `added` tokens added to the batch's `seq_lens`.

    Gives the prefix lengths that the kernel worked with, and how far its outputs are from those
    of the whole prefix, relative.
    """
    torch, backend = subject.torch, amx_backend(subject)
    generator = torch.Generator().manual_seed(subject.seed)
    cache = backend.token_to_kv_pool.get_key_buffer(0)
    cache.copy_(torch.randn(cache.shape, generator=generator))
    table = backend.req_to_token_pool.req_to_token
    table.copy_(torch.randperm(table.numel(), generator=generator).view_as(table) % len(cache))
    q, k, v = (torch.randn(2 * DRAFT, HEADS, DIM, generator=generator) for _ in range(3))
    seen: list[Any] = []

    def kernel(*arguments: Any) -> None:
        """Note the lengths, then attend."""
        seen[:] = (arguments[8] - arguments[9]).tolist()
        extend_attention(*arguments)

    subject.substitute(vars(backend), "extend_attention_fwd", kernel, why="needs an Intel AMX CPU")
    layer = attention_layer(subject, heads=HEADS, dim=DIM, scaling=DIM**-0.5)

    def run(added: int) -> tuple[list[int], float]:
        batch = forward_batch(subject, verify_input(subject, topk=1))
        backend.init_forward_metadata(batch)
        batch.seq_lens = batch.seq_lens + added
        flat = q.reshape(2 * DRAFT, HEADS * DIM)
        got = backend.forward_extend(flat, k, v, layer, batch, save_kv_cache=False)
        lengths = torch.full((2,), DRAFT, dtype=torch.int32)
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
            torch.tensor(COMMITTED) + DRAFT,
            lengths,
            torch.arange(2, dtype=torch.int32) * DRAFT,
            DRAFT,
            layer.scaling,
            0.0,
        )
        error = float((got.view_as(right) - right).norm() / right.norm())
        return list(seen), error

    return run
