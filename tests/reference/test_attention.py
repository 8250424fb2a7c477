"""Tree-mask extend attention against a loop over single queries in numpy."""

from typing import Any

import numpy as np
import pytest
import torch

from reproducers.reference.attention import naive_extend_attention


def inputs(seed: int, prefixes: list[int], n: int, **shape: int) -> dict[str, Any]:
    """A batch with random cache slots; heads, kv heads and head sizes by keyword."""
    gen = torch.Generator().manual_seed(seed)
    hq, hkv, d, dv = (shape.get(x, y) for x, y in (("hq", 6), ("hkv", 2), ("d", 5), ("dv", 3)))

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(*size, generator=gen, dtype=torch.float64)

    bs, width = len(prefixes), max([0, *prefixes]) + n
    slots = torch.randperm((bs + 1) * width, generator=gen)
    return {
        "q_extend": normal(bs * n, hq, d),
        "k_extend": normal(bs * n, hkv, d),
        "v_extend": normal(bs * n, hkv, dv),
        "k_buffer": normal(len(slots), hkv, d),
        "v_buffer": normal(len(slots), hkv, dv),
        "req_to_token": slots.view(bs + 1, width).to(torch.int32),
        "req_pool_indices": torch.arange(bs, 0, -1),
        "seq_lens": torch.tensor([p + n for p in prefixes], dtype=torch.int64),
        "extend_seq_lens": torch.full((bs,), n, dtype=torch.int32),
        "extend_start_loc": torch.arange(0, bs * n, n, dtype=torch.int32),
        "max_len_extend": n,
    }


def tree_masks(seed: int, bs: int, n: int) -> torch.Tensor:
    """Random ancestor masks, flat."""
    rng = np.random.default_rng(seed)
    mask = np.zeros((bs, n, n), dtype=bool)
    for b in range(bs):
        for i in range(n):
            if i:
                mask[b, i] = mask[b, rng.integers(0, i)]
            mask[b, i, i] = True
    return torch.from_numpy(mask).flatten()


def one_query_at_a_time(given: dict[str, Any], mask: Any, cap: float = 0.0) -> np.ndarray:
    """The same attention, query by query and head by head."""
    x = {k: v.numpy() if isinstance(v, torch.Tensor) else v for k, v in given.items()}
    rows, hq, d = x["q_extend"].shape
    out = np.zeros((rows, hq, x["v_extend"].shape[-1]))
    n, group = x["max_len_extend"], hq // x["k_extend"].shape[1]
    for row in range(rows):
        r, i = divmod(row, n)
        prefix = x["seq_lens"][r] - n
        slots = x["req_to_token"][x["req_pool_indices"][r], :prefix]
        seen = [j for j in range(n) if (j <= i if mask is None else mask[r * n * n + i * n + j])]
        for h in range(hq):
            keys = [x["k_buffer"][s, h // group] for s in slots]
            keys += [x["k_extend"][r * n + j, h // group] for j in seen]
            values = [x["v_buffer"][s, h // group] for s in slots]
            values += [x["v_extend"][r * n + j, h // group] for j in seen]
            score = np.array([x["q_extend"][row, h] @ key for key in keys]) * d**-0.5
            if cap:
                score = cap * np.tanh(score / cap)
            weight = np.exp(score - score.max())
            out[row, h] = (weight / weight.sum()) @ np.array(values)
    return out


@pytest.mark.parametrize("cap", [0.0, 3.0])
@pytest.mark.parametrize("tree", [True, False])
def test_attention_equals_the_sum_over_visible_keys(tree: bool, cap: float) -> None:  # noqa: FBT001  # a parameter of the test
    given = inputs(1, [7, 0, 11], 5)
    mask = tree_masks(2, 3, 5) if tree else None
    got = naive_extend_attention(**given, tree_mask=mask, logit_cap=cap)
    np.testing.assert_allclose(got, one_query_at_a_time(given, mask, cap), atol=1e-14)


def test_a_sibling_is_not_seen() -> None:
    given = inputs(3, [4], 3)
    mask = torch.tensor([1, 0, 0, 1, 1, 0, 1, 0, 1], dtype=torch.bool)
    before = naive_extend_attention(**given, tree_mask=mask)
    given["v_extend"][1] += 100.0
    after = naive_extend_attention(**given, tree_mask=mask)
    assert torch.equal(before[2], after[2])
    assert not torch.equal(before[1], after[1])


def test_float32_stays_within_rounding_of_float64() -> None:
    given = inputs(4, [13, 2], 7, d=64, dv=32)
    exact = naive_extend_attention(**given)
    single = {
        k: v.float() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
        for k, v in given.items()
    }
    got = naive_extend_attention(**single)
    assert got.dtype == torch.float32
    assert float((got - exact).abs().max() / exact.abs().max()) < 1e-6


def test_an_empty_batch_gives_no_rows() -> None:
    assert naive_extend_attention(**inputs(5, [], 4)).shape == (0, 6, 3)


def test_lengths_without_the_drafts_leave_a_negative_prefix() -> None:
    given = inputs(6, [3], 4)
    given["seq_lens"] -= 4
    with pytest.raises(RuntimeError, match=r"^prefix len < 0!$"):
        naive_extend_attention(**given)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "table dtype": (
        {"req_to_token": torch.zeros(2, 9, dtype=torch.int16)},
        "to be int32 or int64, got Short",
    ),
    "lens dtype": (
        {"seq_lens": torch.tensor([6], dtype=torch.int32)},
        "expect req_lens to be int64, got Int",
    ),
    "pool dtype": (
        {"req_pool_indices": torch.tensor([1.0])},
        "req_pool_indices to be int64, got Float",
    ),
    "extend dtype": (
        {"extend_seq_lens": torch.tensor([2])},
        "extend_start_loc to have same dtype as req_to_token.",
    ),
    "mask dtype": (
        {"tree_mask": torch.ones(4, dtype=torch.uint8)},
        "expect tree_mask to be bool, got Byte",
    ),
    "full mask": (
        {"tree_mask": torch.ones(12, dtype=torch.bool)},
        r"max_len_extend\^2 = 4, got 12",
    ),
    "long": ({"seq_lens": torch.tensor([99])}, "seq_len out of scope!"),
    "pool": ({"req_pool_indices": torch.tensor([9])}, "req_pool_id out of scope!"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_the_kernel_refuses_is_refused_with_its_message(what: str) -> None:
    change, message = BAD[what]
    with pytest.raises(RuntimeError, match=message):
        naive_extend_attention(**(inputs(7, [4], 2) | change))


def test_a_mask_needs_equal_lengths() -> None:
    given = inputs(8, [4, 4], 2) | {"extend_seq_lens": torch.tensor([2, 1], dtype=torch.int32)}
    with pytest.raises(RuntimeError, match="requires uniform extend_seq_lens, got 1"):
        naive_extend_attention(**given, tree_mask=torch.ones(8, dtype=torch.bool))
