"""Threads for what computes: a few at once, first come first served, and a bounded wait.

Forty threads that all compute share one interpreter, and the event loop, which could answer what
is at hand, waits for its turn among them. So those who compute are few, whoever waits is served in
order, and one who would wait too long is told at once to come again.
"""

import asyncio
import os
from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, WouldBlock
from anyio.to_thread import run_sync

from app.exceptions import UnavailableError

Result = TypeVar("Result")
PATIENCE = 10.0
"""Seconds that somebody waits for a turn at most."""


class Turns:
    """A few threads, with a bounded queue before them."""

    def __init__(self, what: str, at_once: int, most_waiting: int) -> None:
        """Make the queue.

        Args:
            what: what is done, for the sentence of one who cannot wait.
            at_once: threads.
            most_waiting: callers before them.
        """
        self._what = what
        self._turns = CapacityLimiter(at_once)
        self._threads = CapacityLimiter(at_once)
        self._most = most_waiting
        self.waiting = 0

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Call a function in a thread, when it is its turn.

        Raises:
            UnavailableError: too many wait already, or it took too long until its turn came.
        """
        me = object()
        try:
            self._turns.acquire_on_behalf_of_nowait(me)
        except WouldBlock:
            await self._queue(me)
        try:
            return await run_sync(function, *arguments, limiter=self._threads)
        finally:
            self._turns.release_on_behalf_of(me)

    async def _queue(self, me: object) -> None:
        if self.waiting >= self._most:
            raise UnavailableError(self._too_much())
        self.waiting += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await self._turns.acquire_on_behalf_of(me)
        except TimeoutError:
            raise UnavailableError(self._too_much()) from None
        finally:
            self.waiting -= 1

    def _too_much(self) -> str:
        return f"The site has more {self._what} than it can do; try again in a few seconds."


def pages() -> Turns:
    """For what is read from the catalog."""
    return Turns("pages to make", max(2, os.cpu_count() or 1), 256)


def logs() -> Turns:
    """For pasted texts, of which one can take long: pages must not wait behind them."""
    return Turns("logs to read", max(2, (os.cpu_count() or 1) // 2), 64)
