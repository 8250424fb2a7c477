"""The index is made from the database, kept in one folder a state, and safe among processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlmodel import Session

from app.db import session, touch
from app.models import Entry
from app.search import Filters, catalog_version, refresh, search
from app.search import store as store_module
from app.search.documents import read_documents
from app.settings import Settings
from tests.search.conftest import NEW, OLD

ASK = (
    "from app.db import session; from app.search import search; from app.settings import "
    "load_settings; s = load_settings()\n"
    "with session(s) as db: print([h.id for h in search(db, 'phase', settings=s).hits])"
)


@pytest.fixture(autouse=True)
def _nothing_open() -> None:
    store_module._open.clear()


def folders(settings: Settings) -> list[Path]:
    return sorted(settings.index_dir.glob("*"))


def test_a_document_has_every_wording_place_and_state_of_its_entry(db: Session) -> None:
    found = {d.id: d for d in read_documents(db)}
    stays = found["stays"]
    assert next(iter(found)) == "stays"
    assert stays.messages == ["Unknown speculative phase: {phase}", "Unknown phase {phase}"]
    assert set(stays.keys) == {"stays", "unknown-phase", "old-stays", "6d46981c2eb2f8c3"}
    assert stays.functions == ["resolve_num_tokens_per_req"]
    assert "A misspelt name." in stays.text
    assert f"status:sglang=={NEW}:reworded" in stays.marks
    assert f"status:sglang=={OLD}:same" in stays.marks
    assert f"release:sglang=={NEW}" not in found["gone"].marks
    assert found["wordless"].conditions == ["topk == 1"]


def test_an_older_wording_and_an_assertion_without_words_are_found(
    db: Session, settings: Settings
) -> None:
    assert search(db, "Unknown phase 'x'", settings=settings).hits[0].id == "stays"
    assert search(db, "topk", settings=settings).hits[0].id == "wordless"
    gone = Filters(release=f"sglang=={NEW}", status="gone")
    assert [h.id for h in search(db, "", gone, settings=settings).hits] == ["gone"]


def test_the_index_is_made_once_for_a_state_and_anew_for_the_next(
    db: Session, settings: Settings
) -> None:
    first = refresh(db, settings)
    assert refresh(db, settings) is first
    assert len(folders(settings)) == 1
    store_module._open.clear()
    made = folders(settings)[0].stat().st_ino
    assert refresh(db, settings).search("phase").total == 1
    assert folders(settings)[0].stat().st_ino == made
    before = catalog_version(db)
    db.add(
        Entry(
            id="more", package="p", error_class="E", error_type="log", template="zebra", pattern=""
        )
    )
    touch(db)
    db.flush()
    assert catalog_version(db) != before
    assert search(db, "zebra", settings=settings).total == 1
    assert len(folders(settings)) == 2


def test_a_run_does_not_make_the_index_anew(db: Session, settings: Settings) -> None:
    first = refresh(db, settings)
    touch(db, catalog=False)
    db.flush()
    assert refresh(db, settings) is first


def test_several_processes_may_make_the_index_at_once(db: Session, settings: Settings) -> None:
    db.commit()
    env = {
        **os.environ,
        "REPROBASE_DATABASE_URL": settings.database_url,
        "REPROBASE_CACHE_DIR": str(settings.cache_dir),
    }
    command = [sys.executable, "-c", ASK]
    running = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE) for _ in range(3)]
    answers = [process.communicate(timeout=60)[0] for process in running]
    assert answers == [b"['stays']\n"] * 3
    assert [f.name for f in folders(settings)] == [
        f"search-{store_module.FORMAT}-{catalog_version(db)}"
    ]


@pytest.mark.parametrize("damage", ["templates.json", "meta.json"])
def test_a_damaged_index_is_made_anew(
    db: Session, settings: Settings, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    refresh(db, settings)
    (folders(settings)[0] / damage).write_text("{")
    store_module._open.clear()
    assert search(db, "phase", settings=settings).total == 1
    assert "damaged" in caplog.text
    store_module._open.clear()
    caplog.clear()
    assert search(db, "phase", settings=settings).total == 1
    assert caplog.text == ""


def test_without_a_place_to_keep_it_the_index_is_in_memory(
    db: Session, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.cache_dir.mkdir()
    settings.index_dir.write_text("not a folder")
    assert search(db, "phase", settings=settings).total == 1
    assert "cannot be kept" in caplog.text


def test_old_states_and_what_a_killed_process_left_are_removed_after_a_while(
    db: Session, settings: Settings
) -> None:
    long_ago = time.time() - 2 * store_module._KEPT_SECONDS
    for name, when in [
        ("search-0-old", long_ago), ("building-killed", long_ago), ("building-now", time.time()),
        ("other-old", long_ago),
    ]:  # fmt: skip
        (settings.index_dir / name).mkdir(parents=True)
        os.utime(settings.index_dir / name, (when, when))
    (settings.index_dir / "building-file").write_text("")
    os.utime(settings.index_dir / "building-file", (long_ago, long_ago))
    refresh(db, settings)
    assert {f.name.rpartition("-")[0] for f in folders(settings)} >= {"building", "other"}
    assert {"building-now", "other-old"} < {f.name for f in folders(settings)}
    assert len(folders(settings)) == 3


def test_an_empty_catalog_finds_nothing(settings: Settings) -> None:
    with session(settings) as empty:
        assert search(empty, "anything", settings=settings).total == 0
        assert search(empty, "", settings=settings).total == 0
