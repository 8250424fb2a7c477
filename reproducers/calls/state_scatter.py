"""The commit kernel of linear attention's states, with its launch in plain torch."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import torch

from reproducers.calls.triton_arithmetic import arithmetic
from reproducers.upstream.subject import Subject

LAYERS, SLOTS, ROWS, STEPS, ENTRY = 1, 5, 2, 3, (2, 4)
"""Sizes of the pool [layers, slots, *entry] and of the scratch [layers, rows, steps, *entry]."""


class OnGpu(torch.Tensor):
    """A tensor in main memory that says it is on a CUDA device."""

    is_cuda = True


class OnCuda(OnGpu):
    """The same, and that names the device."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]  # read alone
        """What is asked of it when two tensors have to be together."""
        return torch.device("cuda", 0)


class InMainMemory(torch.Tensor):
    """A tensor that can be moved to a CUDA device where there is none."""

    def to(self, device: str) -> torch.Tensor:  # type: ignore[override]  # one of its forms
        """The same numbers, on that device as far as they say."""
        return self.as_subclass(OnCuda if device == "cuda" else torch.Tensor)


class ScatterKernel:
    """The kernel in plain torch: states of valid steps into the slots of their requests."""

    parameters: ClassVar[tuple[str, ...]] = ()

    def __class_getitem__(cls, _grid: Any) -> Any:
        """What a launch grid gives."""
        return cls.launch

    @classmethod
    def launch(cls, *arguments: Any, **options: Any) -> None:
        """Copy `src[:, request, step]` to `dst[:, slot]` for each request."""
        given = dict(zip(cls.parameters, arguments, strict=False)) | options
        slots, steps = given["dst_indices_raw_ptr"].tolist(), given["step_indices_raw_ptr"].tolist()
        for row, (slot, step) in enumerate(zip(slots, steps, strict=True)):
            if slot >= 0 and step >= 0:
                given["dst_ptr"][:, slot] = given["src_ptr"][:, row, step]


def committed(subject: Subject) -> Callable[..., list[list[int]]]:
    """`commit(on_gpu=True, dst=None)`: commit step 2 of request 0 and step 0 of request 1.

    Slots are 3 and 1. Gives which scratch state (row, step) each slot holds afterwards.
    """
    arithmetic(subject)
    module = subject.load(
        "sglang.kernels.ops.mamba.mamba_state_scatter_triton",
        "sglang.srt.layers.attention.mamba.mamba_state_scatter_triton",
    )
    name = "_fused_mamba_state_scatter_with_mask_kernel"
    if getattr(module, name) is not ScatterKernel:
        ScatterKernel.parameters = tuple(inspect.signature(getattr(module, name)).parameters)
        subject.substitute(module, name, ScatterKernel, why="a Triton kernel")
    why = "tensors in main memory that say that they are on a GPU: the wrapper asks no more"
    subject.in_place_of("torch.Tensor", OnGpu, why=why)
    slots, steps = subject.torch.tensor([3, 1]), subject.torch.tensor([2, 0])

    def commit(on_gpu: bool = True, dst: Any = None) -> list[list[int]]:  # noqa: FBT001, FBT002  # one call of few options
        kind = OnGpu if on_gpu else torch.Tensor
        pool = (empty_pool() if dst is None else dst).as_subclass(kind)
        scratch = numbered_scratch().as_subclass(kind)
        module.fused_mamba_state_scatter_with_mask(pool, scratch, slots, steps)
        return seen_in(pool)

    return commit


def wrapper(subject: Subject) -> Any:
    """The release's `fused_mamba_state_scatter_with_mask`; `committed` replaces its launch."""
    module = subject.load(
        "sglang.kernels.ops.mamba.mamba_state_scatter_triton",
        "sglang.srt.layers.attention.mamba.mamba_state_scatter_triton",
    )
    return module.fused_mamba_state_scatter_with_mask


def seen_in(pool: Any) -> list[list[int]]:
    """Slot, row and step of each state of `numbered_scratch` that a pool holds."""
    found = pool.as_subclass(torch.Tensor)[0].flatten(1)[:, 0].int().tolist()
    return [[slot, *divmod(n - 1, STEPS)] for slot, n in enumerate(found) if n]


def empty_pool() -> torch.Tensor:
    """Zeros [layers, slots, *entry]."""
    return torch.zeros(LAYERS, SLOTS, *ENTRY)


def numbered_scratch() -> torch.Tensor:
    """States [layers, rows, steps, *entry], each filled with its number from 1."""
    numbers = torch.arange(1, ROWS * STEPS + 1).view(1, ROWS, STEPS, 1, 1).float()
    return numbers.expand(LAYERS, ROWS, STEPS, *ENTRY).contiguous()
