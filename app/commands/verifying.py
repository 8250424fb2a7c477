"""One error's runs as a piece of work, done by a thread here or by a node of a cluster."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from app.commands.running import Target, find_targets, run_target, say, subjects_of
from app.models import Run
from app.runs.sandbox import from_command_line
from app.settings import Settings, load_settings


@dataclass(frozen=True, slots=True)
class Piece:
    """An error, and what it is run on."""

    target: Target
    subjects: tuple[str, ...]
    device: str
    seconds: float | None = None
    """What a run may take; the usual limit if None."""


@dataclass(frozen=True, slots=True)
class Here:
    """What a piece done in this process is told; one on another node has none of it."""

    cancel: threading.Event
    on_run: Callable[[Piece, Run], None]


def pieces_of(
    keys: Sequence[str],
    on: Sequence[str],
    device: str,
    seconds: float | None,
    settings: Settings,
) -> list[Piece]:
    """What is run on what.

    "All errors" on a subject are those that have it; who names an error is told that it does not.
    """
    targets = find_targets(keys, settings)
    pieces: list[Piece] = []
    for target in targets:
        subjects = subjects_of(target, on, settings)
        if on and not keys:
            subjects = [s for s in subjects if target.declares(s)]
        if subjects:
            pieces.append(Piece(target, tuple(subjects), device, seconds))
    if left := len(targets) - len(pieces):
        say(f"{left} of {len(targets)} reproducers do not declare {' or '.join(on)}")
    return pieces


def executed(piece: Piece, here: Here | None) -> list[dict[str, Any]]:
    """Run an error's steps on its subjects; the runs as plain values.

    Wheels come from the cache of the machine that this happens on, or are fetched there.
    """
    from_command_line()
    cancel = here.cancel if here else None
    runs = []
    settings = load_settings()
    for run in run_target(
        piece.target,
        piece.subjects,
        "both",
        piece.device,
        settings,
        cancel=cancel,
        seconds=piece.seconds,
    ):
        if cancel is not None and cancel.is_set():
            return []
        runs.append(run.model_dump())
        if here is not None:
            here.on_run(piece, run)
    return runs
