"""How far the server had got when an error was raised: advice turns on it.

The same flag must go up for an out-of-memory at initialisation and down for one at run time, so
each piece of advice names its phase and only that phase's advice is given.
"""

from typing import Final, Literal

from app.diagnosis.facts import Facts
from app.diagnosis.places import leaf
from app.diagnosis.units import Unit

Phase = Literal["load", "pool", "capture", "run"]

_FUNCTIONS: Final[tuple[tuple[Phase, frozenset[str]], ...]] = (
    (
        "capture",
        frozenset(
            {"capture", "init_cuda_graphs", "capture_one_batch_size", "init_device_graphs"}
            | {"_capture_graph", "warmup_compile", "capture_model", "kernel_warmup"}
        ),
    ),
    (
        "pool",
        frozenset(
            {"init_memory_pool", "profile_max_num_token", "_create_buffers", "init_memory_pools"}
            | {"_profile_available_bytes", "alloc_memory_pool", "determine_available_memory"}
            | {"_initialize_kv_caches"}
            | {"initialize_kv_cache", "_init_pools", "_create_kv_buffer"}
        ),
    ),
    (
        "run",
        frozenset(
            {"event_loop_overlap", "event_loop_normal", "run_batch", "forward_batch_generation"}
            | {"forward_thread_func", "forward_thread_func_", "run_event_loop", "execute_model"}
            | {"event_loop_pp", "event_loop_overlap_disagg_prefill", "step", "run_busy_loop"}
            | {"event_loop_normal_disagg_decode", "event_loop_normal_disagg_prefill"}
            | {"event_loop_overlap_disagg_decode", "replay", "generate"}
        ),
    ),
    (
        "load",
        frozenset(
            {"load_model", "load_weights", "get_model", "create_weights", "_initialize_model"}
            | {"load_weights_and_postprocess", "process_weights_after_loading", "initialize_model"}
            | {"commit_model_weights"}
        ),
    ),
)
_LOADERS: Final = ("/model_loader/",)
"""Folders of code that runs while weights are loaded, and at no other time."""
_HEADINGS: Final[tuple[tuple[str, Phase], ...]] = (
    ("**while weights are loaded", "load"),
    ("**when the kv cache is allocated", "pool"),
    ("**while cuda graphs are captured", "capture"),
    ("**at run time", "run"),
)
"""How advice for one phase begins, in small letters."""
NAMES: Final[dict[Phase, str]] = {
    "load": "while weights were loaded",
    "pool": "while the KV cache was allocated",
    "capture": "while CUDA graphs were captured",
    "run": "at run time",
}


def phase_of(unit: Unit, facts: Facts) -> Phase | None:
    """The phase in which a unit was said; None if nothing tells."""
    if unit.raised is not None and (unit.raised.progress or "").startswith("Captur"):
        return "capture"
    if unit.raised is not None and unit.raised.frames:
        names = {leaf(f.function) for f in unit.raised.frames}
        for phase, functions in _FUNCTIONS:
            if names & functions:
                return phase
        if any(part in f.file for f in unit.raised.frames for part in _LOADERS):
            return "load"
    if facts.ready_line is not None and unit.first > facts.ready_line:
        return "run"
    if facts.running_before(unit.first, unit.rank) is not None:
        return "run"
    stage = facts.stage_before(unit.first)
    return stage if stage in NAMES else None


def fitting(fixes: list[str], phase: Phase | None) -> list[str]:
    """Advice for a phase: the others' is left out, and nothing if the phase is not known."""
    if phase is None:
        return fixes
    kept = []
    for text in fixes:
        own = _own(text)
        if own is None or own == phase:
            kept.append(text)
    kept.sort(key=lambda text: _own(text) != phase)
    return kept


def _own(text: str) -> Phase | None:
    """The phase that a piece of advice is for."""
    start = text[:60].lower()
    return next((phase for heading, phase in _HEADINGS if start.startswith(heading)), None)
