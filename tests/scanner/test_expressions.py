"""Expressions as text: what is quick is the same as what Python writes."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scanner.expressions import is_class_name, is_text, last_name, text_of

NAMES = st.sampled_from(
    ["a", "self.x.y", "f(a)", "f(a, b=c)", "a[0]", "a[-1]", "x['k']", "1", "'s'"]
)
OPERATORS = ["+", "%", "//", "**", "|", "@", "==", "<", "in", "is not", "not in", "and", "or"]


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("(not {})".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("({},)".format, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{{}, {}}}".format, inner, inner),
        st.builds("g({}, k={})".format, inner, inner),
        st.builds("({}).z".format, inner),
        st.builds("a[{}]".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("(lambda q: {})".format, inner),
        st.builds("[q for q in {}]".format, inner),
        st.builds("f'{{{}}}'".format, st.just("a")),
    )


@given(st.recursive(NAMES, deeper, max_leaves=6))
def test_the_text_of_an_expression_is_what_python_writes(source: str) -> None:
    node = ast.parse(source, mode="eval").body
    assert text_of(node) == ast.unparse(node)


def test_a_table_of_data_is_cut() -> None:
    node = ast.parse(str(list(range(5000))), mode="eval").body
    assert text_of(node).endswith("…")
    assert len(text_of(node)) < 3000


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'a'", True),
        ("f'{x}'", True),
        ("x + 'a'", True),
        ("'%s' % x", True),
        ("'-' * 3", True),
        ("'a' if x else y", True),
        ("x or 'a'", True),
        ("', '.join(x)", True),
        ("dedent('a')", True),
        ("x", False),
        ("1", False),
        ("f('a')", False),
        ("x + y", False),
    ],
)
def test_text_is_told_from_what_may_be_anything(source: str, text: bool) -> None:  # noqa: FBT001  # a table's column
    assert is_text(ast.parse(source, mode="eval").body) is text


def test_names_of_classes_and_last_names() -> None:
    assert [is_class_name(n) for n in ("a.Error", "_Error", "error", "a.error")] == [
        True,
        True,
        False,
        False,
    ]
    assert last_name(ast.parse("a.b.c", mode="eval").body) == "c"
    assert last_name(ast.parse("a()", mode="eval").body) == ""
