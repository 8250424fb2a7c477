"""Where a message stands today, and under which condition it is raised."""

from typing import Any

import pytest

from app.diagnosis.diagnose import diagnose
from app.diagnosis.index import Index
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Finding
from app.loading.index import ReleaseSites, build
from tests.diagnosis.engines import Site
from tests.diagnosis.test_matcher import root, traceback


def asked(releases: list[list[Site]], log: str) -> Finding:
    made = [ReleaseSites("sglang", f"1.{n}", sites) for n, sites in enumerate(releases)]
    return root(diagnose(log, matcher=Matcher(Index(build(made, [])))))


OLD = Site("ValueError", "kv_allocator has lost some slots! {message}", "Pool.check", 10)
NEW = Site("ValueError", "{name} has lost some slots! {message}", "Checker.report", 30)
LONGER = Site(
    "ValueError", "kv_allocator has lost some slots! {message}, since {time}", "Pool.check", 12
)


def test_a_message_that_is_gone_is_shown_in_the_wording_that_it_also_fits() -> None:
    log = traceback(
        OLD.file, "check", 10, "ValueError: kv_allocator has lost some slots! free=3, total=4"
    )
    site = asked([[OLD], [NEW]], log).site
    assert site is not None
    assert site.today is not None
    assert (site.status, site.today["function"]) == ("reworded", "Checker.report")


def test_what_was_reworded_and_then_removed_is_gone_after_the_later_wording() -> None:
    log = traceback(
        OLD.file, "check", 10, "ValueError: kv_allocator has lost some slots! free=3, total=4"
    )
    site = asked([[OLD], [LONGER], []], log).site
    assert site is not None
    assert (site.today, site.last_release) == (None, "sglang==1.1")


def test_a_message_is_not_shown_as_one_that_only_begins_alike() -> None:
    other = Site(
        "ValueError", "kv_allocator has lost its way between {a} and {b}", "Pool.check", 12
    )
    log = traceback(
        OLD.file, "check", 10, "ValueError: kv_allocator has lost some slots! free=3, total=4"
    )
    site = asked([[OLD], [other]], log).site
    assert site is not None
    assert (site.today, site.last_release) == (None, "sglang==1.0")


def bare(owner: str, function: str) -> Site:
    condition = f"assert {owner}.number_of_steps is None and {owner}.number_of_draft_tokens is None"
    return Site("AssertionError", "", function, 10, kind="assert", condition=condition)


def test_a_bare_assert_is_followed_to_another_owner_of_its_fields() -> None:
    source = "assert self.number_of_steps is None and self.number_of_draft_tokens is None"
    log = traceback("sglang/srt/pool.py", "check", 10, "AssertionError", source)
    found = asked([[bare("self", "Pool.check")], [bare("cfg", "check_pool")]], log)
    assert found.site is not None
    assert found.site.today is not None
    assert (found.site.status, found.site.today["function"]) == ("moved", "check_pool")
    assert "self.number_of_steps" in found.meaning


def test_a_bare_assert_beside_which_its_like_stood_before_has_not_become_it() -> None:
    source = "assert self.number_of_steps is None and self.number_of_draft_tokens is None"
    log = traceback("sglang/srt/pool.py", "check", 10, "AssertionError", source)
    both = [bare("self", "Pool.check"), bare("cfg", "check_pool")]
    found = asked([both, both[1:]], log)
    assert found.site is not None
    assert found.site.status == "gone"


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("if", "n > 3", "`n > 3`"),
        ("else", "n > 3", "`not (n > 3)`"),
        ("exit", "n > 3", "`not (n > 3)`"),
        ("else", "not ready", "`ready`"),
        ("loop", "for n in sizes", ""),
        ("except", "KeyError", ""),
    ],
)
def test_a_condition_is_said_as_it_holds(kind: str, text: str, shown: str) -> None:
    guards: list[dict[str, Any]] = [{"kind": kind, "text": text, "line": 9}]
    site = Site("ValueError", "too many slots: {n}", "Pool.check", 10, guards=guards)
    log = traceback(site.file, "check", 10, "ValueError: too many slots: 4")
    assert asked([[site]], log).meaning == (
        f"It is raised under this condition: {shown}." if shown else ""
    )
