"""Releases in the catalog: all or nothing, in any order, on both kinds of database."""

import itertools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect
from sqlmodel import SQLModel, col, select

from app.db import close_engines, engine_for, session
from app.exceptions import NotFoundError, UnavailableError
from app.loading.releases import Loaded, load_release, remove_release
from app.loading.scanning import scan_into_catalog
from app.models import Alias, Change, Entry, Explanation, Release, Site
from app.scanner.identity import entry_id
from app.scanner.records import ScannedRelease
from app.scanner.release import scan_wheel
from app.settings import PROJECT_ROOT, Settings
from app.wheels import Wheel, open_wheel
from tests.scanner.conftest import settings_in
from tests.wheels.making import make_wheel

FIRST = """
def take(n, limit):
    if n < 0:
        raise ValueError(f"the number of rows must not be negative, got {n}")
    if n > limit:
        raise RuntimeError(f"needs {n} rows, has {limit}")
    assert limit
"""
REWORDED = FIRST.replace("must not be negative", "cannot be negative")
VERSIONS = {
    "1.0": {"sglang/rows.py": FIRST},
    "1.1": {"sglang/rows.py": REWORDED},
    "1.2": {"sglang/srt/rows.py": REWORDED.replace("RuntimeError", "CapacityError")},
    "1.10": {"sglang/srt/rows.py": REWORDED + "\n\nraise SystemExit('the end of the file')\n"},
}


def wheel(folder: Path, version: str) -> Wheel:
    path = make_wheel(folder, VERSIONS[version], package="sglang", version=version)
    return open_wheel(path)


def load(settings: Settings, version: str) -> Loaded:
    with session(settings) as db:
        return load_release(db, scan_wheel(wheel(settings.cache_dir.parent, version)))


def everything(settings: Settings) -> dict[str, Any]:
    """What is in the catalog, without row numbers and times."""
    with session(settings) as db:
        versions = {r.id: r.version for r in db.exec(select(Release))}
        return {
            "entries": sorted(
                (e.id, e.template, e.error_class, e.pattern, e.family or "")
                for e in db.exec(select(Entry))
            ),
            "sites": sorted(
                (versions[s.release_id], s.site_id, s.entry_id, s.file, s.line, str(s.guards))
                for s in db.exec(select(Site))
            ),
            "changes": sorted(
                (versions[c.release_id], c.entry_id, c.status, c.previous_entry_id or "")
                for c in db.exec(select(Change))
            ),
            "aliases": sorted((a.alias, a.entry_id, a.kind) for a in db.exec(select(Alias))),
            "releases": sorted((r.version, r.ordinal, r.sites) for r in db.exec(select(Release))),
        }


def test_a_release_is_stored_with_its_sites_and_entries(world: Settings) -> None:
    loaded = load(world, "1.0")
    assert loaded.previous is None
    with session(world) as db:
        release = db.exec(select(Release)).one()
        assert (release.package, release.version, release.license) == ("sglang", "1.0", "MIT")
        assert (release.sites, release.templates, release.entries) == (3, 2, 3)
        site = db.exec(select(Site).where(Site.error_class == "RuntimeError")).one()
        assert site.template == "needs {n} rows, has {limit}"
        assert site.holes == [
            {"expr": "n", "conversion": "", "format": ""},
            {"expr": "limit", "conversion": "", "format": ""},
        ]
        assert site.guards == [
            {"text": "n < 0", "kind": "exit", "line": 3},
            {"text": "n > limit", "kind": "if", "line": 5},
        ]
        entry = db.get(Entry, site.entry_id)
        assert entry is not None
        assert entry.pattern == r"needs ([\s\S]*?) rows, has ([\s\S]*?)"
        bare = db.exec(select(Entry).where(Entry.error_class == "AssertionError")).one()
        assert (bare.template, bare.condition) == ("", "assert limit")


def test_changes_are_counted_against_the_release_before(world: Settings) -> None:
    load(world, "1.0")
    reworded = load(world, "1.1")
    assert reworded.previous == "1.0"
    nothing = {"new": 0, "moved": 0, "reworded": 0, "classChanged": 0, "gone": 0}
    assert dict(reworded.changes) == {**nothing, "reworded": 1}
    changed = load(world, "1.2")
    assert dict(changed.changes) == {**nothing, "moved": 2, "classChanged": 1}


