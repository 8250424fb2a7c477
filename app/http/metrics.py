"""What `/metrics` tells, in the Prometheus text format.

Counters are of one process: with several workers a scrape meets any of them, so each of these
series carries the worker's process id, and rates are summed over it. What is read from the
database or the disk is the same from every worker and has no such label.
"""

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import psutil

from app.settings import Settings

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of the histogram of answering times, in seconds."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
Labels = Mapping[str, str | int]


@dataclass(slots=True)
class Metric:
    """One metric with its samples."""

    name: str
    kind: str
    """`counter`, `gauge` or `histogram`."""
    about: str
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)
    """What follows the name, labels, value."""

    def lines(self) -> Iterable[str]:
        """The metric in the text format."""
        yield f"# HELP reprobase_{self.name} {self.about}"
        yield f"# TYPE reprobase_{self.name} {self.kind}"
        for suffix, labels, value in self.samples:
            shown = ",".join(f'{key}="{_escaped(str(text))}"' for key, text in labels.items())
            yield f"reprobase_{self.name}{suffix}{f'{{{shown}}}' if shown else ''} {value:.10g}"


class Counters:
    """What one process has answered so far."""

    def __init__(self) -> None:
        self.started = time.time()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets: Counter[float] = Counter()
        self.seconds = 0.0
        self.in_progress = 0

    def count(self, method: str, status: int, seconds: float) -> None:
        """One request was answered."""
        self.requests[method if method in _KNOWN_METHODS else "other", status] += 1
        self.seconds += seconds
        for bound in BUCKETS:
            if seconds <= bound:
                self.buckets[bound] += 1
                break

    def metrics(self) -> list[Metric]:
        """The counters, and what the process takes of the machine."""
        worker: Labels = {"worker": os.getpid()}
        requests = Metric("requests_total", "counter", "Requests answered.")
        requests.samples = [
            ("", {"method": method, "status": status, **worker}, number)
            for (method, status), number in sorted(self.requests.items())
        ]
        times = Metric("request_seconds", "histogram", "Time until a request was answered.")
        total = 0
        for bound in BUCKETS:
            total += self.buckets[bound]
            times.samples.append(("_bucket", {"le": f"{bound:g}", **worker}, total))
        count = sum(self.requests.values())
        times.samples += [
            ("_bucket", {"le": "+Inf", **worker}, count),
            ("_sum", worker, self.seconds),
            ("_count", worker, count),
        ]
        return [
            requests,
            times,
            gauge("requests_in_progress", "Requests being answered.", self.in_progress, worker),
            gauge("start_time_seconds", "When the worker started.", self.started, worker),
            gauge("resident_memory_bytes", "Memory of the worker.", _memory(), worker),
        ]


def gauge(name: str, about: str, value: float, labels: Labels | None = None) -> Metric:
    """A value that goes up and down."""
    return Metric(name, "gauge", about, [("", labels or {}, value)])


def free_space(settings: Settings) -> list[Metric]:
    """Bytes that are left where wheels and indexes are kept; nothing where there is no folder."""
    try:
        free = shutil.disk_usage(settings.cache_dir).free
    except OSError:
        return []
    return [gauge("cache_free_bytes", "Space left on the disk of the cache.", free)]


def text(metrics: Iterable[Metric]) -> str:
    """Metrics in the Prometheus text format."""
    return "\n".join(line for metric in metrics for line in metric.lines()) + "\n"


def _memory() -> int:
    return int(psutil.Process().memory_info().rss)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
