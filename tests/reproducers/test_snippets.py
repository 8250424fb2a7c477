"""A page's code is believed only as far as it agrees with the engine."""

import pytest

from reproducers.protocol import Request
from reproducers.protocol import Subject as Named
from reproducers.snippets import (
    BROKEN,
    FIXED,
    TYPE_GUARD,
    VALIDATOR,
    define,
    example,
    judge,
    outcome,
)
from reproducers.upstream.subject import Subject

RIGHT = {
    VALIDATOR: "def validate(n):\n    if n < 0:\n        raise ValueError('negative')\n",
    TYPE_GUARD: "def is_size(n) -> bool:\n    return n >= 0\n",
}
CASES = {"one": lambda: (1,), "minus one": lambda: (-1,)}


def engine(n: int) -> int:
    """What is called for real in these tests: refuses negative numbers."""
    if n < 0:
        raise ValueError(f"negative dimension {n}")
    return n


@pytest.fixture
def subject() -> Subject:
    """A notebook for claims that needs no release."""
    request = Request(kind="reproducer", subject=Named(name="reference"), scratch="")
    return Subject(request, None, lambda _event: None)


def test_verdicts_that_agree_with_the_engine_are_right_claims(subject: Subject) -> None:
    judge(subject, RIGHT, CASES, engine)
    assert [c["ok"] for c in subject.claims] == [True] * 4
    assert [c["got"] for c in subject.claims] == ["accepts", "refuses"] * 2


@pytest.mark.parametrize("body", ["pass", "raise ValueError('always')"])
def test_a_validator_that_differs_from_the_engine_is_a_wrong_claim(
    subject: Subject, body: str
) -> None:
    judge(subject, {VALIDATOR: f"def validate(n):\n    {body}\n"}, CASES, engine, only=VALIDATOR)
    assert sorted(c["ok"] for c in subject.claims) == [False, True]


def test_a_type_guard_has_to_say_true_and_nothing_like_it(subject: Subject) -> None:
    judge(subject, {TYPE_GUARD: "def is_size(n):\n    return 1\n"}, CASES, engine, only=TYPE_GUARD)
    assert [c["got"] for c in subject.claims] == ["refuses", "refuses"]


def test_cases_must_hold_good_and_bad_input(subject: Subject) -> None:
    with pytest.raises(ValueError, match="both good and bad"):
        judge(subject, RIGHT, {"one": lambda: (1,), "two": lambda: (2,)}, engine)


def test_a_section_that_the_page_lacks_cannot_be_skipped() -> None:
    with pytest.raises(LookupError, match="Type guard"):
        define({VALIDATOR: RIGHT[VALIDATOR]}, TYPE_GUARD)


def test_code_that_defines_something_else_is_told() -> None:
    with pytest.raises(LookupError, match="defines no function validate"):
        define({VALIDATOR: "def check(n): pass\n"}, VALIDATOR)


@pytest.mark.parametrize(
    ("broken", "fixed", "right"),
    [
        ("engine(-1)", "engine(1)", [True, True]),
        ("engine('x')", "engine(1)", [False, True]),
        ("engine(1)", "engine(1)", [False, True]),
        ("engine(-1)", "engine(-2)", [True, False]),
    ],
)
def test_a_broken_example_must_fail_with_its_own_error_and_the_fixed_one_pass(
    subject: Subject, broken: str, fixed: str, right: list[bool]
) -> None:
    snippets = {BROKEN: broken, FIXED: fixed}
    example(subject, snippets, lambda: {"engine": engine}, ValueError, "negative dimension")
    assert [c["ok"] for c in subject.claims] == right


def test_an_outcome_names_class_and_message() -> None:
    assert outcome(lambda: engine(3)) == "returns"
    assert outcome(lambda: engine(-3)) == "ValueError: negative dimension -3"
