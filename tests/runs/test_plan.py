"""From an entry of the catalog to a request."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlmodel import Session

from app.db import close_engines, session
from app.exceptions import BadInputError, NotFoundError
from app.models import Alias, Entry, Release, Site
from app.runs import execute, passed
from app.runs.folders import KEPT_SECONDS
from app.runs.places import Wording
from app.runs.plan import Runnable, plan, runnable
from app.settings import Settings, load_settings
from tests.runs.toys import ENGINE
from tests.wheels.making import make_wheel

ENTRY = Runnable(
    entry_id="e" * 16,
    slug="toy-error",
    package="toy",
    error_type="exception",
    wording=Wording("ValueError", "too many: {n}", r"too\s+many:\s+([\s\S]*?)"),
    snippets={"Type guard": "def is_fine(n): ..."},
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = load_settings({"HOME": str(tmp_path)})
    folder = made.wheels_dir / "toy"
    folder.mkdir(parents=True)
    code = "\n".join(line[4:] for line in ENGINE.splitlines()) + "\n"
    make_wheel(folder, {"toy/__init__.py": "", "toy/engine.py": code}, package="toy", version="1.0")
    make_wheel(folder, {"toy/__init__.py": ""}, package="toy", version="0.9")
    return made


@pytest.fixture
def db(settings: Settings) -> Iterator[Session]:
    with session(settings) as opened:
        yield opened
    close_engines()


def test_a_request_carries_all_that_a_run_needs(settings: Settings) -> None:
    request = plan(ENTRY, "toy==1.0", "trigger", settings)
    assert request.subject.name == "toy==1.0"
    assert Path(str(request.subject.root), "toy", "engine.py").is_file()
    assert [(s["file"], s["function"]) for s in request.sites] == [("toy/engine.py", "check")]
    assert (request.error_class, request.slug, request.step) == (
        "ValueError",
        "toy-error",
        "trigger",
    )
    assert request.snippets == dict(ENTRY.snippets)
    assert request.scratch == ""


def test_what_is_planned_passes_when_it_is_run(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "reproducer.py"
    file.write_text("def trigger(subject):\n    subject.load('toy.engine').check(5)\n")
    request = plan(ENTRY, "toy==1.0", "trigger", settings)
    request = replace(request, payload={"file": str(file)}, readable=(str(file),))
    assert passed(execute(request), "trigger")


def damaged(settings: Settings) -> tuple[Path, bytes, Callable[[Callable[[], object]], None]]:
    """A file of an unpacked release, its bytes, and what makes it writable for some damage."""
    root = Path(str(plan(ENTRY, "toy==1.0", "trigger", settings).subject.root))
    engine = root / "toy" / "engine.py"

    def harm(how: Callable[[], object]) -> None:
        (root / "toy").chmod(0o755)
        engine.chmod(0o644)
        how()

    return engine, engine.read_bytes(), harm


def test_a_damaged_folder_is_unpacked_anew(settings: Settings) -> None:
    engine, whole, harm = damaged(settings)
    other = whole.replace(b"n > 4", b"n > 9")
    assert len(other) == len(whole)
    for how in (
        engine.unlink,
        lambda: engine.write_bytes(whole[:10]),
        lambda: engine.write_bytes(other),
    ):
        harm(how)
        plan(ENTRY, "toy==1.0", "trigger", settings)
        assert engine.read_bytes() == whole
        assert engine.parent.parent.stat().st_mode & 0o222 == 0


def test_a_damaged_folder_is_not_taken_away_under_a_run(settings: Settings) -> None:
    engine, whole, harm = damaged(settings)
    fd = os.open(engine.parent, os.O_RDONLY)  # as a run has it, whose root is this very folder
    harm(lambda: engine.write_bytes(whole[:10]))
    plan(ENTRY, "toy==1.0", "trigger", settings)
    assert sorted(os.listdir(fd)) == ["__init__.py", "engine.py"]  # noqa: PTH208  # by its descriptor
    os.close(fd)
    [aside] = settings.unpacked_dir.glob(".damaged-*")
    past = time.time() - KEPT_SECONDS - 1
    os.utime(aside, (past, past))
    harm(lambda: engine.write_bytes(whole[:10]))
    plan(ENTRY, "toy==1.0", "trigger", settings)
    assert aside not in list(settings.unpacked_dir.glob(".damaged-*"))


def test_a_release_without_the_error_is_said_so(settings: Settings) -> None:
    with pytest.raises(NotFoundError, match=r"toy==0\.9 does not have this error"):
        plan(ENTRY, "toy==0.9", "trigger", settings)


def test_another_package_or_no_release_is_refused(settings: Settings) -> None:
    with pytest.raises(NotFoundError, match="is an error of toy, not of vllm"):
        plan(ENTRY, "vllm==1.0", "trigger", settings)
    with pytest.raises(BadInputError, match="write it as PACKAGE==VERSION"):
        plan(ENTRY, "toy 1.0", "trigger", settings)


def test_places_that_a_library_raises_at_are_those_that_the_release_has(settings: Settings) -> None:
    places = ("toy/engine.py::Server.start", "toy/gone.py::f")
    request = plan(replace(ENTRY, places=places), "toy==1.0", "fix", settings)
    assert request.sites == (
        {"file": "toy/engine.py", "function": "Server.start", "guardLines": []},
    )


def test_the_reference_belongs_to_no_release_and_has_guards_of_its_own(settings: Settings) -> None:
    places = ("reproducers/reference/tree.py::naive", "toy/engine.py::check")
    entry = replace(ENTRY, places=places)
    request = plan(entry, "reference", "trigger", settings, device="cuda")
    assert (request.subject.root, request.device) == (None, "cuda")
    assert [s["file"] for s in request.sites] == ["reproducers/reference/tree.py"]
    with pytest.raises(NotFoundError, match="The reference has no guard that says"):
        plan(ENTRY, "reference", "trigger", settings)


def test_the_catalog_is_asked_before_the_wheel(settings: Settings, db: Session) -> None:
    entry = Entry(
        id="e" * 16,
        package="toy",
        error_class="ValueError",
        error_type="exception",
        template="too many: {n}",
        pattern="too many: (.*)",
        slug="toy-error",
    )
    release = Release(package="toy", version="1.0", ordinal=1, sha256="0" * 64, wheel="toy.whl")
    db.add_all([entry, release])
    db.flush()
    assert release.id is not None
    db.add(
        Site(
            release_id=release.id,
            entry_id=entry.id,
            site_id="s" * 16,
            kind="raise",
            error_class="ValueError",
            template="too many: {n}",
            file="toy/engine.py",
            function="said.by.the.catalog",
            line=3,
            end_line=3,
            guards=[
                {"text": "a", "kind": "if", "line": 1},
                {"text": "n > 4", "kind": "if", "line": 2},
                {"text": "n", "kind": "assert", "line": 2},
            ],
        )
    )
    db.flush()
    request = plan(runnable(db, entry), "toy==1.0", "trigger", settings)
    assert request.sites == (
        {
            "file": "toy/engine.py",
            "function": "said.by.the.catalog",
            "line": 3,
            "guardLines": [2],
        },
    )
    assert request.pattern == "too many: (.*)"


def test_todays_wording_wins_where_an_older_one_lives_beside_it(
    settings: Settings, db: Session
) -> None:
    release = Release(package="toy", version="1.0", ordinal=1, sha256="0" * 64, wheel="toy.whl")
    db.add(release)
    for entry_id, words in (("e" * 16, "too many: {n}"), ("f" * 16, "more than I can: {n}")):
        db.add(
            Entry(
                id=entry_id, package="toy", error_class="ValueError", error_type="exception",
                template=words, pattern=words.replace("{n}", "(.*)"),
                slug="toy-error" if entry_id[0] == "e" else None,
            )
        )  # fmt: skip
    db.add(Alias(alias="f" * 16, entry_id="e" * 16, kind="reworded"))
    db.flush()
    assert release.id is not None
    for entry_id, file in (("f" * 16, "toy/a_comes_first.py"), ("e" * 16, "toy/engine.py")):
        db.add(
            Site(
                release_id=release.id, entry_id=entry_id, site_id=entry_id, kind="raise",
                error_class="ValueError", template="too many: {n}", file=file, function="check",
                line=3, end_line=3, guards=[],
            )
        )  # fmt: skip
    db.flush()
    request = plan(runnable(db, db.get_one(Entry, "e" * 16)), "toy==1.0", "trigger", settings)
    assert [s["file"] for s in request.sites] == ["toy/engine.py"]
    assert request.pattern == "too many: (.*)"


def test_an_entry_without_a_slug_cannot_be_run(db: Session) -> None:
    entry = Entry(
        id="e" * 16, package="toy", error_class="E", error_type="exception", template="", pattern=""
    )
    with pytest.raises(NotFoundError, match="has no reproducer written by hand"):
        runnable(db, entry)
