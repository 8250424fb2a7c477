"""What a log and a launch line say of the set-up: flags, sizes, memory, how far the server got.

Values keep the names of the engine's arguments (`tp_size`, `speculative_num_draft_tokens`), from
whichever place they were found in: the given command, a command in the log, `server_args=...`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from app.diagnosis.fit import value
from app.diagnosis.lines import Line
from app.diagnosis.patterns import lazy

_COMMAND: Final = lazy(
    r"(?:sglang[. ]launch_server|sglang serve|vllm serve|vllm\.entrypoints\.\S{1,60}"
    r"|launch_server\.py"
    r"|sglang\.bench_\w{1,30})(?P<rest>\s[^\n]{0,8000})"
)
_FLAG: Final = lazy(
    r"(?<!\S)--(?P<name>[A-Za-z][\w-]{0,60})"
    r"(?:(?:=|\s{1,3})(?P<value>(?!--)(?:\d{1,6}(?: \d{1,6}){1,100}(?!\S)|[^\s]{1,300})))?"
)
_ENVIRONMENT: Final = lazy(
    r"\b(?P<name>(?:SGLANG|SGL|CUDA|NCCL|PYTORCH|VLLM|FLASHINFER"
    r"|HF)_[A-Z0-9_]{2,60})=(?P<value>\S{1,120})"
)
_SIZE: Final = lazy(r"\d{1,9}")
_SERVER_ARGS: Final = lazy(r"\b(?:server_args=|ServerArgs\()")
_ARGUMENT: Final = lazy(
    r"\b(?P<name>[a-z][a-z0-9_]{1,60})="
    r"(?P<value>'[^'\n]{0,300}'|\[[\d, ]{0,2000}\]|[^,()\s]{1,120})"
)
ALIASES: Final = {
    "tp": "tp_size", "tensor_parallel_size": "tp_size", "dp": "dp_size",
    "data_parallel_size": "dp_size", "pp": "pp_size", "pipeline_parallel_size": "pp_size",
    "ep": "ep_size", "expert_parallel_size": "ep_size", "model": "model_path",
    "max_model_len": "context_length", "gpu_memory_utilization": "gpu_memory_utilization",
    "speculative_algo": "speculative_algorithm",
}  # fmt: skip
_LOG_FACTS: Final = (
    (lazy(r"\bmax_total_num_tokens=(\d+)"), "max_total_num_tokens"),
    (lazy(r"\bcontext_len=(\d+)"), "context_length"),
    (lazy(r"\bmax_running_requests=(\d+)"), "max_running_requests"),
    (lazy(r"\bchunked_prefill_size=(\d+)"), "chunked_prefill_size"),
    (lazy(r"Load weight end\..{0,200}?avail mem=([\d.]+ GB)"), "avail_mem_after_load"),
    (lazy(r"Load weight begin\. avail mem=([\d.]+ GB)"), "avail_mem_before_load"),
    (lazy(r"Capture cuda graph bs \[([\d, ]{1,2000})"), "cuda_graph_bs"),
    (lazy(r"(?:Capturing batches|Capture).{0,40}?\bbs=(\d+)"), "capturing_bs"),
    (lazy(r"avail_mem=([\d.]+ GB)"), "avail_mem"),
)
_RUNNING: Final = lazy(r"Decode batch.{0,80}?#running-req: (\d+)")
_FIRED_UP: Final = "The server is fired up and ready to roll"
_STAGES: Final = (
    ("Load weight begin", "load"),
    ("Load weight end", "pool"),
    ("apture cuda graph begin", "capture"),
    ("apture cuda graph end", ""),
)
"""What the engine says at the border of two stages, and the stage that begins; see `phases`."""
_WORDS: Final = (
    "Load weight", "apture cuda graph",
    "server_args", "ServerArgs", "launch_server", "serve ", "avail", "max_total", "context_len",
    "Capture", "Capturing", "Decode batch", "fired up", "bench_", "entrypoints",
)  # fmt: skip


@dataclass(slots=True)
class Facts:
    """What is known of the set-up; a fact that is not there was not said."""

    values: dict[str, Any] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    """Flags as typed on the launch line, `--mem-fraction-static` → `0.84`."""
    environment: dict[str, str] = field(default_factory=dict)
    command: str = ""
    """The launch line, if one was given or the log holds one."""
    running: list[tuple[int, str | None, int]] = field(default_factory=list)
    """(line, rank, running requests) of decode batches."""
    told: bool = False
    """The log prints the server's arguments, with everything that a launch line could say."""
    ready_line: int | None = None
    """Where the server said that it is ready."""
    stages: list[tuple[int, str]] = field(default_factory=list)
    """(line, stage of the start) as the engine announces it."""

    def number(self, *names: str) -> int | None:
        """The first of some facts that is an integer."""
        for name in names:
            found = self.values.get(name)
            if isinstance(found, int) and not isinstance(found, bool):
                return found
        return None

    def sizes(self, name: str) -> list[int]:
        """A fact that lists sizes, such as the batch sizes of the graphs; empty if not said."""
        return [int(n) for n in _SIZE().findall(str(self.values.get(name, "")))]

    def stage_before(self, line: int) -> str:
        """The stage of the start that was announced last before a line; empty for none."""
        return next((stage for at, stage in reversed(self.stages) if at < line), "")

    def running_before(self, line: int, rank: str | None) -> int | None:
        """Requests in the last decode batch that a rank printed before a line."""
        other = None
        for at, who, n in reversed(self.running):
            if at < line:
                if who == rank:
                    return n
                other = n if other is None else other
        return other


def read_command(facts: Facts, command: str) -> None:
    """Take over the flags and variables of a launch line."""
    command = command.replace("\\\n", " ")
    facts.command = facts.command or command.strip()
    for m in _ENVIRONMENT().finditer(command):
        facts.environment.setdefault(m["name"], m["value"])
    for m in _FLAG().finditer(command):
        text = (m["value"] or "").strip("'\"")
        flag = "--" + m["name"].replace("_", "-")
        facts.given.setdefault(flag, text)
        name = m["name"].replace("-", "_")
        facts.values.setdefault(ALIASES.get(name, name), value(text) if text else True)


def read_lines(facts: Facts, lines: Iterable[Line]) -> None:
    """Take over what the log says."""
    for line in lines:
        text = line.text
        if line.progress and "avail_mem=" in line.progress:
            _log_facts(facts, line.progress)
        if not any(word in text for word in _WORDS):
            continue
        running = _RUNNING().match(text)
        if running:
            facts.running.append((line.number, line.rank, int(running[1])))
            continue
        if _FIRED_UP in text:
            facts.ready_line = line.number
        facts.stages += [(line.number, after) for words, after in _STAGES if words in text]
        if _SERVER_ARGS().search(text):
            facts.told = True
            for m in _ARGUMENT().finditer(text):
                if m["value"] != "None":
                    facts.values.setdefault(ALIASES.get(m["name"], m["name"]), value(m["value"]))
            continue
        command = _COMMAND().search(text)
        if command and "--" in command["rest"]:
            read_command(facts, text.strip())
        _log_facts(facts, text)


def _log_facts(facts: Facts, text: str) -> None:
    for pattern, name in _LOG_FACTS:
        m = pattern().search(text)
        if m is None:
            continue
        facts.values[name] = value(m[1])
