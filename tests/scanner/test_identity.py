"""Ids: what they are made of, and what they do not depend on."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from app.scanner.identity import entry_id, site_id
from app.scanner.release import number_sites
from app.scanner.templates import Hole, skeleton
from app.scanner.variants import merge
from tests.scanner.reading import sites_in

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
parts = st.lists(st.one_of(texts, st.just(Hole("x"))), max_size=5).map(merge)


def test_an_id_is_the_hash_of_package_class_and_empty_template() -> None:
    named = "v1\0sglang\0RuntimeError\0needs {} rows"
    wanted = hashlib.sha256(named.encode()).hexdigest()[:16]
    assert entry_id("sglang", "RuntimeError", "needs {self.n!r:>3} rows") == wanted
    assert entry_id("sglang", "errors.RuntimeError", "needs\n {n}  rows") == wanted


def test_expressions_places_and_lines_do_not_change_an_id() -> None:
    (one,) = sites_in('def f(self):\n    raise ValueError(f"bad {self.n}")\n', "engine/a.py")
    (two,) = sites_in('\n\ndef g(n):\n    raise ValueError(f"bad {n!r}")\n', "engine/b/c.py")
    assert one.entry_id == two.entry_id


def test_another_class_word_or_package_is_another_entry() -> None:
    ids = {
        entry_id("sglang", "ValueError", "bad {n}"),
        entry_id("sglang", "TypeError", "bad {n}"),
        entry_id("sglang", "ValueError", "bad {n}."),
        entry_id("vllm", "ValueError", "bad {n}"),
        entry_id("sglang", "ValueError", "bad {{}}"),
        entry_id("sglang", "ValueError", "", condition="bad {}"),
    }
    assert len(ids) == 6


@given(parts, parts)
def test_two_templates_share_an_id_only_if_their_skeletons_are_the_same(
    one: list[str | Hole], two: list[str | Hole]
) -> None:
    same = skeleton(one) == skeleton(two)
    assert (entry_id("p", "E", one) == entry_id("p", "E", two)) is same


def test_sites_without_words_are_told_apart_by_their_condition() -> None:
    text = """\
def f(a):
    if a is None:
        raise ValueError
    if a.b:
        raise ValueError
    assert a
    assert a.b
    if a.c:
        raise ValueError(str(a))


class C:
    def forward(self):
        raise NotImplementedError()
"""
    sites = sites_in(text)
    assert [s.condition for s in sites] == [
        "if a is None",
        "if a.b",
        "assert a",
        "assert a.b",
        "{a} if a.c",
        "in forward",
    ]
    assert len({s.entry_id for s in sites}) == 6
    assert [s.unrecoverable for s in sites] == [False, False, False, False, True, False]


def test_equal_places_are_numbered_in_reading_order() -> None:
    text = "def f(a):\n" + "    if a: raise ValueError('same')\n" * 3
    sites = sites_in(text)
    number_sites(sites)
    entry = sites[0].entry_id
    assert [s.site_id for s in sites] == [site_id(entry, "f", i) for i in range(3)]
