"""Adaptive speculation: its configuration, its controller, and the logits buffer it shares."""

import inspect
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproducers.calls.launch import resolved
from reproducers.upstream.subject import Subject

ADAPTIVE = {
    "device": "cuda",
    "speculative_algorithm": "EAGLE",
    "speculative_draft_model_path": "DRAFT",
    "speculative_eagle_topk": 1,
    "speculative_adaptive": True,
    "speculative_adaptive_config": "adaptive.json",
}
"""A launch line with adaptive speculation, without the steps that it starts with."""


def read_config(subject: Subject) -> Callable[[Mapping[str, Any]], list[int]]:
    """`read(config)`: all candidate steps of a configuration, ascending."""
    if subject.version is None:
        from reproducers.reference import adaptive

        return lambda config: sorted(set().union(*adaptive.candidate_steps_by_bs(config).values()))
    params = subject.load("sglang.srt.speculative.adaptive_spec_params")
    read: Callable[[Mapping[str, Any]], list[int]] = lambda config: (  # noqa: E731  # typed
        params.resolve_candidate_steps_from_config(config_file(config))
    )
    return read


def config_file(config: Mapping[str, Any]) -> str:
    """A file that holds the configuration, as `--speculative-adaptive-config` names one."""
    path = Path(tempfile.mkdtemp(prefix="adaptive-")) / "config.json"
    path.write_text(json.dumps(dict(config)))
    return str(path)


def steps_of(subject: Subject, line: str, config: Mapping[str, Any]) -> int | None:
    """The steps that a launch line starts with; `adaptive.json` on it holds the configuration.

    None if the release starts it without adaptive speculation.
    """
    settings = resolved(subject, line.replace("adaptive.json", config_file(config)))
    return settings["speculative_num_steps"] if settings["speculative_adaptive"] else None


class Worker:
    """A speculative worker without a model: builds states of the release's class and keeps them."""

    def __init__(self, speculative_num_steps: int, state_class: Any) -> None:
        self.speculative_num_steps = speculative_num_steps
        self.built: list[int] = []
        self._state_class = state_class

    def build_adaptive_runtime_state(
        self, speculative_num_steps: int, speculative_num_draft_tokens: int, **_options: Any
    ) -> Any:
        """A runtime state without backends and graphs."""
        self.built.append(speculative_num_steps)
        empty = dict.fromkeys(inspect.signature(self._state_class).parameters)
        sizes = {
            "speculative_num_steps": speculative_num_steps,
            "speculative_num_draft_tokens": speculative_num_draft_tokens,
        }
        return self._state_class(**(empty | sizes))

    def apply_runtime_state(self, state: Any) -> None:
        """Switch to the state."""
        self.speculative_num_steps = state.speculative_num_steps


def start(subject: Subject) -> Callable[[Sequence[int], int], Any]:
    """`start(candidate_steps, steps)`: build the candidates' states, then run with `steps`.

    What it gives has `speculative_num_steps`, the steps that are active.
    """

    def started(candidate_steps: Sequence[int], steps: int) -> Any:
        why = "no model, backend or graph: states of the right class that hold their two sizes"
        subject.in_place_of("the speculative worker", Worker, why=why)
        if subject.version is None:
            from reproducers.reference import adaptive

            worker = Worker(steps, adaptive.SpecRuntimeState)
            controller = adaptive.AdaptiveController(worker.apply_runtime_state)
            controller.init_states(candidate_steps)
            controller.activate(steps)
            return worker
        runtime = subject.load("sglang.srt.speculative.adaptive_runtime_state")
        params = subject.load("sglang.srt.speculative.adaptive_spec_params")
        worker = Worker(steps, runtime.SpecRuntimeState)
        path = config_file({"1": {"candidate_steps": list(candidate_steps)}})
        if "policy" in inspect.signature(runtime.AdaptiveController).parameters:  # 0.5.19 on
            policy = params.AdaptiveSpeculativeParams(steps, path)
            runtime.AdaptiveController(worker, policy).init_states()
        else:
            runtime.AdaptiveController(worker, path).init_states()
        return worker

    return started


def logits_buffer(subject: Subject) -> Callable[[int, int], Any]:
    """`rows_of(max_rows, rows)`: rows of the logits buffer [max_rows, vocabulary] of all graphs."""
    if subject.version is None:
        from reproducers.reference.adaptive import SharedLogitsBuffer

        def make(max_rows: int) -> Any:
            return SharedLogitsBuffer(max_rows=max_rows)
    else:
        shared = subject.load("sglang.srt.model_executor.graph_shared_output").GraphSharedOutput
        device = subject.torch.device("cpu")

        def make(max_rows: int) -> Any:
            return shared(device=device, max_rows=max_rows)

    return lambda max_rows, rows: make(max_rows).get_logits_buffer(11, rows=rows)
