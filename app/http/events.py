"""The events of a run as a stream: lines of its file, its place in the line, then its record."""

import asyncio
import json
from collections.abc import AsyncGenerator

from fastapi.concurrency import run_in_threadpool

from app.db import session
from app.exceptions import BusyError
from app.services.records import RunNow
from app.services.run_events import events_path
from app.services.run_line import said_place
from app.services.run_records import run_now
from app.settings import Settings

_TICK = 0.1
_BEAT = 150
"""Ticks between signs of life on a quiet stream."""
MOST_STREAMS = 64


class Streams:
    """How many streams one process has open; each asks the database several times a second."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self.open = 0

    def check(self) -> None:
        """Let one more begin.

        Raises:
            BusyError: too many are open.
        """
        if self.open >= self._most:
            raise BusyError(
                f"{self.open} streams are open already; ask for the run itself instead."
            )

    async def counted(self, events: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        """The same events, counted as one stream until their end or until nobody listens."""
        self.open += 1
        try:
            async for event in events:
                yield event
        finally:
            self.open -= 1
            await events.aclose()


async def run_events(settings: Settings, run_id: str, after: int) -> AsyncGenerator[str, None]:
    """Server-sent events of a run, from the line after `after`, until it is done.

    Args:
        settings: where the events lie.
        run_id: which run.
        after: number of the last line that the reader has already.
    """
    number, position, quiet = 0, 0, 0
    place: int | None = None
    path = events_path(settings, run_id)
    while True:
        lines, position = await run_in_threadpool(_read, str(path), position)
        for line in lines:
            number += 1
            if number > after and line.get("event") != "done":
                yield _event(str(line.get("event")), line, number)
        record = await run_in_threadpool(_record, settings, run_id) if not lines else None
        if record is not None and record.place != place:
            place = record.place
            if place is not None:
                said = {"event": "queued", "text": said_place(place), "data": {"place": place}}
                yield _event("queued", said)
        if record is not None and record.state == "done":
            yield _event("done", json.loads(record.model_dump_json(by_alias=True)), number + 1)
            return
        quiet = 0 if lines else quiet + 1
        if quiet and quiet % _BEAT == 0:
            yield ": still there\n\n"
        await asyncio.sleep(_TICK)


def _event(name: str, data: object, number: int | None = None) -> str:
    """One event; without a number it is no line of the file, and is not counted by the reader."""
    line = "" if number is None else f"id: {number}\n"
    return f"{line}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _read(path: str, position: int) -> tuple[list[dict[str, object]], int]:
    """Whole lines behind a position, and the position behind them."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # a position is needed
            file.seek(position)
            raw = file.read()
    except OSError:
        return [], position
    whole = raw[: raw.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()], position + len(whole)


def _record(settings: Settings, run_id: str) -> RunNow:
    with session(settings) as db:
        return run_now(db, run_id, settings)
