"""Diagnoses many logs: a process each on this machine, or the nodes of a cluster."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from app.diagnosis.many import Answer, Question, pieces, read_piece
from app.diagnosis.together import Together, together
from app.settings import Settings
from app.spread import Spread, spread_of

Progress = Callable[[int, str], None]
"""Called with (logs done, name of the last one)."""


def diagnose_many(
    paths: Sequence[Path],
    index: Path | bytes,
    settings: Settings,
    *,
    command: str | None = None,
    release: str | None = None,
    jobs: int | None = None,
    on_progress: Progress | None = None,
) -> Together:
    """Say what went wrong in each log of files, folders and archives, and in all of them.

    Args:
        paths: what was given.
        index: the compiled index of the catalog.
        settings: whether a cluster reads them.
        command: the launch line, if known, of all of them.
        release: `sglang==0.5.20`, if known, of all of them.
        jobs: processes on this machine; one a processor if None.
        on_progress: told how far it is.

    Raises:
        UnavailableError: there is no cluster at the settings' address, or a node was lost too
            often.
    """
    spread = spread_of(settings, jobs, processes=True)
    try:
        return answers_of(
            paths, index, spread, command=command, release=release, on_progress=on_progress
        )
    finally:
        spread.close()


def answers_of(
    paths: Sequence[Path],
    index: Path | bytes,
    spread: Spread,
    *,
    command: str | None = None,
    release: str | None = None,
    on_progress: Progress | None = None,
) -> Together:
    """See `diagnose_many`; who reads is given."""
    answers: dict[str, Answer] = {}

    def answered(name: str, answer: Answer) -> None:
        answers[name] = answer
        if on_progress:
            on_progress(len(answers), name)

    question = Question(index, _digest(index), command, release)
    todo = pieces(paths, question, here=spread.here, answered=answered)
    asked = question
    if isinstance(index, Path) and not spread.here:
        asked = replace(question, index=index.read_bytes())
    for _, found in spread.each(read_piece, todo, spread.share(asked)):
        for name, answer in found:
            answered(name, answer)
    return together(dict(sorted(answers.items())))


def _digest(index: Path | bytes) -> str:
    """Of the index's bytes: a node may be asked by several catalogs."""
    raw = index.read_bytes() if isinstance(index, Path) else index
    return hashlib.sha256(raw).hexdigest()
