"""A database of two releases, filled by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session

from app.db import close_engines, session, touch
from app.models import Alias, Change, Entry, Explanation, Release, Site
from app.settings import Settings, load_settings

OLD, NEW = "0.5.22", "0.5.23"


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    yield load_settings(
        {
            "REPROBASE_DATABASE_URL": f"sqlite:///{tmp_path / 'catalog.db'}",
            "REPROBASE_CACHE_DIR": str(tmp_path / "cache"),
        }
    )
    close_engines()


@pytest.fixture
def db(settings: Settings) -> Iterator[Session]:
    with session(settings) as filled:
        fill(filled)
    with session(settings) as open_session:
        yield open_session


def fill(db: Session) -> None:
    """Two releases: an entry that stays and was reworded, one that is new, one that went."""
    for ordinal, version in enumerate((OLD, NEW), 1):
        release = Release(
            id=ordinal, package="sglang", version=version, ordinal=ordinal, sha256="0", wheel="w"
        )
        db.add(release)
    db.flush()
    add(db, "stays", "Unknown speculative phase: {phase}", {1: 110, 2: 113}, slug="unknown-phase")
    add(db, "old-stays", "Unknown phase {phase}", {1: 111}, entry=False)
    add(db, "new", "top_k must be positive, got {top_k}", {2: 130}, family="out-of-range")
    add(db, "gone", "window size must be positive, got {size}", {1: 140}, family="out-of-range")
    add(db, "wordless", "", {2: 115}, guard="topk == 1")
    db.add(Alias(alias="old-stays", entry_id="stays", kind="reworded"))
    db.add(Alias(alias="6d46981c2eb2f8c3", entry_id="stays", kind="published"))
    db.add(Change(release_id=2, entry_id="stays", status="reworded", previous_entry_id="old-stays"))
    db.add(Change(release_id=2, entry_id="new", status="new"))
    db.add(Change(release_id=2, entry_id="gone", status="gone"))
    content = {
        "facts": {"related": ["top_k must be positive, got ..."]},
        "lead": "A misspelt name.",
    }
    db.add(Explanation(slug="unknown-phase", entry_id="stays", content=content))
    touch(db)


def add(
    db: Session,
    entry_id: str,
    template: str,
    lines: dict[int, int],
    *,
    slug: str | None = None,
    family: str | None = "invalid-choice",
    guard: str = "phase not in PHASES",
    entry: bool = True,
) -> None:
    """One entry and its sites: release id -> line."""
    if entry:
        db.add(
            Entry(
                id=entry_id,
                package="sglang",
                error_class="ValueError",
                error_type="exception",
                template=template,
                pattern="",
                family=family,
                slug=slug,
                explained=slug is not None,
            )
        )
    for release_id, line in lines.items():
        db.add(
            Site(
                release_id=release_id,
                entry_id=entry_id,
                site_id=f"{entry_id}-{release_id}",
                kind="assert" if not template else "raise",
                error_class="ValueError",
                template=template,
                file="sglang/srt/speculative/spec_utils.py",
                function="resolve_num_tokens_per_req",
                line=line,
                end_line=line,
                guards=[{"text": guard, "kind": "if" if template else "assert", "line": line - 1}],
            )
        )
