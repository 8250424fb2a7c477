"""Those who compute are few, whoever waits is served in order, and too many are told at once."""

import asyncio
import threading
import time

import pytest
from sqlmodel import Session

from app.exceptions import UnavailableError
from app.http import turns
from app.http.answers import HTML, Answers, Rendered, rendered
from app.http.turns import Turns
from app.settings import Settings


def test_no_more_go_on_at_once_than_there_are_turns_and_the_first_is_first() -> None:
    going, most, order = 0, 0, []

    def piece(number: int) -> None:
        nonlocal going, most
        going += 1
        most = max(most, going)
        order.append(number)
        time.sleep(0.02)
        going -= 1

    async def ask() -> None:
        queue = Turns("pieces", 1, 20)
        await asyncio.gather(*(queue.run(piece, number) for number in range(8)))
        assert queue.waiting == 0

    asyncio.run(ask())
    assert (most, order) == (1, list(range(8)))


def test_one_too_many_is_refused_at_once_and_the_others_are_served() -> None:
    free = threading.Event()

    async def ask() -> list[object]:
        queue = Turns("pages to make", 1, 2)
        tasks = [asyncio.create_task(queue.run(free.wait, 10)) for _ in range(4)]
        await asyncio.sleep(0.05)
        began = time.monotonic()
        with pytest.raises(UnavailableError, match="more pages to make than it can do"):
            await queue.run(free.wait, 10)
        assert time.monotonic() - began < 0.5
        free.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(ask())
    assert [one for one in found if one is True] == [True] * 3
    assert [type(one) for one in found if one is not True] == [UnavailableError]


def test_nobody_waits_longer_than_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    free = threading.Event()

    async def ask() -> None:
        queue = Turns("pages to make", 1, 9)
        first = asyncio.create_task(queue.run(free.wait, 10))
        await asyncio.sleep(0.05)
        with pytest.raises(UnavailableError, match="try again"):
            await queue.run(free.wait, 10)
        free.set()
        assert await first
        assert await queue.run(int, 7) == 7, "the turn that was waited for in vain is not lost"

    asyncio.run(ask())


def test_one_who_goes_away_gives_the_turn_back() -> None:
    free = threading.Event()

    async def ask() -> None:
        queue = Turns("pages to make", 1, 9)
        first = asyncio.create_task(queue.run(free.wait, 10))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(queue.run(int, 1))
        await asyncio.sleep(0.05)
        second.cancel()
        free.set()
        await first
        assert (await queue.run(int, 7), queue.waiting) == (7, 0)

    asyncio.run(ask())


def test_many_who_ask_for_one_page_share_its_making(empty: Settings) -> None:
    made = []

    def build(_db: Session) -> Rendered:
        made.append(1)
        time.sleep(0.05)
        return rendered("page", HTML)

    async def ask() -> list[bytes]:
        answers = Answers(empty)
        found = await asyncio.gather(*(answers.get("key", build) for _ in range(30)))
        return [one.body for one in found]

    assert asyncio.run(ask()) == [b"page"] * 30
    assert len(made) == 1


def test_a_page_that_fails_is_told_to_all_who_wait_and_tried_anew(empty: Settings) -> None:
    tried = []

    def build(_db: Session) -> Rendered:
        tried.append(1)
        time.sleep(0.05)
        raise UnavailableError("not now")

    async def ask() -> None:
        answers = Answers(empty)
        for _ in range(2):
            asked = (answers.get("key", build) for _ in range(3))
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert [str(one) for one in found] == ["not now"] * 3

    asyncio.run(ask())
    assert len(tried) == 2
