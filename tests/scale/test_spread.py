"""Work spread over threads and over processes of this machine."""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.exceptions import BadInputError, UnavailableError
from app.settings import load_settings
from app.spread import TRIES, LocalSpread, ProcessSpread, Spread, spread_of
from tests.scale.pieces import die, die_once, not_portable, square


@pytest.fixture(params=[LocalSpread, ProcessSpread])
def spread(request: pytest.FixtureRequest) -> Iterator[Spread]:
    """Two at once, in both ways."""
    made: Spread = request.param(2)
    yield made
    made.close()


def test_every_item_comes_back_with_its_result(spread: Spread) -> None:
    found = dict(spread.each(square, range(20), spread.share(1)))
    assert found == {n: n * n + 1 for n in range(20)}


def test_a_piece_that_fails_says_so_with_its_own_error(spread: Spread) -> None:
    with pytest.raises(BadInputError, match="-1 is negative"):
        list(spread.each(square, [1, -1], 0))


def test_items_are_made_as_there_is_room(spread: Spread) -> None:
    """A thousand archives are not all read before the first is looked at."""
    made = itertools.count()
    found = spread.each(square, (next(made) for _ in range(1000)), 0)
    next(found)
    found.close()
    assert next(made) < 100


def test_an_item_that_cannot_be_made_ends_it(spread: Spread) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise BadInputError("There is no such log.")

    with pytest.raises(BadInputError, match="no such log"):
        list(spread.each(square, items(), 0))


def test_closing_drops_what_waits() -> None:
    begun: list[int] = []
    free = threading.Event()

    def piece(item: int, _shared: None) -> int:
        begun.append(item)
        if item:
            free.wait(10)
        return item

    spread = LocalSpread(1)
    found = spread.each(piece, range(5))
    assert next(found) == (0, 0)
    found.close()
    free.set()
    spread.close()
    assert len(begun) <= 2


def test_what_a_dead_process_was_at_is_done_by_another_one(tmp_path: Path) -> None:
    spread = ProcessSpread(2)
    items = [f"piece-{n}" for n in range(6)]
    found = list(spread.each(die_once, items, str(tmp_path)))
    assert sorted(item for item, _ in found) == items, "each once"
    assert all(pids == 2 for _, pids in found), "each was begun anew by another process"


def test_what_kills_every_process_is_told() -> None:
    spread = ProcessSpread(1)
    with pytest.raises(UnavailableError, match=f"died {TRIES + 1} times"):
        list(spread.each(die, [1]))


def test_an_error_that_cannot_travel_is_told_all_the_same() -> None:
    with pytest.raises(UnavailableError, match="TwoWordsError: one, two"):
        list(ProcessSpread(1).each(not_portable, [1]))


def test_without_an_address_work_stays_here() -> None:
    settings = load_settings({"HOME": "/x"})
    threads, processes = spread_of(settings, 4), spread_of(settings, 3, processes=True)
    assert isinstance(threads, LocalSpread)
    assert isinstance(processes, ProcessSpread)
    assert (threads.slots, processes.slots) == (4, 3)
    threads.close()


def test_an_item_that_the_system_refuses_is_told_as_it_is() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise PermissionError(13, "Permission denied", "logs/secret")

    made = ProcessSpread(2)
    try:
        with pytest.raises(PermissionError, match="logs/secret"):
            list(made.each(square, items(), 0))
    finally:
        made.close()
