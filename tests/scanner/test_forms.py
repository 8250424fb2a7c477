"""Every form in which an engine writes an error is read as the samples say."""

import re
from pathlib import Path

import pytest

from app.scanner.records import ScannedSite
from tests.scanner.reading import read_files, split_files

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.sample"))
_MARK = re.compile(r"[#/]=> ")


def expected(text: str) -> list[tuple[int, str]]:
    return [
        (line, said.strip())
        for line, written in enumerate(text.split("\n"), 1)
        for said in _MARK.split(written)[1:]
    ]


def said(site: ScannedSite) -> str:
    status = f"{site.http_status} " if site.http_status else ""
    return f"{status}{site.error_class}: {site.template}".strip()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_a_sample_has_exactly_the_sites_it_marks(path: Path) -> None:
    files = split_files(path.read_text(encoding="utf-8"))
    found = read_files(files)
    for name, text in files.items():
        assert [(s.line, said(s)) for s in found[name].sites] == expected(text), name
        assert found[name].problem is None


def test_the_samples_cover_what_the_scanner_knows() -> None:
    kinds, forms = set(), set()
    for path in SAMPLES:
        for found in read_files(split_files(path.read_text(encoding="utf-8"))).values():
            kinds |= {s.kind for s in found.sites}
            forms |= {s.form for s in found.sites}
    assert kinds == {"raise", "assert", "argparse", "http", "log"}
    assert forms >= {
        "literal",
        "fstring",
        "percent",
        "format",
        "concatenation",
        "variable",
        "attribute",
        "choice",
        "class",
        "helper",
        "tuple",
        "join",
        "none",
        "choices",
        "check",
        "raised-text",
    }
