"""The rules: examples of every family, what decides first, and how fast they are."""

import pytest

from app.scanner.families import TAGS, classify, deciding_guards
from app.scanner.guards import Guard
from tests.families.examples import EXAMPLES


@pytest.mark.parametrize(("family", "error_class", "template", "guard", "kind"), EXAMPLES)
def test_an_example_gets_its_family(
    family: str, error_class: str, template: str, guard: str, kind: str
) -> None:
    assert classify(error_class, template, [guard] if guard else [], kind) == family


def test_every_family_has_an_example() -> None:
    assert {example[0] for example in EXAMPLES} == set(TAGS)


def test_a_log_line_goes_by_what_happens_next_and_an_exception_by_its_reason() -> None:
    text = "flash-attn is not installed, falling back to SDPA"
    assert classify("WARNING", text, [], "log") == "fallback"
    assert classify("RuntimeError", text, [], "raise") == "missing-dependency"


def test_only_the_innermost_guard_decides() -> None:
    guards = ["not isinstance(x, list)", "x.ndim != 2"]
    assert classify("ValueError", "bad value", guards, "raise") == "shape-mismatch"


def test_the_module_of_a_class_does_not_matter() -> None:
    assert classify("torch.cuda.OutOfMemoryError", "", [], "raise") == "out-of-memory"
    assert classify("c10::NotImplementedError", "", [], "native") == "not-implemented"


def test_what_no_rule_knows_gets_no_family() -> None:
    assert classify("ValueError", "hmm", [], "raise") is None
    assert classify("", "", [], "raise") is None


def test_odd_templates_are_read_as_far_as_they_go() -> None:
    for template in ("{", "}", "{{}}", "{a[{b}]}", "\ud800", "x" * 100_000, "{" * 5_000):
        assert classify("ValueError", template, ["{" * 5_000], "raise") is None


def test_exits_loops_and_earlier_assertions_do_not_lead_to_a_site() -> None:
    guards = [
        Guard("x is None", "if", 1),
        Guard("y", "else", 2),
        Guard("z > 0", "exit", 3),
        Guard("rows", "loop", 4),
        Guard("w == 1", "assert", 5),
    ]
    assert deciding_guards(guards, "raise") == ["x is None", "not (y)"]
    assert deciding_guards(guards, "assert") == ["x is None", "not (y)", "w == 1"]
    assert deciding_guards([Guard("OSError", "except", 1)], "log") == ["except OSError"]
