"""How often may one client ask for what costs much: some at once, then so many a minute.

A client is an address (`app.http.peers.client_of`); the machine itself is not counted. Kept pages
cost nothing and are not counted either: they are answered before this is asked. What is counted
here is what one worker answers, so N workers allow up to N times as much. That the machine as a
whole is not asked too much is the work of `app.http.turns`; this keeps one from taking all turns.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.types import Scope

from app.exceptions import TooOftenError

MOST_CLIENTS = 20_000
"""Clients that are remembered; beyond them the one that asked longest ago is forgotten."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of one kind a client may ask for."""

    what: str
    """Completes "too many ..."."""
    a_minute: int
    at_once: int


RUNS = Allowance("runs", 12, 6)
CHECKS = Allowance("launch lines to check", 20, 6)
LOGS = Allowance("logs to read", 60, 20)
SEARCHES = Allowance("searches", 120, 40)
SUGGESTIONS = Allowance("suggestions", 600, 60)
TOOLS = Allowance("questions to the tools", 120, 40)
STREAMS = Allowance("runs to follow", 60, 20)
_POSTS = {
    "/diagnose": LOGS, "/api/diagnose": LOGS, "/preflight": CHECKS, "/api/preflight": CHECKS,
    "/ask": SEARCHES, "/hits": SUGGESTIONS, "/mcp": TOOLS,
}  # fmt: skip
_LISTS = ("/errors", "/api/errors")


def allowance_of(scope: Scope) -> Allowance | None:
    """What a request is counted as; None if it costs little."""
    path = str(scope["path"])
    if scope["method"] == "POST":
        return RUNS if path.endswith("/runs") else _POSTS.get(path)
    if path in _LISTS:
        return (
            SEARCHES
            if "q" in parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            else None
        )
    return STREAMS if path.startswith("/api/runs/") and path.endswith("/events") else None


class Rates:
    """Who asked for what, as far as that still matters."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._paid_until: OrderedDict[tuple[str, str], float] = OrderedDict()

    def check(self, client: str, allowed: Allowance) -> None:
        """Count a request.

        Raises:
            TooOftenError: the client has to wait; says how long. The request is not counted.
        """
        now = self._clock()
        each = 60 / allowed.a_minute
        key = client, allowed.what
        paid = max(self._paid_until.get(key, now), now)
        wait = paid - now - (allowed.at_once - 1) * each
        if wait > 0:
            seconds = math.ceil(wait)
            raise TooOftenError(
                f"Too many {allowed.what} from one address: {allowed.at_once} at once and "
                f"{allowed.a_minute} a minute are allowed. Try again in {seconds} s.",
                retry_after=seconds,
            )
        self._paid_until[key] = paid + each
        self._paid_until.move_to_end(key)
        while len(self._paid_until) > MOST_CLIENTS:
            self._paid_until.popitem(last=False)
