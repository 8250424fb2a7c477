"""The curated failure classes, as their files say them."""

from functools import lru_cache
from pathlib import Path

from app.knowledge.family_file import FamilyFile, read_family_files
from app.settings import DATA_DIR

FOLDER = DATA_DIR / "families"


def families(folder: Path = FOLDER) -> dict[str, FamilyFile]:
    """The curated failure classes by tag, read again when a file changes."""
    stamp = max((p.stat().st_mtime_ns for p in folder.glob("*.md")), default=0)
    return _read(folder, stamp)


@lru_cache(maxsize=4)
def _read(folder: Path, _stamp: int) -> dict[str, FamilyFile]:
    return read_family_files(folder)
