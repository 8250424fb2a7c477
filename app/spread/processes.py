"""Pieces done by child processes of this one: for pieces that compute.

Each child is a fresh interpreter started by its module name (`python -m app.spread.child`), so
it works under threads, servers and every platform. It is given the function and what is shared
once, then one item at a time. A child that dies is replaced, and its item is begun anew.
"""

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from app.exceptions import UnavailableError
from app.settings import PROJECT_ROOT
from app.spread.interface import TRIES, Item, Result

_NO_MORE: Final = object()
_LOST: Final = (EOFError, OSError, pickle.UnpicklingError)
"""What the pipe of a child says that is gone."""


class ProcessSpread:
    """Children of this process; see `app.spread.interface.Spread`."""

    here: Final = True

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or os.cpu_count() or 1
        self._works: list[_Work] = []

    @property
    def slots(self) -> int:
        """One a processor, if not said otherwise."""
        return self._slots

    def share(self, value: Any) -> Any:
        """The value itself; it goes to each child once."""
        return value

    def each(
        self,
        function: Callable[[Item, Any], Result],
        items: Iterable[Item],
        shared: Any = None,
        *,
        gpus: int = 0,  # noqa: ARG002  # this machine has them or not: the piece will tell
    ) -> Iterator[tuple[Item, Result]]:
        """See `Spread.each`."""
        work = _Work(function, shared, iter(items))
        self._works.append(work)
        threads = [threading.Thread(target=work.go_on, daemon=True) for _ in range(self._slots)]
        try:
            for thread in threads:
                thread.start()
            running = len(threads)
            while running:
                told = work.told.get()
                if told is None:
                    running -= 1
                elif isinstance(told, BaseException):
                    raise told
                else:
                    yield told
        finally:
            work.stop()
            self._works.remove(work)

    def close(self) -> None:
        """End all children."""
        for work in self._works:
            work.stop()


@dataclass(slots=True, eq=False)
class _Work:
    """One call of `each`: items out, answers in."""

    function: Callable[[Any, Any], Any]
    shared: Any
    items: Iterator[Any]
    told: "queue.SimpleQueue[Any]" = field(default_factory=queue.SimpleQueue)
    stopped: bool = False
    _children: set["subprocess.Popen[bytes]"] = field(default_factory=set)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _asking: threading.Lock = field(default_factory=threading.Lock)

    def go_on(self) -> None:
        """Take items and have them done by a child of one's own, until there is none left."""
        child = None
        try:
            while True:
                with self._asking:  # making an item may take long: children are started meanwhile
                    item = self._next()
                if item is _NO_MORE:
                    break
                answer = item
                if not isinstance(item, BaseException):
                    child, answer = self._answered(child, item)
                if isinstance(answer, BaseException):
                    self.told.put(answer)
                    break
                self.told.put((item, answer[0]))
        except _LOST:
            said = f"A process died {TRIES + 1} times over the same work."
            self.told.put(UnavailableError(said))
        except BaseException as e:  # noqa: BLE001  # whoever waits for answers raises it
            self.told.put(e)
        finally:
            if child is not None:
                self._end(child)
            self.told.put(None)

    def _answered(
        self, child: "subprocess.Popen[bytes] | None", item: Any
    ) -> tuple["subprocess.Popen[bytes]", Any]:
        """The child that lived to answer, and its answer; a dead one is replaced some times."""
        left = TRIES
        while True:
            try:
                child = child or self._start()
                return child, _asked(child, item)
            except BaseException as e:
                if child is not None:
                    self._end(child)
                    child = None
                if not isinstance(e, _LOST) or self.stopped or not left:
                    raise
                left -= 1

    def _next(self) -> Any:
        """The next item, `_NO_MORE`, or the error that making it met: no child is at fault."""
        try:
            return _NO_MORE if self.stopped else next(self.items, _NO_MORE)
        except Exception as e:  # noqa: BLE001  # whoever waits for answers raises it
            return e

    def stop(self) -> None:
        """End the children, finished or not."""
        self.stopped = True
        with self._turn:
            for child in self._children:
                child.kill()

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._turn:
            if self.stopped:
                raise EOFError
            try:
                child = subprocess.Popen(
                    [sys.executable, "-P", "-m", "app.spread.child"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)},
                )
            except OSError as e:
                raise UnavailableError(f"No process can be started ({e}).") from e
            self._children.add(child)
        assert child.stdin is not None
        try:
            pickle.dump((self.function, self.shared), child.stdin, pickle.HIGHEST_PROTOCOL)
        except BaseException:
            self._end(child)
            raise
        return child

    def _end(self, child: "subprocess.Popen[bytes]") -> None:
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        child.kill()
        child.wait()
        with self._turn:
            self._children.discard(child)


def _asked(child: "subprocess.Popen[bytes]", item: Any) -> Any:
    """What a child answers: its result in a tuple, or the error that it met."""
    assert child.stdin is not None
    assert child.stdout is not None
    pickle.dump(item, child.stdin, pickle.HIGHEST_PROTOCOL)
    child.stdin.flush()
    return pickle.load(child.stdout)  # noqa: S301  # our own child
