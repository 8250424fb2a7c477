"""What the application keeps between requests, in one typed place."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from app.http.answers import Answers
from app.http.events import Streams
from app.http.metrics import Counters
from app.http.turns import Turns
from app.services.preflight_warm import WarmPool
from app.services.run_worker import RunWorker
from app.settings import Settings


@dataclass(frozen=True, slots=True)
class State:
    """What one application holds: settings, answers, counters, runs, loaded releases, queues."""

    settings: Settings
    answers: Answers
    counters: Counters
    runs: RunWorker
    preflight: WarmPool
    pages: Turns
    logs: Turns
    streams: Streams


def state_of(request: Request) -> State:
    """The state of the application that serves a request."""
    return cast("State", request.app.state.reprobase)
