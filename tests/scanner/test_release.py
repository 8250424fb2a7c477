"""Whole wheels: what is read, what is listed, and the figures a real release must give."""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from packaging.version import Version

from app.exceptions import BadWheelError, UnavailableError
from app.scanner.blocks import triple_quoted
from app.scanner.finish import Finisher
from app.scanner.history import EntryChange, compare
from app.scanner.library import Library
from app.scanner.native import SUFFIXES
from app.scanner.packages import package_facts
from app.scanner.pool import Reading
from app.scanner.reading import Part
from app.scanner.records import ScannedRelease
from app.scanner.release import ordinal, scan_wheel
from app.scanner.sites import read_file
from app.scanner.templates import parse, sample, skeleton
from app.settings import load_settings
from app.wheels import Wheel, fetch, open_wheel
from tests.scanner.test_history import places, telling
from tests.wheels.making import make_wheel

CODE = "def f(n):\n    if n > 1:\n        raise ValueError(f'bad {n} of N')\n    assert n\n"


def many(n: int) -> dict[str, str | bytes]:
    return {f"sglang/m{i}.py": CODE.replace("of N", f"of {i}") for i in range(n)}


def test_children_and_no_children_give_the_same(tmp_path: Path) -> None:
    files = {**many(40), "sglang/k.cuh": 'RuntimeCheck(n > 0, "n > 0");\n'}
    wheel = open_wheel(make_wheel(tmp_path, files, package="sglang"))
    here, one, three = (scan_wheel(wheel, processes=n) for n in (0, 1, 3))
    assert here.sites == one.sites == three.sites
    assert (here.files, here.templates, here.native) == (41, 40, 1)


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    wheel = open_wheel(make_wheel(tmp_path, many(5), package="sglang"))
    told: list[tuple[int, int]] = []
    scan_wheel(wheel, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0


def test_files_that_do_not_parse_are_listed_and_the_others_read(tmp_path: Path) -> None:
    files = {**many(2), "sglang/old.py": "print 'raise'\nraise ValueError, 'x'\n"}
    scanned = scan_wheel(open_wheel(make_wheel(tmp_path, files, package="sglang")))
    assert [u["file"] for u in scanned.unparsed] == ["sglang/old.py"]
    assert scanned.unparsed[0]["reason"].startswith("line 1: ")
    assert scanned.templates == 2


def test_a_damaged_wheel_is_told(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, {"sglang/a.py": CODE * 50}, package="sglang")
    wheel = open_wheel(path)
    raw = bytearray(path.read_bytes())
    raw[60:90] = b"\xff" * 30
    path.write_bytes(raw)
    with pytest.raises(BadWheelError):
        scan_wheel(wheel, processes=0)
    with pytest.raises(UnavailableError, match="died"):
        scan_wheel(wheel, processes=2)


def test_a_child_that_is_killed_is_told(tmp_path: Path) -> None:
    wheel = open_wheel(make_wheel(tmp_path, many(3), package="sglang"))
    whole = Part("sglang", str(tmp_path / "gone.whl"), [n for n in wheel.names() if ".py" in n], [])
    with pytest.raises(UnavailableError, match="died"):
        list(Reading(wheel, whole, 1).answers())


def test_excluded_folders_are_left_out_and_native_checks_only_where_asked(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "ray/a.py": CODE,
        "ray/tests/b.py": CODE,
        "ray/c.cuh": 'RuntimeCheck(n, "x is");\n',
    }
    scanned = scan_wheel(open_wheel(make_wheel(tmp_path, files, package="ray")))
    assert {s.file for s in scanned.sites} == {"ray/a.py"}


def test_a_package_that_is_not_listed_can_be_scanned(tmp_path: Path) -> None:
    scanned = scan_wheel(open_wheel(make_wheel(tmp_path, {"x/a.py": CODE}, package="unheard_of")))
    assert (scanned.package, scanned.templates) == ("unheard-of", 1)


def test_releases_are_ordered_as_their_versions() -> None:
    versions = [
        "0.5.9",
        "0.5.10.dev1",
        "0.5.10.dev2",
        "0.5.10a2",
        "0.5.10b1",
        "0.5.10rc1",
        "0.5.10rc2.dev3",
        "0.5.10rc2",
        "0.5.10rc10",
        "0.5.10rc11",
        "0.5.10",
        "0.5.10+cu121",
        "0.5.10.post1.dev1",
        "0.5.10.post1",
        "0.5.10.post2",
        "0.5.11",
        "0.5.11.1",
        "0.6",
        "0.10",
        "1.0",
        "2026.11.19",
    ]
    assert sorted(versions, key=Version) == versions
    assert sorted(versions, key=ordinal) == versions
    assert ordinal("9!999.999.999.999.post99") < 2**63
    assert len({ordinal(v) for v in versions}) == len(versions)


# --- real releases ------------------------------------------------------------------------------


def sglang(version: str) -> Wheel:
    return fetch("sglang", version, load_settings())


@pytest.fixture(scope="session")
def newest() -> ScannedRelease:
    return scan_wheel(sglang("0.5.23"))


@pytest.fixture(scope="session")
def step(newest: ScannedRelease) -> tuple[ScannedRelease, ScannedRelease, list[EntryChange]]:
    before = scan_wheel(sglang("0.5.22"))
    old, new = before.sites, newest.sites
    return before, newest, compare(places(old), places(new), telling(old), telling(new))


@pytest.mark.wheel
def test_a_real_release_gives_the_sites_it_has(newest: ScannedRelease) -> None:
    assert newest.templates >= 16_600
    without_logs = sum(s.recovered and s.kind not in ("log", "native") for s in newest.sites)
    assert without_logs >= 16_600
    assert newest.native >= 1_850
    assert newest.unrecoverable / (newest.unrecoverable + newest.templates) <= 0.04
    assert newest.unparsed == []


@pytest.mark.wheel
def test_every_pattern_matches_a_message_of_its_template(newest: ScannedRelease) -> None:
    assert newest.failed_patterns == []
    for site in {s.pattern: s for s in newest.sites if s.pattern}.values():
        message = sample(parse(site.template))
        assert re.fullmatch(site.pattern, message), site
        assert skeleton(site.template) == site.words


@pytest.mark.wheel
def test_no_id_is_shared_by_different_templates(newest: ScannedRelease) -> None:
    meant = defaultdict(set)
    for s in newest.sites:
        meant[s.entry_id].add((s.error_class, s.condition or s.words))
    assert [m for m in meant.values() if len(m) > 1] == []
    assert len({s.site_id for s in newest.sites}) == len(newest.sites)


@pytest.mark.wheel
def test_entries_that_survive_a_release_keep_their_ids(
    step: tuple[ScannedRelease, ScannedRelease, list[EntryChange]],
) -> None:
    before, after, changes = step
    worded = {s.entry_id for s in before.sites if s.recovered}
    kept = worded & {s.entry_id for s in after.sites}
    followed = {c.previous for c in changes if c.previous in worded and c.replaced}
    assert len(kept) / (len(kept) + len(followed)) >= 0.993
    counts = Counter(c.status for c in changes)
    assert counts["reworded"] > 20
    assert counts["moved"] > 50
    assert counts["new"] > counts["gone"] > 0


class Every(ast.NodeVisitor):
    """All raises and assertions of a file, with their functions, from the whole tree."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.found: list[tuple[str, int, str]] = []

    def named(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.path.append(node.name)
        self.generic_visit(node)
        self.path.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = named  # noqa: N815  # ast's names

    def visit_Raise(self, node: ast.Raise) -> None:  # ast's name
        self.found.append(("raise", node.lineno, ".".join(self.path)))

    def visit_Assert(self, node: ast.Assert) -> None:  # ast's name
        self.found.append(("assert", node.lineno, ".".join(self.path)))


@pytest.mark.wheel
def test_reading_stretches_of_a_file_finds_what_reading_all_of_it_finds(
    newest: ScannedRelease,
) -> None:
    wheel = sglang("0.5.23")
    ours = defaultdict(set)
    for s in newest.sites:
        ours[s.file].add((s.line, s.function))
    names = [n for n in wheel.names() if n.endswith(".py")][::7]
    statements = 0
    for name in names:
        every = Every()
        every.visit(ast.parse(wheel.read(name)))
        statements += len(every.found)
        missing = {(line, path) for _, line, path in every.found} - ours[name]
        lines = wheel.read(name).decode("utf-8-sig").split("\n")
        assert all(
            re.search(r"raise(\s+\w+)?\s*(from .*)?(#.*)?$", lines[line - 1]) for line, _ in missing
        ), (name, missing)
    assert statements > 3_000


UNSURE = b"""
_ = '\\
\"\"\"'
"""
"""A string that the cutting of files cannot tell from an unclosed one: the file is read whole."""


@pytest.mark.wheel
def test_whole_files_and_stretches_give_the_same_sites_to_the_letter() -> None:
    assert triple_quoted(UNSURE) is None
    wheel = sglang("0.5.23")
    names = [n for n in wheel.names() if n.endswith(".py")]
    by_stretch, at_once = (Library(names, wheel.read) for _ in range(2))
    facts = package_facts("sglang")
    for name in names[3::40]:
        at_once.module(name).text += UNSURE
        one, two = (
            read_file(library.module(name), library, facts, Finisher("sglang")).sites
            for library in (by_stretch, at_once)
        )
        assert one == two, name


@pytest.mark.wheel
def test_native_files_of_a_real_release_are_all_read(newest: ScannedRelease) -> None:
    wheel = sglang("0.5.23")
    native = [n for n in wheel.names() if n.endswith(SUFFIXES)]
    assert newest.files == len(native) + sum(n.endswith(".py") for n in wheel.names())
    checked = {s.file for s in newest.sites if s.kind == "native"}
    assert len(checked) > 150
