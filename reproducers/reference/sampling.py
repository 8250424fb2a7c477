"""Gumbel-max sampling as an exponential race: `argmax_i p_i / E_i` with `E_i ~ Exp(1)`.

The seeded form derives every E from (seed, position, draft step, token) with a 32-bit murmur3
hash, so a draw does not depend on the order of a batch or on the replay of a graph.
"""

import torch
from torch import Tensor

DRAFT_GUMBEL_SEED_SALT = 0x44524146545F0000
_MASK = 0xFFFFFFFF


def _mix(h: Tensor, key: Tensor) -> Tensor:
    """One murmur3 round; values are uint32 held in int64, products wrap and are masked."""
    key = (key * 0xCC9E2D51) & _MASK
    key = ((key << 15) | (key >> 17)) & _MASK
    h = h ^ ((key * 0x1B873593) & _MASK)
    h = ((h << 13) | (h >> 19)) & _MASK
    return (h * 5 + 0xE6546B64) & _MASK


def murmur_hash32(seed: Tensor, positions: Tensor, col_indices: Tensor) -> Tensor:
    """Hash every (seed, position) row with every column.

    Args:
        seed: `[n]` int64, taken as 64 bits.
        positions: `[n]` int64, the low 32 bits count.
        col_indices: `[m]` int64, the low 32 bits count.

    Returns:
        `[n, m]` int64 in [0, 2^32).

    Raises:
        AssertionError: seeds and positions of different shapes, or not one-dimensional.
    """
    assert seed.shape == positions.shape, "Seed and positions must have the same shape (n,)"
    assert len(seed.shape) == 1 and len(col_indices.shape) == 1, (  # noqa: PT018  # the engine's one assert
        f"Inputs must be 1D tensors {seed.shape=} {col_indices.shape=}"
    )
    h = torch.zeros(seed.shape[0], col_indices.shape[0], dtype=torch.int64, device=seed.device)
    seed, positions = seed.unsqueeze(1), positions.unsqueeze(1)
    for key in (seed & _MASK, (seed >> 32) & _MASK, positions & _MASK, col_indices & _MASK):
        h = _mix(h, key)
    h = h ^ 16  # bytes hashed
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _MASK
    return h ^ (h >> 16)


def _draw(scores: Tensor, num_samples: int) -> Tensor:
    """Indices `[rows, num_samples]` of the largest scores; equal ones by ascending index."""
    return scores.sort(dim=-1, descending=True, stable=True).indices[:, :num_samples]


def exponential_race(probs: Tensor, exponentials: Tensor, num_samples: int = 1) -> Tensor:
    """Who wins the race.

    Args:
        probs: `[rows, vocab]`.
        exponentials: `[rows, vocab]` draws of Exp(1), clamped to the smallest normal float32.
        num_samples: how many winners, without replacement.

    Returns:
        `[rows, num_samples]` int64.
    """
    return _draw(probs / exponentials.clamp(min=torch.finfo(torch.float32).tiny), num_samples)


def fast_sample(
    probs: Tensor,
    num_samples: int = 1,
    *,
    sampling_seed: Tensor | None = None,
    positions: Tensor | None = None,
    draft_step: int = 0,
) -> tuple[Tensor, Tensor]:
    """Draw tokens; with a seed, the same ones every time.

    Args:
        probs: `[rows, vocab]`.
        num_samples: tokens per row, without replacement.
        sampling_seed: `[rows]` int64.
        positions: `[rows]` int64, required with a seed.
        draft_step: separates the draws of one position.

    Returns:
        Probabilities and indices of the drawn tokens, `[rows, num_samples]` each.

    Raises:
        ValueError: seeds without positions, shapes that do not fit, or a draft step that is
            negative or beyond the 32-bit hash key.
    """
    if sampling_seed is None:
        race = torch.zeros_like(probs, dtype=torch.float32).exponential_(1.0)
        index = exponential_race(probs.float(), race, num_samples)
        return probs.gather(1, index), index
    if positions is None:
        raise ValueError("positions are required for deterministic fast_sample")
    if sampling_seed.shape != positions.shape:
        raise ValueError(
            "sampling_seed and positions must have matching shapes, got "
            f"{sampling_seed.shape} and {positions.shape}"
        )
    if sampling_seed.numel() != probs.shape[0]:
        raise ValueError(
            "sampling_seed must have one value per probability row, got "
            f"{sampling_seed.numel()} seeds for {probs.shape[0]} rows"
        )
    if draft_step < 0:
        raise ValueError(f"draft_step must be non-negative, got {draft_step}")
    vocab_size = probs.shape[1]
    col_offset = draft_step * vocab_size
    if col_offset + vocab_size > 2**32:
        raise ValueError(
            "draft_step and vocabulary size exceed the uint32 hash-key range: "
            f"draft_step={draft_step}, vocab_size={vocab_size}"
        )
    columns = torch.arange(col_offset, col_offset + vocab_size, device=probs.device)
    hashed = murmur_hash32(sampling_seed + DRAFT_GUMBEL_SEED_SALT, positions, columns)
    # The midpoint keeps U inside (0, 1): no infinite exponential at either end of the hash.
    uniform = (hashed.double() + 0.5) / 2.0**32
    index = _draw(probs.double() / -uniform.log(), num_samples)
    return probs.gather(1, index), index
