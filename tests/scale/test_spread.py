"""Work spread over threads of this process."""

import threading

import pytest

from app.exceptions import BadInputError
from app.settings import load_settings
from app.spread import LocalSpread, spread_of
from tests.scale.pieces import square


def test_every_item_comes_back_with_its_result() -> None:
    spread = LocalSpread(3)
    found = dict(spread.each(square, range(20), spread.share(1)))
    spread.close()
    assert found == {n: n * n + 1 for n in range(20)}


def test_a_piece_that_fails_says_so_with_its_own_error() -> None:
    spread = LocalSpread(1)
    with pytest.raises(BadInputError, match="-1 is negative"):
        list(spread.each(square, [1, -1], 0))
    spread.close()


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


def test_without_an_address_work_stays_here() -> None:
    spread = spread_of(load_settings({"HOME": "/x"}), 4)
    assert isinstance(spread, LocalSpread)
    assert spread.slots == 4
    spread.close()
