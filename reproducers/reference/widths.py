"""Tokens per request of each speculative phase, and what follows from them.

A width sizes captured graphs and buffers, and turns a token count back into requests. Unset (-1)
is not a width: dividing by it gives a negative batch.
"""

from dataclasses import dataclass
from typing import Protocol

INT32_LIMIT = 2**31


class SpecAlgorithm(Protocol):
    """The hook of a speculative algorithm that `target_verify` asks."""

    def get_num_tokens_per_req_for_target_verify(
        self,
        num_draft_tokens: int,
        is_draft_worker: bool,  # noqa: FBT001  # the engine's signature
    ) -> int:
        """Width of a verify forward."""


@dataclass(frozen=True, slots=True)
class SpeculativeAlgorithm:
    """A speculative algorithm by name."""

    name: str = "EAGLE"

    def get_num_tokens_per_req_for_target_verify(
        self,
        num_draft_tokens: int,
        is_draft_worker: bool,  # noqa: FBT001  # the engine's signature
    ) -> int:
        """All nodes; a DSPARK draft worker leaves out the root."""
        if self.name == "DSPARK" and is_draft_worker:
            return num_draft_tokens - 1
        return num_draft_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecConfig:
    """The speculative part of a server's configuration."""

    speculative_eagle_topk: int
    speculative_num_draft_tokens: int


def resolve_num_tokens_per_req(
    spec: SpecConfig,
    *,
    phase: str,
    spec_algorithm: SpecAlgorithm | None = None,
    is_draft_worker: bool = False,
    num_draft_tokens: int | None = None,
) -> int:
    """Tokens per request in a phase.

    Args:
        spec: the configured widths.
        phase: `draft_decode` (a beam each), `draft_extend` (all nodes) or `target_verify`.
        spec_algorithm: asked for `target_verify`.
        is_draft_worker: whether the draft model runs the verify.
        num_draft_tokens: another count than the configured one, for `target_verify`.

    Raises:
        ValueError: any other phase.
        AttributeError: `target_verify` without an algorithm.
    """
    if phase == "draft_decode":
        return spec.speculative_eagle_topk
    if phase == "draft_extend":
        return spec.speculative_num_draft_tokens
    if phase == "target_verify":
        if num_draft_tokens is None:
            num_draft_tokens = spec.speculative_num_draft_tokens
        return spec_algorithm.get_num_tokens_per_req_for_target_verify(  # type: ignore[union-attr]  # None raises AttributeError, as in the engine
            num_draft_tokens, is_draft_worker
        )
    raise ValueError(f"Unknown speculative phase: {phase}")


def batch_size_from_tokens(num_tokens: int, num_tokens_per_req: int | None) -> int:
    """Requests behind a token count; without speculation (None) a token is a request.

    Raises:
        ValueError: a width that is unset or 0, or that does not divide the count. The engine has
            no such guard: 8 tokens at width -1 become -8 requests.
    """
    if num_tokens_per_req is None:
        return num_tokens
    if num_tokens_per_req <= 0:
        raise ValueError(
            f"num_tokens_per_req is unset ({num_tokens_per_req}): {num_tokens} tokens cannot be "
            "divided into requests."
        )
    if num_tokens % num_tokens_per_req:
        raise ValueError(f"{num_tokens} tokens are no multiple of {num_tokens_per_req} a request.")
    return num_tokens // num_tokens_per_req


def draft_kv_indices_buffer_width(num_seqs: int, topk: int, max_context_len: int) -> int:
    """Row width of the draft-decode kv_indices buffer: every branch sees the whole context.

    Raises:
        AssertionError: flat offsets that int32 cannot hold.
    """
    assert num_seqs * topk * max_context_len < INT32_LIMIT, (
        "kv_indices flat offset would overflow int32; reduce batch/topk/context"
    )
    return num_seqs * topk * max_context_len
