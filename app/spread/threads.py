"""Pieces done by threads of this process: for pieces that start processes of their own."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Final

from app.spread.interface import Item, Result

_AHEAD: Final = 2
"""Pieces a thread that are made before one is free."""


class LocalSpread:
    """Threads of this process; see `app.spread.interface.Spread`."""

    here: Final = True

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._slots, thread_name_prefix="spread")

    @property
    def slots(self) -> int:
        """One a processor, if not said otherwise."""
        return self._slots

    def share(self, value: Any) -> Any:
        """The value itself."""
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
        waiting: dict[Future[Result], Item] = {}
        todo = iter(items)
        try:
            while True:
                for item in itertools.islice(todo, self._slots * _AHEAD - len(waiting)):
                    waiting[self._pool.submit(function, item, shared)] = item
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Drop what waits; what goes on is its own to end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
