"""Every test of the reference runs with poisoned allocations: unwritten memory reads as NaN."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

POISON_INTEGER = -77


@pytest.fixture(autouse=True)
def poisoned_allocations(monkeypatch: pytest.MonkeyPatch) -> None:
    """`empty` in all its forms gives NaN, or an index that is out of every range."""

    def poisoned(allocate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def fill(*args: Any, **kwargs: Any) -> torch.Tensor:
            x = allocate(*args, **kwargs)
            if x.dtype.is_floating_point:
                return x.fill_(float("nan"))
            return x.fill_(POISON_INTEGER)

        return fill

    monkeypatch.setattr(torch, "empty", poisoned(torch.empty))
    monkeypatch.setattr(torch, "empty_like", poisoned(torch.empty_like))
    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty))
