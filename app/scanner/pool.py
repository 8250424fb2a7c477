"""Child processes that read shares of a wheel.

Each child is a fresh interpreter started by its module name (`python -m app.scanner.pool`): nothing
of the parent is copied, so it works under threads, servers and every platform. Shares and answers
go through its pipes. When the parent goes away, or is interrupted, the children end.
"""

import heapq
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, Protocol

from app.exceptions import UnavailableError
from app.scanner.library import Library
from app.scanner.reading import Answer, Part, read_part, run_part
from app.settings import PROJECT_ROOT

if TYPE_CHECKING:
    from app.wheels import Wheel  # reading wheels' metadata is not a child's work

SMALL = 1_000_000
"""Bytes of source up to which a wheel is read without children: starting one takes 0.1 s."""


class Reads(Protocol):
    """Files of a wheel being read, wherever that is."""

    def answers(self, on_progress: Callable[[int, int], None] | None = None) -> Iterator[Answer]:
        """What was read, in any order."""

    def stop(self) -> None:
        """Leave it, finished or not."""


class Reading:
    """Files of a wheel being read, by children that are at work already."""

    def __init__(self, wheel: "Wheel", whole: Part, processes: int | None = None) -> None:
        """Begin to read.

        Args:
            wheel: where the files are.
            whole: which files.
            processes: how many children; 0 reads in this process, once answers are asked for.
        """
        sizes = {name: wheel.size(name) for name in (*whole.python, *whole.native)}
        self._wheel = wheel
        self._whole = whole
        self._total = sum(sizes.values())
        self._answers: queue.SimpleQueue[Answer | BaseException | None] = queue.SimpleQueue()
        if processes is None:
            processes = 0 if self._total <= SMALL else max(1, os.cpu_count() or 1)
        parts = deal(whole, sizes, processes) if processes else []
        self._children = [_start(part, whole.python, self._answers) for part in parts]

    def answers(self, on_progress: Callable[[int, int], None] | None = None) -> Iterator[Answer]:
        """What was read, in any order.

        Raises:
            UnavailableError: a child died.
        """
        done = 0
        source = self._from_children() if self._children else _read_here(self._wheel, self._whole)
        for answer in source:
            done += answer.bytes_read
            if on_progress:
                on_progress(min(done, self._total), self._total)
            yield answer
        if on_progress:
            on_progress(self._total, self._total)

    def stop(self) -> None:
        """End the children, finished or not."""
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()

    def _from_children(self) -> Iterator[Answer]:
        running = len(self._children)
        try:
            while running:
                answer = self._answers.get()
                if answer is None:
                    running -= 1
                elif isinstance(answer, BaseException):
                    raise answer
                else:
                    yield answer
        finally:
            self.stop()


def _read_here(wheel: "Wheel", whole: Part) -> Iterator[Answer]:
    return read_part(whole, Library(whole.python, wheel.read), wheel.read)


def deal(whole: Part, sizes: dict[str, int], processes: int) -> list[Part]:
    """Shares of about equal size; the largest files are dealt first."""
    parts = [Part(whole.package, whole.wheel, [], []) for _ in range(processes)]
    heap = [(0, i) for i in range(processes)]
    files = [(sizes[n], n, False) for n in whole.python] + [
        (sizes[n], n, True) for n in whole.native
    ]
    for size, name, native in sorted(files, reverse=True):
        load, i = heapq.heappop(heap)
        (parts[i].native if native else parts[i].python).append(name)
        heapq.heappush(heap, (load + size + 500, i))
    return [p for p in parts if p.python or p.native]


def _start(
    part: Part, names: list[str], answers: "queue.SimpleQueue[Any]"
) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.scanner.pool"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)},
    )
    threading.Thread(target=_converse, args=(child, part, names, answers), daemon=True).start()
    return child


def _converse(
    child: subprocess.Popen[bytes], part: Part, names: list[str], answers: "queue.SimpleQueue[Any]"
) -> None:
    """Send a child its share and pass on what it answers, then `None`."""
    try:
        if child.stdin is None or child.stdout is None:
            return
        pickle.dump((part, names), child.stdin, pickle.HIGHEST_PROTOCOL)
        child.stdin.close()
        while (answer := pickle.load(child.stdout)) is not None:  # noqa: S301  # our own child
            answers.put(answer)
        answers.put(None)
    except (EOFError, OSError, pickle.UnpicklingError):
        said = child.stderr.read().decode("utf-8", "replace").strip() if child.stderr else ""
        last = said.splitlines()[-1] if said else f"exit code {child.wait()}"
        answers.put(UnavailableError(f"A process that was reading the wheel died: {last}"))


def _child(stdin: IO[bytes], stdout: IO[bytes]) -> None:
    part, names = pickle.load(stdin)  # noqa: S301  # our own parent
    for answer in run_part(part, names):
        pickle.dump(answer, stdout, pickle.HIGHEST_PROTOCOL)
        stdout.flush()
    pickle.dump(None, stdout)
    stdout.flush()


if __name__ == "__main__":
    _child(sys.stdin.buffer, sys.stdout.buffer)
