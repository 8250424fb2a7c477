"""Reads a wheel's files on the nodes of a cluster; `app.scanner.pool` does it on this machine.

The wheel travels: its bytes are put into the cluster's store once, and no node needs the file.
"""

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from app.scanner.family_memory import FamilyMemory
from app.scanner.finish import set_families
from app.scanner.library import Library
from app.scanner.pool import deal
from app.scanner.reading import Answer, Part, read_part
from app.spread import Spread

if TYPE_CHECKING:
    from app.wheels import Wheel  # reading wheels' metadata is not a node's work

_SHARES_A_SLOT = 3
"""Small enough shares that a lost node costs little, and that the last ones end together."""
_MOST_SHARES = 64


class SpreadReading:
    """Files of a wheel being read; see `app.scanner.pool.Reading`."""

    def __init__(self, wheel: "Wheel", whole: Part, spread: Spread) -> None:
        """Begin to read.

        Args:
            wheel: where the files are.
            whole: which files.
            spread: who reads them.
        """
        sizes = {name: wheel.size(name) for name in (*whole.python, *whole.native)}
        self._total = sum(sizes.values())
        parts = deal(whole, sizes, min(_MOST_SHARES, spread.slots * _SHARES_A_SLOT))
        shared = spread.share((wheel.path.read_bytes(), whole.python))
        self._answers = spread.each(read_share, parts, shared)

    def answers(self, on_progress: Callable[[int, int], None] | None = None) -> Iterator[Answer]:
        """What was read, in any order.

        Raises:
            UnavailableError: a node was lost too often.
        """
        done = 0
        for _, found in self._answers:
            for answer in found:
                done += answer.bytes_read
                if on_progress:
                    on_progress(min(done, self._total), self._total)
                yield answer

    def stop(self) -> None:
        """End what is going on."""
        close = getattr(self._answers, "close", None)
        if close is not None:
            close()


def read_share(part: Part, shared: tuple[bytes, list[str]]) -> list[Answer]:
    """Read one share of a wheel that came as bytes, with the names of all its Python files.

    Families are a third of the work, and whoever asked would do it alone: they are worked out here.
    """
    raw, names = shared
    memory = FamilyMemory()
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        library = Library(names, archive.read)
        answers = list(read_part(part, library, archive.read))
    for answer in answers:
        set_families(answer.sites, memory)
        answer.has_families = True
    return answers
