"""The list of scanned releases, kept beside the wheels so that it survives the database.

`<cache>/scanned.json` says for each database, by a hash of its URL, which releases were scanned
into it and from which wheel file. The catalog is a cache: with this list `reprobase load` brings
it back when the database is lost. The list is brought up to date by every scan, removal and load,
so a catalog that was made before there was a list is on it after the next one of these.
"""

import hashlib
import json
import logging
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from app.models import Release
from app.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A release that was scanned into a database."""

    package: str
    version: str
    path: str
    """The wheel file it was read from; empty where only the cache can have it."""

    @property
    def name(self) -> str:
        """`package==version`."""
        return f"{self.package}=={self.version}"


def remembered(settings: Settings) -> list[Remembered]:
    """The releases that were scanned into the settings' database, in the order of the list."""
    rows = _read(_path(settings)).get(_key(settings), [])
    found = []
    for row in rows if isinstance(rows, list) else []:
        try:
            found.append(Remembered(str(row["package"]), str(row["version"]), str(row["path"])))
        except (KeyError, TypeError):
            continue  # written by a version that kept something else
    return found


def missing(db: Session, settings: Settings) -> list[Remembered]:
    """The releases on the list that the catalog does not hold."""
    there = set(db.exec(select(Release.package, Release.version)))
    return [r for r in remembered(settings) if (r.package, r.version) not in there]


def remember(settings: Settings, package: str, version: str, path: Path) -> None:
    """A release was scanned from a wheel file."""
    rows = [r for r in remembered(settings) if (r.package, r.version) != (package, version)]
    _write(settings, [*rows, Remembered(package, version, str(path.absolute()))])


def forget(settings: Settings, package: str, version: str) -> None:
    """A release was taken out of the catalog by its user."""
    rows = remembered(settings)
    left = [r for r in rows if (r.package, r.version) != (package, version)]
    if left != rows:
        _write(settings, left)


def remember_catalog(db: Session, settings: Settings) -> None:
    """Put releases of the catalog on the list that are not there yet."""
    rows = remembered(settings)
    known = {(r.package, r.version) for r in rows}
    wanted = select(Release).order_by(Release.package, col(Release.ordinal))
    new = [
        Remembered(r.package, r.version, str(settings.wheels_dir / r.package / r.wheel))
        for r in db.exec(wanted)
        if (r.package, r.version) not in known
    ]
    if new:
        _write(settings, rows + new)


def _path(settings: Settings) -> Path:
    return settings.cache_dir / "scanned.json"


def _key(settings: Settings) -> str:
    return hashlib.sha256(settings.database_url.encode()).hexdigest()[:16]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as e:
        log.warning("The list of scanned releases %s cannot be read: %s", path, e)
        return {}
    return found if isinstance(found, dict) else {}


def _write(settings: Settings, rows: list[Remembered]) -> None:
    path = _path(settings)
    document = {**_read(path), _key(settings): [asdict(row) for row in rows]}
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as e:
        log.warning("The list of scanned releases cannot be kept in %s: %s", path, e)
