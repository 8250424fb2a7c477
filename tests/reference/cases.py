"""Seeded inputs for the tests of the reference: shapes are odd on purpose."""

# ruff: noqa: N803, N806  # the papers' symbols

from dataclasses import dataclass, fields, replace

import torch
from hypothesis import strategies as st
from torch import Tensor


@dataclass(frozen=True)
class Verify:
    """A batch of nodes for recurrent, chunked and replay verify."""

    q: Tensor
    k: Tensor
    v: Tensor
    g: Tensor
    beta: Tensor
    pool: Tensor
    cache_indices: Tensor
    parent: Tensor
    T: int

    @property
    def rows(self) -> tuple[Tensor, ...]:
        return self.q, self.k, self.v, self.g, self.beta

    @property
    def bs(self) -> int:
        return self.cache_indices.shape[0]

    @property
    def is_kda(self) -> bool:
        return self.g.dim() == 3

    def request(self, b: int) -> tuple[Tensor, ...]:
        return tuple(x[b * self.T : (b + 1) * self.T] for x in self.rows)

    def to(self, dtype: torch.dtype) -> "Verify":
        return replace(
            self,
            **{
                f.name: x.to(dtype)
                for f in fields(self)
                if isinstance(x := getattr(self, f.name), Tensor) and x.is_floating_point()
            },
        )


def verify_case(
    seed: int = 0,
    *,
    bs: int = 2,
    T: int = 5,
    H: int = 2,
    groups: int = 2,
    K: int = 7,
    V: int = 5,
    slots: int = 6,
    kda: bool = True,
    strength: float = 1.0,
    padding: bool = False,
) -> Verify:
    """Random inputs in float64; `strength` scales the decay, `padding` makes request 0 padding."""
    gen = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=gen, dtype=torch.float64)

    HV = H * groups
    rows = bs * T
    cache_indices = torch.randperm(slots, generator=gen)[:bs]
    if padding and bs:
        cache_indices[0] = -1
    parent = torch.full((bs, T), -1, dtype=torch.int64)
    for t in range(1, T):
        parent[:, t] = torch.randint(0, t, (bs,), generator=gen)
    return Verify(
        q=normal(rows, H, K),
        k=normal(rows, H, K),
        v=normal(rows, HV, V),
        g=-normal(rows, HV, *([K] if kda else [])).abs() * strength,
        beta=normal(rows, HV).sigmoid(),
        pool=normal(slots, HV, V, K) * 0.3,
        cache_indices=cache_indices,
        parent=parent,
        T=T,
    )


verify_cases = st.builds(
    verify_case,
    st.integers(0, 2**31),
    bs=st.integers(0, 3),
    T=st.integers(1, 9),
    H=st.integers(1, 3),
    groups=st.integers(1, 3),
    K=st.integers(1, 9),
    V=st.integers(1, 9),
    kda=st.booleans(),
    strength=st.sampled_from([0.01, 1.0, 5.0]),
    padding=st.booleans(),
)


def nan_scratch(case: Verify, steps: int | None = None, dtype: torch.dtype | None = None) -> Tensor:
    """A scratch with a row for every slot and one for padding; unwritten steps are NaN."""
    slots, *state = case.pool.shape
    return case.pool.new_full((slots + 1, steps or case.T, *state), float("nan"), dtype=dtype)


def relative(got: Tensor, expected: Tensor) -> float:
    """max|difference| / max|expected|; 0 for nothing."""
    if not expected.numel():
        return 0.0
    return float((got.double() - expected).abs().max() / expected.double().abs().max())