def test_old_ids_are_aliases_of_the_newest_entry(world: Settings) -> None:
    for version in ("1.0", "1.1", "1.2"):
        load(world, version)
    old = entry_id("sglang", "ValueError", "the number of rows must not be negative, got {n}")
    new = entry_id("sglang", "ValueError", "the number of rows cannot be negative, got {n}")
    was = entry_id("sglang", "RuntimeError", "needs {n} rows, has {limit}")
    now = entry_id("sglang", "CapacityError", "needs {n} rows, has {limit}")
    assert everything(world)["aliases"] == sorted(
        [(old, new, "reworded"), (was, now, "class-changed")]
    )
    load(world, "1.10")  # the class is RuntimeError again
    assert everything(world)["aliases"] == sorted(
        [(old, new, "reworded"), (now, was, "class-changed")]
    )


def test_any_order_of_scanning_gives_the_same_catalog(tmp_path: Path) -> None:
    results = []
    for i, order in enumerate(itertools.permutations(VERSIONS)):
        folder = tmp_path / str(i)
        folder.mkdir()
        settings = settings_in(folder, f"sqlite:///{folder / 'catalog.db'}")
        for version in order:
            load(settings, version)
        results.append(everything(settings))
    close_engines()
    assert all(result == results[0] for result in results)
    assert [r[0] for r in sorted(results[0]["releases"], key=lambda r: r[1])] == list(VERSIONS)


def test_scanning_again_changes_nothing(world: Settings) -> None:
    for version in VERSIONS:
        load(world, version)
    before = everything(world)
    load(world, "1.1")
    assert everything(world) == before


def test_taking_a_release_out_leaves_what_would_be_there_without_it(world: Settings) -> None:
    for version in ("1.0", "1.2"):
        load(world, version)
    without = everything(world)
    load(world, "1.1")
    assert everything(world) != without
    with session(world) as db:
        remove_release(db, "sglang", "1.1")
    assert everything(world) == without
    with session(world) as db, pytest.raises(NotFoundError, match=r"sglang==1\.1") as raised:
        remove_release(db, "sglang", "1.1")
    assert raised.value.near == ("sglang==1.0", "sglang==1.2")


def test_without_its_newest_release_an_entry_is_worded_as_the_one_before(world: Settings) -> None:
    load(world, "1.0")
    without = everything(world)
    newer = FIRST.replace("{n} rows, has {limit}", "{n!r} rows, has {self.limit}")
    path = make_wheel(
        world.cache_dir.parent, {"sglang/rows.py": newer}, package="sglang", version="2"
    )
    with session(world) as db:
        load_release(db, scan_wheel(open_wheel(path)))
    assert "needs {n!r} rows, has {self.limit}" in [e[1] for e in everything(world)["entries"]]
    load(world, "1.0")  # an older release does not bring its wording back
    assert "needs {n!r} rows, has {self.limit}" in [e[1] for e in everything(world)["entries"]]
    with session(world) as db:
        remove_release(db, "sglang", "2")
    assert everything(world) == without


def test_an_explanation_follows_its_entry_and_stays_without_a_release(sqlite: Settings) -> None:
    old = entry_id("sglang", "ValueError", "the number of rows must not be negative, got {n}")
    new = entry_id("sglang", "ValueError", "the number of rows cannot be negative, got {n}")
    with session(sqlite) as db:
        db.add(
            Entry(
                id=old,
                package="sglang",
                error_class="ValueError",
                error_type="exception",
                template="the number of rows must not be negative, got {n}",
                pattern="x",
                severity="wrong-result",
                slug="negative-rows",
                explained=True,
            )
        )
        db.add(Explanation(slug="negative-rows", entry_id=old, content={}))
        db.add(Alias(alias="0123456789abcdef", entry_id=old, kind="published"))
    load(sqlite, "1.0")
    load(sqlite, "1.1")
    with session(sqlite) as db:
        entry = db.exec(select(Entry).where(Entry.slug == "negative-rows")).one()
        assert (entry.id, entry.explained, entry.severity) == (new, True, "wrong-result")
        assert db.exec(select(Explanation)).one().entry_id == new
        published = db.exec(select(Alias).where(Alias.kind == "published")).one()
        assert published.entry_id == new
        for version in ("1.0", "1.1"):
            remove_release(db, "sglang", version)
        assert [e.slug for e in db.exec(select(Entry))] == ["negative-rows"]


def test_a_failure_in_the_middle_leaves_nothing(world: Settings) -> None:
    load(world, "1.0")
    before = everything(world)
    scanned = scan_wheel(wheel(world.cache_dir.parent, "1.1"))
    scanned.sites[-1].site_id = None  # type: ignore[assignment]  # what the database refuses
    with pytest.raises(Exception, match=r"(?i)null"), session(world) as db:
        load_release(db, scanned)
    assert everything(world) == before


