"""Pieces of work that tell where they were done; nodes import them by name."""

import os
import time
from pathlib import Path
from typing import Any

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
