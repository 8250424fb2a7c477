"""The catalog for a command: up to date with the curated files, whatever ran before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlmodel import Session

    from app.settings import Settings


@contextmanager
def catalog(settings: "Settings") -> "Iterator[Session]":
    """A session on a catalog that is up to date with `data/`.

    Raises:
        BadFileError: a curated file breaks its format.
        UnavailableError: the database cannot be used.
    """
    from app.db import session
    from app.loading.curated import load_curated
    from app.loading.evidence import load_evidence
    from app.services.found import load_found

    with session(settings) as db:
        load_curated(db)
        load_evidence(db)
        load_found(db, settings)
    with session(settings) as db:
        yield db
