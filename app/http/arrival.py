"""A body must arrive, at some speed, and all bodies together must fit.

So nobody holds a request open with drops, and many who send much at once do not fill the memory.
How long the head of a request may take is the work of `app.http.protocol`; how large one body may
be is said by each route (`app.http.bodies`, `app.http.forms`).
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive

from app.exceptions import TooSlowError, UnavailableError

GRACE = 20.0
"""Seconds that every body has."""
SLOWEST = 32 << 10
"""Bytes a second beyond that."""
MOST_HELD = 512 << 20
"""Bytes of bodies that one process holds at a time."""
_SMALL = 1 << 20
"""Bytes of a body that always fits."""
Take = Callable[[int], None]
"""Told how many bytes more arrived."""


class Bodies:
    """What one process holds of the bodies of the requests that it is answering."""

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most = most
        self.held = 0

    @contextmanager
    def one(self) -> Iterator[Take]:
        """Count the body of one request until its end.

        Raises:
            UnavailableError: (what is yielded, when it is called) there is no room for more.
        """
        mine = 0

        def take(arrived: int) -> None:
            nonlocal mine
            mine += arrived
            self.held += arrived
            if self.held > self._most and mine > _SMALL:
                raise UnavailableError(
                    "The site is being sent more than it can hold; try again in a few seconds."
                )

        try:
            yield take
        finally:
            self.held -= mine


def in_time(receive: Receive, take: Take = lambda _: None) -> Receive:
    """Receive the messages of a request whose body comes in time.

    Args:
        receive: gives the messages.
        take: told what arrived.

    Raises:
        TooSlowError: (what is returned, when it is called) the body took too long.
    """
    began = time.monotonic()
    arrived, whole = 0, False

    async def receive_in_time() -> Message:
        nonlocal arrived, whole
        if whole:
            return await receive()
        left = began + GRACE + arrived / SLOWEST - time.monotonic()
        try:
            async with asyncio.timeout(left):
                message = await receive()
        except TimeoutError:
            raise TooSlowError(
                f"The body did not arrive in time: {arrived:,} bytes in "
                f"{time.monotonic() - began:.0f} s. Send it again over a faster connection."
            ) from None
        more = len(message.get("body", b""))
        arrived += more
        take(more)
        whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receive_in_time
