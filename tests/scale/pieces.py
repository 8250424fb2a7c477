"""Pieces of work that tell where they were done; nodes import them by name."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from app.commands.verifying import Piece, executed
from app.exceptions import BadInputError


def where(item: int, shared: Any) -> tuple[int, str]:
    """Square a number, slowly; say on which node that was."""
    import ray  # noqa: PLC0415  # only a node has it

    time.sleep(float(shared or 0))
    return item * item, str(ray.get_runtime_context().get_node_id())


def square(item: int, shared: int) -> int:
    """Add what is shared to a square."""
    if item < 0:
        raise BadInputError(f"{item} is negative.")
    return item * item + shared


def note(item: str, folder: str) -> str:
    """Leave a mark that it was begun, wait, and give the node that did it."""
    import ray  # noqa: PLC0415  # only a node has it

    node = str(ray.get_runtime_context().get_node_id())
    with (Path(folder) / item).open("a") as file:
        file.write(f"{node} {os.getpid()}\n")
    time.sleep(3)
    return node


def executed_where(piece: Piece, _here: None) -> tuple[str, list[dict[str, Any]]]:
    """Run an error's steps; say on which node that was."""
    import ray  # noqa: PLC0415  # only a node has it

    return str(ray.get_runtime_context().get_node_id()), executed(piece, None)


def die(_item: int, _shared: Any) -> None:
    """Be killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(item: str, folder: str) -> int:
    """Be killed the first time; the second time tell how many processes were at it."""
    marks = Path(folder) / item
    with marks.open("a") as file:
        file.write(f"{os.getpid()}\n")
    pids = set(marks.read_text().split())
    if len(pids) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(pids)


class TwoWordsError(Exception):
    """Cannot be made again from its message."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first}, {second}")


def not_portable(_item: int, _shared: Any) -> None:
    """Fail with it."""
    raise TwoWordsError("one", "two")
