"""A handful of sites of a real release: found, executed, and run once more by the command."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.cli import main
from app.db import close_engines, session
from app.loading.releases import load_release
from app.runs.requests import release_subject
from app.runs.synthesizing import run_again
from app.scanner.release import scan_wheel
from app.services.synthesizing import Wish, synthesize_sites
from app.settings import Settings, load_settings
from app.wheels import fetch

pytestmark = pytest.mark.wheel
RELEASE = "0.5.23"
FILE = "sglang/srt/mem_cache/hicache_key_scheme.py"
MOST = 5


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Wheels of the user's own cache; results and catalog of this test alone."""
    real = load_settings()
    folder = tmp_path_factory.mktemp("synthesized")
    cache = folder / "cache"
    cache.mkdir()
    for name in ("wheels", "unpacked", "bytecode"):
        (real.cache_dir / name).mkdir(parents=True, exist_ok=True)
        (cache / name).symlink_to(real.cache_dir / name)
    database = f"sqlite:///{folder / 'catalog.db'}"
    yield replace(real, cache_dir=cache, database_url=database)
    close_engines()


def test_sites_of_a_release_are_found_and_run_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each trigger raises at its own line, each fix returns, in the search and once more."""
    wheel = fetch("sglang", RELEASE, settings)
    release = scan_wheel(wheel)
    sites = [s for s in release.sites if s.file == FILE and s.kind == "raise"][:MOST]
    results = synthesize_sites(wheel, sites, Wish(), settings, every=release.sites, jobs=1)
    assert len(results) == MOST
    fixed = [r for r in results if r["fix"]]
    assert len(fixed) >= MOST - 1, [(r["line"], r["reason"]) for r in results]
    for result in fixed:
        innermost = result["trigger"]["frames"][-1]
        assert (innermost["file"], innermost["line"]) == (FILE, result["line"])
    ended = run_again(release_subject(wheel, settings), fixed)
    assert {(e["trigger"], e["fix"]) for e in ended.values()} == {("hit", "returned")}
    with session(settings) as db:
        load_release(db, replace(release, sites=sites))
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(settings.cache_dir))
    monkeypatch.setenv("REPROBASE_DATABASE_URL", settings.database_url)
    assert main(["run", str(fixed[0]["entryId"])]) == 0
    out = capsys.readouterr().out
    assert "pass  trigger" in out
    assert "pass  fix" in out
