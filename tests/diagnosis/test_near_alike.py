"""What tells messages apart that are worded alike, and messages that are only half there."""

import pytest

from app.diagnosis.diagnose import diagnose
from app.diagnosis.index import Index
from app.diagnosis.matcher import Matcher
from app.loading.index import ReleaseSites, build
from tests.diagnosis.engines import LINES, Site
from tests.diagnosis.test_matcher import root, traceback

FIRST = Site("AssertionError", "", "give", 71, kind="assert", condition="assert a > 0")
SECOND = Site("AssertionError", "", "give", 75, kind="assert", condition="assert b > 0")
OLD = Site("ValueError", "the pool of {name} cannot shrink below {n}", "shrink", 30)
SHAPES = Site("ValueError", "tile ({m}, {n}) does not divide the batch of {k}", "tile", 9)
ARCH = Site("RuntimeError", "needs SM90 or newer to run, got sm{major}{minor}", "arch", 3)
VALUE_FIRST = Site("ValueError", "{name} state payload requires transitions between steps", "go", 5)
SHORT = Site(
    "ValueError", "the draft model is not available here, look at the installation.", "d", 1
)
LONG = Site(
    "ValueError",
    "the draft model is not available here, look at the installation. Sampling of {what} needs"
    " the kernels that come with it",
    "draft",
    50,
)
READS = Site("EOFError", "short read at offset {at}, {left} bytes remain", "read", 8)
STRANGE = Site("ValueError", "the vllm kernels are missing, so {name} cannot be packed", "pack", 2)
USAGE = Site("SystemExit", "--zipf requires --alpha above zero", "check", 4, kind="argparse")
RAISED = Site("ValueError", "--zipf requires --alpha above zero", "check", 6)
LOUD = Site("ERROR", "state of {rid} was deleted under the scheduler", "out", 7, kind="log")
QUIET = Site("WARNING", "state of {rid} was deleted under the scheduler", "out", 9, kind="log")
COLOURED = Site("RuntimeError", "\x1b[91m\x1b[1mCRITICAL: {lib} breaks the kernels\x1b[0m", "v", 1)
MODULE = Site("ImportError", "the attention package for cards of this kind is missing", "", 23)
NOW = [
    *(FIRST, SECOND, SHAPES, ARCH, VALUE_FIRST, SHORT, LONG, READS, STRANGE, USAGE, RAISED),
    *(LOUD, QUIET, COLOURED, MODULE, LINES),
]
THEN = Site("ValueError", OLD.template, "shrink", 44, file="sglang/srt/old_pool.py")


@pytest.fixture(scope="module")
def alike() -> Matcher:
    releases = [
        ReleaseSites("sglang", "1.0", [THEN, FIRST, SECOND]),
        ReleaseSites("sglang", "1.1", [OLD, *NOW]),
    ]
    return Matcher(Index(build(releases, [])))


def bare(log: str) -> str:
    """A traceback without code lines."""
    return "\n".join(line for line in log.split("\n") if line != "    raise x")


@pytest.mark.parametrize("site", [FIRST, SECOND])
@pytest.mark.parametrize("offset", [0, 1])
def test_without_code_the_line_tells_two_bare_asserts_apart(
    alike: Matcher, site: Site, offset: int
) -> None:
    log = bare(traceback(site.file, "give", site.line + offset, "AssertionError"))
    assert root(diagnose(log, matcher=alike)).entry_id == site.entry_id


def test_a_class_of_the_width_of_no_terminal_is_not_joined_to_its_frame(alike: Matcher) -> None:
    longest = bare(traceback("sglang/srt/" + "x" * 60 + ".py", "f", 1, "KeyboardInterrupt"))
    found = root(diagnose(longest, matcher=alike))
    assert (found.error_class, found.frame and found.frame.function) == ("KeyboardInterrupt", "f")


@pytest.mark.parametrize("site", [OLD, THEN])
def test_the_frame_says_which_place_it_was_if_no_release_is_known(
    alike: Matcher, site: Site
) -> None:
    said = "ValueError: the pool of kv cannot shrink below 3"
    found = root(diagnose(traceback(site.file, "shrink", site.line, said), matcher=alike)).site
    assert found is not None
    assert (found.file, found.line) == (site.file, site.line)


