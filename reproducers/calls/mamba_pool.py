"""The release's own MambaPool: its replay rings, and the axis of its conv windows."""

from collections.abc import Callable, Sequence
from typing import Any

from reproducers.calls.kda import DIM, HEADS, REQUESTS, OnThisDevice
from reproducers.upstream.subject import Subject


def _pool_class(subject: Subject) -> Any:
    module = subject.load("sglang.srt.mem_cache.memory_pool")
    if not isinstance(module.torch, OnThisDevice):
        here = OnThisDevice(subject.torch, subject.device)
        why = '0.5.16 to 0.5.19 write device="cuda" for the scratch buffer'
        subject.substitute(module, "torch", here, why=why)
    return module.MambaPool


def replay_rings(subject: Subject) -> Callable[[int, int], int]:
    """`rows(cache_len, draft_tokens)`: rows of the replay ring of one KDA layer."""
    if subject.version is None:
        from reproducers.reference.ring import ReplayRing

        states = subject.torch.zeros(5, HEADS, DIM, DIM)

        def reference(cache_len: int, draft_tokens: int) -> int:
            ring = ReplayRing(
                states,
                num_k_heads=HEADS,
                length=cache_len,
                max_spec=draft_tokens,
                is_kda=True,
                dtype=states.dtype,
            )
            return ring.window.length

        return reference
    cls = _pool_class(subject)
    params = subject.load("sglang.srt.configs.mamba_utils")
    shape = params.KimiLinearStateShape.create(
        tp_world_size=1, num_heads=HEADS, head_dim=DIM, num_k_heads=HEADS, head_k_dim=DIM
    )
    bfloat16 = subject.torch.bfloat16
    dtype = params.Mamba2StateDType(conv=bfloat16, temporal=bfloat16)
    old = subject.version.release == (0, 5, 16)
    flag = "enable_gdn_replayssm_spec" if old else "enable_linear_replayssm_spec"

    def rows(cache_len: int, draft_tokens: int) -> int:
        pool = cls(
            size=4,
            spec_state_size=REQUESTS,
            cache_params=params.KimiLinearCacheParams(shape=shape, layers=[0], dtype=dtype),
            mamba_layer_ids=[0],
            device=subject.device,
            speculative_num_draft_tokens=draft_tokens,
            linear_replayssm_cache_len=cache_len,
            **{flag: True},
        )
        return int(pool.mamba_cache.replayssm_rawv.shape[-2])

    return rows


def conv_window_axis(subject: Subject) -> Callable[[Sequence[tuple[int, int]], int], int]:
    """`axis(conv_shapes, window)`: which axis of the conv states is the window."""
    cls = _pool_class(subject)
    pool = cls.__new__(cls)  # the method looks at its arguments only
    found: Callable[[Sequence[tuple[int, int]], int], int] = pool._detect_conv_window_axis  # noqa: SLF001  # the place of the error
    return found
