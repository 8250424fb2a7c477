"""Gumbel-max sampling: the hash byte by byte, the distribution, and what is refused."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reproducers.reference.sampling import (
    DRAFT_GUMBEL_SEED_SALT,
    exponential_race,
    fast_sample,
    murmur_hash32,
)

PROBS = torch.tensor([0.5, 0.3, 0.15, 0.05])


def murmur3_x86_32(data: bytes) -> int:
    """Published murmur3 of 32 bits with seed 0, for whole 4-byte blocks."""
    h = 0
    for i in range(0, len(data), 4):
        k = int.from_bytes(data[i : i + 4], "little") * 0xCC9E2D51 % 2**32
        k = (k << 15 | k >> 17) % 2**32 * 0x1B873593 % 2**32
        h ^= k
        h = ((h << 13 | h >> 19) % 2**32 * 5 + 0xE6546B64) % 2**32
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    return h ^ h >> 16


def test_the_oracle_is_murmur3() -> None:
    assert murmur3_x86_32(b"test") == 0xBA6BD213


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_the_hash_is_murmur3_of_seed_position_and_column(seed: int, pos: int, col: int) -> None:
    data = (seed % 2**64).to_bytes(8, "little")
    data += pos.to_bytes(4, "little") + col.to_bytes(4, "little")
    got = murmur_hash32(torch.tensor([seed]), torch.tensor([pos]), torch.tensor([col]))
    assert got.item() == murmur3_x86_32(data)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_seeded_draw_is_the_race_of_its_hashes(dtype: torch.dtype) -> None:
    seeds, positions = torch.tensor([7, 2**63 - 1, -3]), torch.tensor([5, 0, 90000])
    probs = torch.rand(3, 11, dtype=dtype)
    for step in (0, 3):
        drawn_p, drawn = fast_sample(
            probs, 2, sampling_seed=seeds, positions=positions, draft_step=step
        )
        for r in range(3):
            race = []
            for token in range(11):
                salted = (int(seeds[r]) + DRAFT_GUMBEL_SEED_SALT) % 2**64
                data = salted.to_bytes(8, "little") + int(positions[r]).to_bytes(4, "little")
                data += (step * 11 + token).to_bytes(4, "little")
                race.append(
                    probs[r, token].item() / -math.log((murmur3_x86_32(data) + 0.5) / 2**32)
                )
            best = sorted(range(11), key=lambda i: -race[i])[:2]
            assert drawn[r].tolist() == best
        assert torch.equal(drawn_p, probs.gather(1, drawn))


def test_seeded_draws_do_not_depend_on_the_order_of_the_batch() -> None:
    seeds, positions = torch.arange(20) * 977, torch.arange(20)
    probs = torch.rand(20, 7)
    _, straight = fast_sample(probs, sampling_seed=seeds, positions=positions)
    _, turned = fast_sample(probs.flip(0), sampling_seed=seeds.flip(0), positions=positions.flip(0))
    assert torch.equal(straight, turned.flip(0))


@pytest.mark.parametrize("seeded", [True, False])
def test_draws_follow_the_probabilities(seeded: bool) -> None:  # noqa: FBT001  # a parameter of the test
    torch.manual_seed(0)
    rows = 40000
    how = {"sampling_seed": torch.arange(rows), "positions": torch.full((rows,), 9)}
    _, drawn = fast_sample(PROBS.expand(rows, -1), **(how if seeded else {}))
    share = torch.bincount(drawn.flatten(), minlength=4) / rows
    assert float((share - PROBS).abs().max()) < 0.01


def test_the_race_takes_the_best_ratios_and_survives_a_zero() -> None:
    probs = torch.tensor([[0.2, 0.5, 0.3]])
    assert exponential_race(probs, torch.tensor([[0.1, 1.0, 0.0]]), 3).tolist() == [[2, 0, 1]]
    assert exponential_race(probs[:0], probs[:0]).shape == (0, 1)


SEEDS = {"sampling_seed": torch.tensor([1, 2]), "positions": torch.tensor([1, 2])}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positions": None}, "^positions are required for deterministic fast_sample$"),
        (
            {"sampling_seed": torch.tensor([1, 2, 3])},
            r"^sampling_seed and positions must have matching shapes, got torch.Size\(\[3\]\) and ",
        ),
        (
            {"sampling_seed": torch.tensor([1]), "positions": torch.tensor([1])},
            "^sampling_seed must have one value per probability row, got 1 seeds for 2 rows$",
        ),
        ({"draft_step": -1}, "^draft_step must be non-negative, got -1$"),
        (
            {"draft_step": 2**30},
            r"^draft_step and vocabulary size exceed the .*: draft_step=1073741824, vocab_size=4$",
        ),
    ],
)
def test_seeded_sampling_refuses_with_the_engines_message(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fast_sample(PROBS.expand(2, -1), **(SEEDS | change))


def test_the_last_draft_step_that_fits_the_hash_key_is_taken() -> None:
    _, drawn = fast_sample(PROBS.expand(2, -1), **SEEDS, draft_step=2**30 - 1)
    assert drawn.shape == (2, 1)
