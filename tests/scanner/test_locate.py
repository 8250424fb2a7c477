"""A few messages found in a wheel without scanning it, and the source around them."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.exceptions import NotFoundError
from app.models import Entry
from app.scanner.excerpt import excerpt, license_of
from app.scanner.history import compare
from app.scanner.locate import locate
from app.scanner.release import scan_wheel
from app.scanner.templates import skeleton
from app.settings import load_settings
from app.wheels import Wheel, fetch, open_wheel
from tests.scanner.test_history import places, telling
from tests.wheels.making import make_wheel

APACHE = "Apache License\nVersion 2.0, January 2004\n"
CODE = """\
import os


def take(n, limit):
    # A comment before.
    if n > limit:
        raise RuntimeError(
            f"needs {n} rows, "
            f"has {limit}"
        )
    assert limit, "limit is needed"
    return n
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    files = {
        "sglang/a.py": CODE,
        "sglang/b.py": "\n\n" + CODE.replace("RuntimeError", "ValueError"),
        "sglang/third_party/fast/kernels/c.py": CODE,
        "sglang/third_party/fast/LICENSE": APACHE,
        "sglang/third_party/slow/d.py": "x = 1\n",
        "sglang/third_party/slow/COPYING.txt": "\nOur own words\nand more\n",
    }
    return open_wheel(make_wheel(tmp_path, files, package="sglang"))


def test_a_template_is_found_wherever_it_is(wheel: Wheel) -> None:
    found = locate(wheel, "needs {rows!r} rows, has {anything}")
    assert [(s.file, s.line, s.error_class) for s in found] == [
        ("sglang/a.py", 7, "RuntimeError"),
        ("sglang/b.py", 9, "ValueError"),
        ("sglang/third_party/fast/kernels/c.py", 7, "RuntimeError"),
    ]


def test_an_entry_is_found_with_its_class(wheel: Wheel) -> None:
    entry = Entry(
        id="x",
        package="sglang",
        error_class="ValueError",
        error_type="exception",
        template="needs {n} rows, has {limit}",
        pattern="",
    )
    assert [s.file for s in locate(wheel, entry)] == ["sglang/b.py"]
    assert [s.line for s in locate(wheel, [entry, "limit is needed"])] == [11, 9, 13, 11]


def test_an_assertion_without_words_is_found_by_its_condition(tmp_path: Path) -> None:
    source = "def f(a, b):\n    assert a.rows == b\n    assert a.rows  ==  b, 'rows'\n"
    wheel = open_wheel(make_wheel(tmp_path, {"toy/f.py": source}, package="toy", version="1.0"))
    entry = Entry(
        id="x",
        package="toy",
        error_class="AssertionError",
        error_type="assertion",
        template="",
        pattern="",
        condition="assert a.rows == b",
    )
    assert [s.line for s in locate(wheel, entry)] == [2]
    entry.condition = "assert a.rows == c"
    assert locate(wheel, entry) == []


def test_what_is_located_is_what_a_scan_finds(wheel: Wheel) -> None:
    scanned = [s for s in scan_wheel(wheel).sites if s.template.startswith("needs")]
    unclassified = [replace(site, family=None) for site in scanned]
    assert locate(wheel, "needs {n} rows, has {limit}") == unclassified


def test_what_no_file_says_is_not_found(wheel: Wheel) -> None:
    assert locate(wheel, "needs {n} columns, has {limit}") == []


def test_an_excerpt_is_the_statement_with_lines_around(wheel: Wheel) -> None:
    (site, *_) = locate(wheel, "needs {n} rows, has {limit}")
    found = excerpt(wheel, site, context=2)
    assert found.code.split("\n") == CODE.split("\n")[4:12]
    assert (found.start, found.end) == (5, 12)
    assert (found.license, found.license_file) == ("MIT", None)


def test_a_vendored_folder_has_its_own_licence(wheel: Wheel) -> None:
    file = "sglang/third_party/fast/kernels/c.py"
    assert license_of(wheel, file) == ("Apache-2.0", "sglang/third_party/fast/LICENSE")
    slow = "sglang/third_party/slow/d.py"
    assert license_of(wheel, slow) == ("Our own words", "sglang/third_party/slow/COPYING.txt")