def test_a_process_killed_while_it_stores_leaves_nothing(sqlite: Settings) -> None:
    load(sqlite, "1.0")
    before = everything(sqlite)
    folder = sqlite.cache_dir.parent
    path = wheel(folder, "1.1").path
    script = f"""
import time
from pathlib import Path
from app.db import session
from app.loading.releases import load_release
from app.scanner.release import scan_wheel
from app.settings import load_settings
from app.wheels import open_wheel
with session(load_settings()) as db:
    load_release(db, scan_wheel(open_wheel(Path({str(path)!r}))))
    db.flush()
    print("stored", flush=True)
    time.sleep(60)
"""
    env = {
        **os.environ,
        "REPROBASE_DATABASE_URL": sqlite.database_url,
        "PYTHONPATH": str(PROJECT_ROOT),
    }
    with subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"stored\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    close_engines()
    assert everything(sqlite) == before
    assert dict(load(sqlite, "1.1").changes)["reworded"] == 1


def test_two_scans_at_the_same_time_both_arrive(sqlite: Settings) -> None:
    load(sqlite, "1.0")
    folder = sqlite.cache_dir.parent
    env = {
        **os.environ,
        "REPROBASE_DATABASE_URL": sqlite.database_url,
        "REPROBASE_CACHE_DIR": str(sqlite.cache_dir),
    }
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "app.cli", "scan", "--wheel", str(wheel(folder, version).path)],
            env=env,
            cwd=PROJECT_ROOT,
        )
        for version in ("1.1", "1.2")
    ]
    assert [child.wait(120) for child in children] == [0, 0]
    in_turn = settings_in(folder, f"sqlite:///{folder / 'other.db'}")
    for version in ("1.0", "1.1", "1.2"):
        load(in_turn, version)
    ours, theirs = everything(sqlite), everything(in_turn)
    assert ours["changes"] == theirs["changes"]
    assert ours["sites"] == theirs["sites"]


def test_a_full_disk_is_a_sentence_and_leaves_the_catalog_as_it_was(sqlite: Settings) -> None:
    load(sqlite, "1.0")
    before = everything(sqlite)
    many = {"sglang/many.py": "".join(f"assert x, 'message number {i}'\n" for i in range(4000))}
    path = make_wheel(sqlite.cache_dir.parent, many, package="sglang", version="9.0")
    with engine_for(sqlite).connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    limit = f"PRAGMA max_page_count={pages + 20}"
    scanned = scan_wheel(open_wheel(path))
    with pytest.raises(UnavailableError, match="full"):
        load_with_limit(sqlite, scanned, limit)
    close_engines()
    assert everything(sqlite) == before


def load_with_limit(settings: Settings, scanned: ScannedRelease, limit: str) -> None:
    with session(settings) as db:
        db.connection().exec_driver_sql(limit)
        load_release(db, scanned)


def test_a_release_that_is_in_the_catalog_is_not_read_again(sqlite: Settings) -> None:
    one = wheel(sqlite.cache_dir.parent, "1.0")
    first = scan_into_catalog(one, sqlite)
    said: list[str] = []
    again = scan_into_catalog(one, sqlite, lambda _share, what: said.append(what))
    assert again == first
    assert said == ["already in the catalog"]
    told: list[float] = []
    scan_into_catalog(one, sqlite, lambda share, _what: told.append(share), again=True)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_every_column_of_a_site_is_written(sqlite: Settings) -> None:
    load(sqlite, "1.0")
    with session(sqlite) as db:
        columns = {c["name"] for c in inspect(db.connection()).get_columns("site")}
        assert columns == set(SQLModel.metadata.tables["site"].c.keys())
        rows = db.exec(select(Site).where(col(Site.template) != "")).all()
        assert all(s.form and s.file and s.kind and s.end_line for s in rows)


def test_characters_that_databases_refuse_are_stored_as_others(world: Settings) -> None:
    text = "def f():\n    raise ValueError('null \\0, half \\ud800, %s and 100% of ü')\n"
    path = make_wheel(world.cache_dir.parent, {"sglang/a.py": text}, package="sglang")
    scanned = scan_wheel(open_wheel(path))
    assert scanned.failed_patterns == []
    with session(world) as db:
        load_release(db, scanned)
        (site,) = db.exec(select(Site))
        assert site.template == "null \u2400, half ?, %s and 100% of ü"
        (entry,) = db.exec(select(Entry))
        assert re.fullmatch(entry.pattern, "null \0, half \ud800, %s and 100% of ü")
