"""A tiny engine in two releases, for tests that need no wheel."""

from dataclasses import dataclass, field
from typing import Any

from app.loading.index import ReleaseSites
from app.scanner.identity import entry_id


@dataclass
class Site:
    """One place of a message."""

    error_class: str
    template: str
    function: str
    line: int
    file: str = "sglang/srt/pool.py"
    kind: str = "raise"
    condition: str = ""
    guards: list[dict[str, Any]] = field(default_factory=list)
    entry_id: str = ""

    def __post_init__(self) -> None:
        package = "vllm" if self.file.startswith("vllm") else "sglang"
        self.entry_id = entry_id(package, self.error_class, self.template, condition=self.condition)


WIDE = Site("ValueError", "pool {name} is full: {n} of {total} slots are taken", "Pool.take", 40)
MOVED = Site(
    "ValueError",
    "pool {self.name} is full: {n} of {self.total} slots are taken",
    "SlotPool.take",
    12,
    file="sglang/srt/slots.py",
)
BARE = Site(
    "AssertionError", "", "Pool.give", 71, kind="assert", condition="assert slot in self.taken"
)
WARNS = Site("WARNING", "pool {name} is nearly full, {n} slots left", "Pool.take", 38, kind="log")
SAYS = Site("ERROR", "request {rid} was dropped: {reason}", "Pool.drop", 90, kind="log")
LINES = Site(
    "RuntimeError",
    "No room for the batch.\nTried to place {n} tokens.\n{state}",
    "Pool.place",
    120,
)
FOREIGN = Site(
    "ValueError", "block table is too short for {n} blocks", "Worker.run", 5, "vllm/w.py"
)
ENGINE = [
    ReleaseSites("sglang", "1.0", [WIDE, BARE, WARNS, SAYS, LINES]),
    ReleaseSites("sglang", "1.1", [MOVED, BARE, WARNS, SAYS, LINES]),
    ReleaseSites("vllm", "2.0", [FOREIGN]),
]
