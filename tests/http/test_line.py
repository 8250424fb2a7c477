"""Whoever waits for a run sees where in the line it stands, and sees it move."""

import asyncio
import json
import os
from datetime import timedelta

import psutil
import pytest
from starlette.testclient import TestClient

from app.db import session
from app.exceptions import BusyError
from app.http.events import Streams, run_events
from app.main import create_app
from app.models import Run, utc_now
from app.services.run_events import begin_events, process_start
from app.services.run_line import place_in_line, said_place
from app.settings import Settings
from tests.web.catalogs import ENTRY_ID, SLUG, fill

IDS = ["a" * 16, "b" * 16, "c" * 16, "d" * 16, "e" * 16]


def wait(settings: Settings, pairs: list[list[str]], *, taken: bool = True) -> None:
    """Some runs that wait: each pair is one job."""
    began = utc_now()
    with session(settings) as db:
        for number, ids in enumerate(pairs):
            for run_id in ids:
                other = next((one for one in ids if one != run_id), None)
                db.add(
                    Run(
                        id=run_id, entry_id=ENTRY_ID, slug=SLUG, subject="sglang==1.0",
                        step="fix" if ids.index(run_id) else "trigger", state="queued", pair=other,
                        started_at=began + timedelta(milliseconds=number),
                    )
                )  # fmt: skip
                if taken:
                    begin_events(settings, run_id)


def change(settings: Settings, run_id: str, state: str) -> None:
    with session(settings) as db:
        run = db.get(Run, run_id)
        assert run is not None
        run.state = state
        run.outcome = "raised" if state == "done" else None


def places(settings: Settings, ids: list[str]) -> list[int | None]:
    with session(settings) as db:
        return [place_in_line(db, run, settings) for i in ids if (run := db.get(Run, i))]


def test_runs_that_were_started_together_are_one_job(empty: Settings) -> None:
    wait(empty, [IDS[:2], IDS[2:4], IDS[4:]])
    assert places(empty, IDS) == [1, 1, 2, 2, 3]
    change(empty, IDS[0], "running")
    assert places(empty, IDS) == [None, 0, 1, 1, 2]
    change(empty, IDS[0], "done")
    change(empty, IDS[1], "running")
    assert places(empty, IDS) == [None, None, 1, 1, 2]


def test_each_process_has_a_line_of_its_own(empty: Settings) -> None:
    """What another process took does not stand before what this one took."""
    other = psutil.Process(os.getppid())
    wait(empty, [IDS[:2], IDS[2:4]])
    for run_id in IDS[:2]:
        file = empty.cache_dir / "state" / "runs" / f"{run_id}.jsonl"
        mark = {"pid": other.pid, "started": process_start(other.pid)}
        file.write_text(json.dumps({"event": "queued", "text": "", "data": mark}) + "\n")
    assert places(empty, IDS) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("place", "said"),
    [(None, ""), (0, "follows the run before it"), (1, "1st in line"), (2, "2nd in line"),
     (3, "3rd in line"), (4, "4th in line"), (11, "11th in line"), (12, "12th in line"),
     (21, "21st in line"), (112, "112th in line")],
)  # fmt: skip
def test_a_place_is_said_as_people_say_it(place: int | None, said: str) -> None:
    assert said_place(place) == said


def test_page_record_and_stream_tell_the_place_and_that_it_moved(empty: Settings) -> None:
    fill(empty)
    wait(empty, [IDS[:1], IDS[1:3]])
    app = create_app(empty)
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)) as site:
        assert site.get(f"/api/runs/{IDS[1]}").json()["place"] == 2
        assert "Waiting: 2nd in line." in site.get(f"/runs/{IDS[1]}").text

    async def follow() -> list[tuple[str, str]]:
        said = []
        async for text in run_events(empty, IDS[1], 0):
            lines = dict(line.split(": ", 1) for line in text.strip().splitlines())
            data = json.loads(lines["data"])
            said.append((lines["event"], data.get("text", data.get("state"))))
            if said[-1][1] == "2nd in line":
                assert "id" not in lines, "it is no line of the file"
                change(empty, IDS[0], "running")
            elif said[-1][1] == "1st in line":
                change(empty, IDS[1], "done")
        return said

    async def in_time() -> list[tuple[str, str]]:
        async with asyncio.timeout(30):
            return await follow()

    assert asyncio.run(in_time()) == [
        ("queued", "waiting for its turn"), ("queued", "2nd in line"), ("queued", "1st in line"),
        ("done", "done"),
    ]  # fmt: skip


def test_no_more_streams_are_open_than_the_site_can_feed(site: TestClient) -> None:
    streams = site.app.state.reprobase.streams  # type: ignore[attr-defined]  # the application
    url = "/api/runs/aaaaaaaaaaaaaaa1/events"
    streams.open += 64
    try:
        told = site.get(url)
        assert (told.status_code, told.headers["retry-after"]) == (429, "5")
    finally:
        streams.open -= 64
    assert site.get(url).status_code == 200
    assert streams.open == 0


def test_a_stream_that_is_left_is_counted_no_more(empty: Settings) -> None:
    wait(empty, [IDS[:1]])

    async def leave() -> int:
        streams = Streams(1)
        events = streams.counted(run_events(empty, IDS[0], 0))
        await anext(events)
        with pytest.raises(BusyError):
            streams.check()
        await events.aclose()
        streams.check()
        return streams.open

    assert asyncio.run(leave()) == 0
