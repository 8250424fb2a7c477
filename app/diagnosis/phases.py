"""How far the server had got when an error was raised: advice turns on it.

The same flag must go up for an out-of-memory at initialisation and down for one at run time, so
each piece of advice names its phase and only that phase's advice is given.
"""

from collections.abc import Iterable
from typing import Final, Literal

from app.diagnosis.facts import Facts
from app.diagnosis.patterns import lazy
from app.diagnosis.places import leaf
from app.diagnosis.raised import Raised
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
_CAPTURERS: Final = "graph_runner"
"""What the files are named for that capture graphs, and replay them in the functions of a run."""
_CAPTURE_FAILED: Final = lazy(r"[Cc]apture (?:\w+ )?(?:cuda |CUDA |device )?graphs? failed")
"""How the engine reports what went wrong while it captured."""
_HEADINGS: Final[tuple[tuple[str, Phase], ...]] = (
    ("**while weights are loaded", "load"),
    ("**when the kv cache is allocated", "pool"),
    ("**while cuda graphs are captured", "capture"),
    ("**at run time", "run"),
)
"""How advice for one phase begins, in small letters."""
_OPENING: Final = 400
"""Characters of a message in which it says what it is about."""
NAMES: Final[dict[Phase, str]] = {
    "load": "while weights were loaded",
    "pool": "while the KV cache was allocated",
    "capture": "while CUDA graphs were captured",
    "run": "at run time",
}


def phase_of(unit: Unit, facts: Facts, led_to: Iterable[str] = ()) -> Phase | None:
    """The phase in which a unit was said; None if nothing tells.

    Args:
        unit: what was said.
        facts: the set-up, and how far the log says that the server had got.
        led_to: messages of the exceptions of the same traceback.
    """
    if any(_CAPTURE_FAILED().search(said) for said in (unit.message[:_OPENING], *led_to)):
        return "capture"
    by_frames = _by_frames(unit.raised) if unit.raised is not None else None
    if by_frames is not None:
        return by_frames
    if facts.ready_line is not None and unit.first > facts.ready_line:
        return "run"
    if facts.running_before(unit.first, unit.rank) is not None:
        return "run"
    stage = facts.stage_before(unit.first)
    return stage if stage in NAMES else None


def _by_frames(raised: Raised) -> Phase | None:
    """The phase that functions and files of a traceback belong to."""
    if (raised.progress or "").startswith("Captur"):
        return "capture"
    names = {leaf(f.function) for f in raised.frames}
    for phase, functions in _FUNCTIONS:
        if names & functions:
            return phase
    if any(part in f.file for f in raised.frames for part in _LOADERS):
        return "load"
    return "capture" if any(_CAPTURERS in f.file for f in raised.frames) else None


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
