"""A small catalog on a real SQLite: toy releases really scanned, an entry file, some runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlmodel import Session

from app.db import session, touch
from app.loading.curated import load_curated
from app.loading.releases import load_release
from app.models import Run
from app.scanner.identity import entry_id
from app.scanner.release import scan_wheel
from app.settings import Settings
from app.wheels import open_wheel
from tests.knowledge.files import GOOD
from tests.wheels.making import make_wheel

SLUG = "too-few-rows"
OLD_ID = "0123456789abcdef"
TEMPLATE = "needs {wanted} rows, has {rows}"
ENTRY_ID = entry_id("sglang", "ValueError", TEMPLATE)

TABLE = """
import logging

logger = logging.getLogger(__name__)


class Table:
    def take(self, wanted, rows):
        if wanted is None:
            return None
        if rows < wanted:
            raise ValueError(f"needs {wanted} rows, has {rows}")
        return wanted


def start(args):
    if args.rows <= 0:
        raise ValueError(f"--rows must be positive, got {args.rows}")
    logger.warning("starting with %d rows", args.rows)
    assert args.rows < 1 << 20
"""
STOP = """

def stop(n):
    if n > 3:
        raise RuntimeError("cannot stop that often <b>")
"""
OLD_WORDS, NEW_WORDS = "--rows must be positive", "--rows must be positive and small"
VERSIONS = {
    "1.0": {"sglang/table.py": TABLE},
    "1.1": {"sglang/table.py": "\n\n" + TABLE},
    "2.0": {
        "sglang/srt/table.py": TABLE.replace(OLD_WORDS, NEW_WORDS) + STOP,
    },
}


def wheel_of(folder: Path, version: str) -> Path:
    """A toy release of sglang."""
    folder.mkdir(parents=True, exist_ok=True)
    return make_wheel(folder, VERSIONS[version], package="sglang", version=version)


def fill(settings: Settings, versions: tuple[str, ...] = ("1.0", "1.1", "2.0")) -> None:
    """Curated entry, scanned releases and runs."""
    errors = settings.cache_dir / "errors"
    errors.mkdir(parents=True, exist_ok=True)
    (errors / f"{SLUG}.md").write_text(GOOD, encoding="utf-8")
    with session(settings) as db:
        load_curated(db, errors)
    for version in versions:
        wheel = open_wheel(wheel_of(settings.wheels_dir / "sglang", version))
        with session(settings) as db:
            load_release(db, scan_wheel(wheel, processes=0))
    with session(settings) as db:
        add_runs(db)


def add_runs(db: Session) -> None:
    """A trigger and a fix that passed on 1.1, and a trigger on 2.0 that raised something else."""
    claims = [
        {"section": "Validation code", "input": "rows=8, wanted=16", "expected": "ValueError",
         "got": "ValueError", "ok": True},
        {"section": "Corrections", "id": "table-is-refused", "expected": "refused",
         "got": "refused", "ok": True},
    ]  # fmt: skip
    when = datetime(2026, 11, 20, 12, tzinfo=UTC)
    shared: dict[str, Any] = {
        "entry_id": ENTRY_ID, "slug": SLUG, "started_at": when, "torch": "2.13.0",
    }  # fmt: skip
    db.add(
        Run(
            id="aaaaaaaaaaaaaaa1", step="trigger", subject="sglang==1.1", outcome="raised",
            matched=True, passed=True, error_class="ValueError",
            message="needs 16 rows, has 8 <script>", values={"wanted": 16, "rows": 8},
            site={"file": "sglang/table.py", "function": "Table.take", "line": 14},
            traceback=[{"file": "sglang/table.py", "function": "Table.take", "line": 14}],
            seconds=1.25, claims=claims, **shared,
        )
    )  # fmt: skip
    db.add(
        Run(
            id="aaaaaaaaaaaaaaa2", step="fix", subject="sglang==1.1", outcome="returned",
            passed=True, guard_reached=True, seconds=1.5,
            checks=[{"id": "all-rows", "ok": True, "got": 16, "expected": 16}], **shared,
        )
    )  # fmt: skip
    db.add(
        Run(
            id="aaaaaaaaaaaaaaa3", step="trigger", subject="sglang==2.0", outcome="raised",
            matched=False, passed=False, error_class="TypeError", message="no", seconds=1.0,
            **shared,
        )
    )  # fmt: skip
    touch(db, catalog=False)
