"""What whoever does work in pieces can do, wherever that is."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
TRIES = 3
"""How often a piece is begun anew when the node or the process is lost that was at it."""


class Spread(Protocol):
    """Where pieces of work are done."""

    @property
    def slots(self) -> int:
        """How many pieces can go on at once."""

    @property
    def here(self) -> bool:
        """Whether pieces are done on this machine: then they can open its files."""

    def share(self, value: Any) -> Any:
        """Something large that many pieces need; give what this gives as `shared`."""

    def each(
        self,
        function: Callable[[Item, Any], Result],
        items: Iterable[Item],
        shared: Any = None,
        *,
        gpus: int = 0,
    ) -> Iterator[tuple[Item, Result]]:
        """Do all pieces; give each item with its result once, as they are done.

        Items are asked for as there is room, so that they may be made meanwhile. Closing the
        iterator ends what is going on.

        Args:
            function: what is done with an item and with what is shared.
            items: the pieces.
            shared: what `share` gave, or something small.
            gpus: GPUs that a piece needs; it waits for a node that has them.

        Raises:
            UnavailableError: a node was lost again and again, or none has so many GPUs.
        """

    def close(self) -> None:
        """End everything."""