def test_a_line_beyond_the_file_is_told(wheel: Wheel) -> None:
    (site, *_) = locate(wheel, "limit is needed")
    site.line = 99
    with pytest.raises(NotFoundError, match="13 lines, there is no line 99"):
        excerpt(wheel, site)


KDA = (
    "KDA verify needs {draft_token_num} scratch steps, but intermediate_ssm only has "
    "{scratch_steps}."
)
AMX = (
    "spec_info is unset in TARGET_VERIFY mode; the extend_* metadata can only be derived from "
    "spec_info for speculative verify batches."
)
PHASE = "Unknown speculative phase: {phase}"
CHAIN = (
    "--enable-linear-replayssm-spec requires a linear draft chain (--speculative-eagle-topk in "
    "{{None, 1}}); the chunked verify kernel uses a strictly-lower causal mask and is invalid for "
    "EAGLE tree verify. Got --speculative-eagle-topk={self.speculative_eagle_topk!r}."
)
OLD_CHAIN = CHAIN.replace("linear-replayssm", "gdn-replayssm")
ATTENTION = "sglang/srt/layers/attention/"
VERIFY = (
    ATTENTION + "linear/kernels/kda_flashinfer.py",
    "FlashInferKDAKernel.target_verify",
)
METADATA = (
    ATTENTION + "intel_amx_backend.py",
    "IntelAMXAttnBackend._build_extend_metadata",
)
TOKENS = ("sglang/srt/speculative/spec_utils.py", "resolve_num_tokens_per_req")
ARGS = ("sglang/srt/server_args.py", "ServerArgs._handle_linear_attn_backend")
HOOK = ("sglang/srt/arg_groups/attention_hook.py", "handle_linear_attn_backend")
RELEASES = [f"0.5.{n}" for n in range(15, 24)]
LIVES = {
    KDA: [None, *((*VERIFY, n) for n in (221, 270, 270, 299, 299, 299, 295, 296))],
    AMX: [None, *((*METADATA, n) for n in (80, 81, 83, 84, 85, 85, 85, 86))],
    PHASE: [None, *((*TOKENS, n) for n in (113, 115, 124, 126, 125, 120, 123, 110))],
    OLD_CHAIN: [None, (*ARGS, 5374), *[None] * 7],
    CHAIN: [
        None,
        None,
        (*ARGS, 6174),
        (*ARGS, 6390),
        *((*HOOK, n) for n in (385, 366, 363, 451, 452)),
    ],
}


def sglang(version: str) -> Wheel:
    return fetch("sglang", version, load_settings())


@pytest.mark.wheel
def test_the_published_errors_stand_where_they_stood_in_every_release() -> None:
    lives: dict[str, list[tuple[str, str, int] | None]] = {t: [] for t in LIVES}
    for version in RELEASES:
        found = locate(sglang(version), LIVES)
        for template, life in lives.items():
            here = [s for s in found if s.words == skeleton(template)]
            assert len(here) <= 1
            life.append((here[0].file, here[0].function, here[0].line) if here else None)
    assert lives == LIVES


@pytest.mark.wheel
def test_the_rewording_and_the_move_of_the_draft_chain_error_are_seen() -> None:
    before, after, later = (locate(sglang(v), [OLD_CHAIN, CHAIN]) for v in RELEASES[1:4])
    moved = locate(sglang("0.5.19"), CHAIN)
    (reworded,) = compare(places(before), places(after), telling(before), telling(after))
    assert (reworded.status, reworded.replaced) == ("reworded", True)
    assert reworded.previous == before[0].entry_id
    assert compare(places(after), places(later), telling(after), telling(later)) == []
    (change,) = compare(places(later), places(moved), telling(later), telling(moved))
    assert (change.status, change.entry_id) == ("moved", reworded.entry_id)


@pytest.mark.wheel
def test_locating_takes_about_as_long_as_unpacking() -> None:
    wheel = sglang("0.5.23")
    started = time.process_time()
    for name in wheel.names():
        wheel.read(name)
    unpacking = time.process_time() - started
    started = time.process_time()
    assert locate(wheel, [KDA, PHASE])
    assert time.process_time() - started < 3 * unpacking + 0.5
