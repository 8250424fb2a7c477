"""Where search indexes are kept: one folder a state of the catalog, swapped in whole.

A folder is named for the catalog's version and appears by one rename, so that it is either complete
or absent; several processes may do this at once, and the last one's work is thrown away. Older
folders go once nobody has made a newer one for a while. If the cache cannot be written, the index
is kept in memory: searching goes on.
"""

import logging
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from sqlmodel import Session

from app.db import read_meta
from app.search.documents import read_documents
from app.search.filters import Filters
from app.search.index import FORMAT, Found, SearchIndex
from app.settings import Settings, load_settings

log = logging.getLogger(__name__)

_PREFIX: Final = "search-"
_BUILDING: Final = "building-"
_KEPT_SECONDS: Final = 3600
_lock = threading.Lock()
_open: dict[Path, SearchIndex] = {}


def search(
    db: Session,
    text: str,
    filters: Filters | None = None,
    *,
    limit: int = 20,
    offset: int = 0,
    settings: Settings | None = None,
) -> Found:
    """Find entries in the catalog as it is now; see `SearchIndex.search`."""
    index = refresh(db, settings)
    return index.search(text, filters, limit=limit, offset=offset)


def catalog_version(db: Session) -> str:
    """A word that is another one after every change of the catalog."""
    return read_meta(db, "catalog") or read_meta(db, "dataset") or "empty"


def refresh(db: Session, settings: Settings | None = None) -> SearchIndex:
    """The index of the catalog as it is now, made if it is not there yet."""
    folder = _folder(db, settings or load_settings())
    with _lock:
        index = _open.get(folder)
        if index is None:
            index = _load(folder) or _make(db, folder)
            _open.clear()  # one state of the catalog is asked at a time
            _open[folder] = index
        return index


def is_made(db: Session, settings: Settings) -> bool:
    """Whether the index of the catalog as it is now is at hand."""
    folder = _folder(db, settings)
    return folder in _open or folder.is_dir()


def older(settings: Settings) -> SearchIndex | None:
    """The newest index of an older state of the catalog; None if there is none."""
    with _lock:
        for folder, known in _open.items():
            if folder.parent == settings.index_dir:
                return known
        made = sorted(
            settings.index_dir.glob(f"{_PREFIX}{FORMAT}-*"), key=lambda p: -p.stat().st_mtime
        )
        for folder in made:
            index = _load(folder)
            if index is not None:
                _open[folder] = index
                return index
        return None


def _folder(db: Session, settings: Settings) -> Path:
    name = "".join(c if c.isalnum() else "_" for c in catalog_version(db))
    return settings.index_dir / f"{_PREFIX}{FORMAT}-{name}"


def _load(folder: Path) -> SearchIndex | None:
    """The index of a folder, None if there is none that can be used."""
    if not folder.is_dir():
        return None
    try:
        return SearchIndex.open(folder)
    except (OSError, ValueError) as e:
        log.warning("The search index %s is damaged (%s); making it anew.", folder, e)
        shutil.rmtree(folder, ignore_errors=True)
        return None


def _make(db: Session, folder: Path) -> SearchIndex:
    documents = read_documents(db)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=folder.parent))
    except OSError as e:
        log.warning("The search index cannot be kept in %s (%s).", folder.parent, e)
        return SearchIndex.build(documents)
    try:
        SearchIndex.build(documents, building)
        building.replace(folder)
    except OSError:
        pass  # another process was first, or the disk is full
    except ValueError as e:  # tantivy's word for what the disk would not take
        log.warning("The search index cannot be kept in %s (%s).", folder.parent, e)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    _prune(folder)
    return _load(folder) or SearchIndex.build(documents)


def _prune(newest: Path) -> None:
    """Remove folders of older states, and what a killed process left behind."""
    for old in newest.parent.iterdir():
        if old == newest or not old.name.startswith((_PREFIX, _BUILDING)):
            continue
        try:
            if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
                if old.is_dir():
                    shutil.rmtree(old, ignore_errors=True)
                else:
                    old.unlink()
        except OSError:
            continue  # gone already
