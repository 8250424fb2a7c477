"""The events of a run as a stream: lines of its file, then its record."""

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi.concurrency import run_in_threadpool

from app.db import session
from app.services.records import RunRecord
from app.services.run_events import events_path
from app.services.run_records import find_run
from app.settings import Settings

_TICK = 0.1
_BEAT = 150
"""Ticks between signs of life on a quiet stream."""


async def run_events(settings: Settings, run_id: str, after: int) -> AsyncIterator[str]:
    """Server-sent events of a run, from the line after `after`, until it is done.

    Args:
        settings: where the events lie.
        run_id: which run.
        after: number of the last line that the reader has already.
    """
    number, position, quiet = 0, 0, 0
    path = events_path(settings, run_id)
    while True:
        lines, position = await run_in_threadpool(_read, str(path), position)
        for line in lines:
            number += 1
            if number > after and line.get("event") != "done":
                yield _event(str(line.get("event")), line, number)
        record = await run_in_threadpool(_record, settings, run_id) if not lines else None
        if record is not None and record.state == "done":
            yield _event("done", json.loads(record.model_dump_json(by_alias=True)), number + 1)
            return
        quiet = 0 if lines else quiet + 1
        if quiet and quiet % _BEAT == 0:
            yield ": still there\n\n"
        await asyncio.sleep(_TICK)


def _event(name: str, data: object, number: int) -> str:
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


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


def _record(settings: Settings, run_id: str) -> RunRecord:
    with session(settings) as db:
        return RunRecord.model_validate(find_run(db, run_id))