def test_a_comma_in_brackets_is_no_comma_between_values(alike: Matcher) -> None:
    found = root(diagnose("ValueError: tile ([1, 2], (3, 4)) does not divide the batch of 5",
                          matcher=alike))  # fmt: skip
    assert {n: found.params[n] for n in "mnk"} == {"m": "[1, 2]", "n": "(3, 4)", "k": 5}


def test_a_version_without_a_dot_is_split_before_its_last_digit(alike: Matcher) -> None:
    found = root(diagnose("RuntimeError: needs SM90 or newer to run, got sm120", matcher=alike))
    assert (found.params["major"], found.params["minor"]) == (12, 0)


@pytest.mark.parametrize(
    ("site", "said"),
    [
        (STRANGE, "the vllm kernels are missing, so"),
        (STRANGE, "the vllm kernels are missing, so q_proj cannot be p"),
        (VALUE_FIRST, "fa3 state payload requires"),
        (SHORT, "the draft model is not avail"),
        (LONG, "the draft model is not available here, look at the installation. Sampling of x ne"),
    ],
)
def test_a_message_that_is_cut_off_is_told_by_its_beginning_and_place(
    alike: Matcher, site: Site, said: str
) -> None:
    log = traceback(site.file, site.function, site.line, f"{site.error_class}: {said}")
    assert root(diagnose(log.rstrip("\n"), matcher=alike)).entry_id == site.entry_id


def test_the_name_of_another_engine_in_a_message_makes_it_no_message_of_that_engine(
    alike: Matcher,
) -> None:
    said = "ValueError: the vllm kernels are missing, so q_proj cannot be packed"
    assert root(diagnose(said, matcher=alike)).entry_id == STRANGE.entry_id


def test_a_class_that_speaks_of_peers_is_an_error_of_its_own_in_the_engines_words(
    alike: Matcher,
) -> None:
    log = traceback(READS.file, "read", 8, "EOFError: short read at offset 5, 3 bytes remain")
    log += "[2026-01-01 00:00:09] Received sigquit from a child process.\n"
    assert root(diagnose(log, matcher=alike)).entry_id == READS.entry_id


def test_a_pasted_message_is_found_by_the_words_of_its_second_line(alike: Matcher) -> None:
    said = "No room for the batch.\nTried to place 7 tokens.\nfull"
    assert root(diagnose(said, matcher=alike)).entry_id == LINES.entry_id


@pytest.mark.parametrize(
    ("log", "site"),
    [
        ("serve.py: error: --zipf requires --alpha above zero", USAGE),
        ("ValueError: --zipf requires --alpha above zero", RAISED),
        ("[2026-01-01 00:00:09 TP0] state of r7 was deleted under the scheduler", LOUD),
    ],
)
def test_the_form_of_a_line_says_how_it_came_about(alike: Matcher, log: str, site: Site) -> None:
    assert root(diagnose(log, matcher=alike)).entry_id == site.entry_id


def test_a_line_that_calls_itself_a_warning_is_one(alike: Matcher) -> None:
    log = "2026-01-01 00:00:09 WARNING state of r7 was deleted under the scheduler"
    answer = diagnose(log, matcher=alike)
    assert answer.findings == []
    assert [w.entry_id for w in answer.warnings] == [QUIET.entry_id]


@pytest.mark.parametrize("said", ["\x1b[91m\x1b[1mCRITICAL: nccl breaks the kernels\x1b[0m",
                                  "CRITICAL: nccl breaks the kernels"])  # fmt: skip
def test_colours_of_a_message_are_no_part_of_it(alike: Matcher, said: str) -> None:
    found = root(diagnose(f"RuntimeError: {said}", matcher=alike))
    assert (found.entry_id, found.params["lib"]) == (COLOURED.entry_id, "nccl")


def test_code_outside_every_function_is_a_place_as_well(alike: Matcher) -> None:
    log = traceback(MODULE.file, "<module>", 23, f"ImportError: {MODULE.template}")
    found = root(diagnose(log, matcher=alike))
    assert (found.frame and found.frame.function, found.site and found.site.function) == (
        "<module>",
        "<module>",
    )
