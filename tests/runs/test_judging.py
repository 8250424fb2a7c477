"""What a run shows and what it does not, from the request to the result."""

from dataclasses import replace

import pytest

from app.runs import execute, passed
from app.runs.sandbox import needs_line, with_line
from reproducers.protocol import Result
from tests.runs.toys import Toys


def test_what_the_claims_assert_does_not_stand_in_for_the_fix(toys: Toys) -> None:
    reproducer = """
        def fix(subject):
            subject.load("toy.engine").check(4)

        def claims(subject, snippets):
            subject.check("asserted-later", True)
            subject.check("not-so", 1 == 2, got=1, expected=2)
    """
    result = execute(toys.request("fix", reproducer=reproducer, snippets={"Type guard": "1"}))
    assert result.reason == "nothing was asserted about the result"
    assert result.checks == []
    assert [(c["id"], c["ok"]) for c in result.claims] == [
        ("asserted-later", True),
        ("not-so", False),
    ]
    assert not passed(result, "fix")


SILENT_SITE = ({"file": "toy/engine.py", "function": "check", "guardLines": []},)
SILENT = """
    def trigger(subject):
        engine = subject.load("toy.engine")
        {call}
        subject.wrong_result(expected=1, got=2)
"""


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        ("engine.check(1)", "wrong-result"),
        ("engine.Server().start(1)", "wrong-result"),
        ("pass", "returned"),
        ("str(engine.check)", "returned"),
        ("""try:
            engine.check(5)
        except ValueError:
            pass""", "returned"),
    ],
)  # fmt: skip
def test_a_wrong_result_has_to_come_from_the_entrys_own_function(
    toys: Toys, call: str, outcome: str
) -> None:
    result = execute(toys.request(reproducer=SILENT.format(call=call), sites=SILENT_SITE))
    assert (result.outcome, result.guard_reached) == (outcome, outcome == "wrong-result")
    assert passed(result, "trigger", silent=True) == (outcome == "wrong-result")
    assert (result.expected, result.got) == (1, 2)


def test_a_fix_whose_trigger_did_not_show_the_error_passes_nothing(toys: Toys) -> None:
    request = toys.request("fix", sites=SILENT_SITE)
    assert needs_line(request)
    other = Result(outcome="raised", error_class="TypeError", matched=False)
    assert not execute(with_line(request, other)).guard_reached
    shown = execute(replace(request, step="trigger"))
    assert shown.matched
    assert with_line(request, shown).sites[0]["guardLines"] == [3]


def test_the_packages_of_a_wheel_need_not_bear_its_name(toys: Toys) -> None:
    request = toys.request()
    named = replace(request.subject, package="toy-python", name="toy-python==1.0")
    result = execute(replace(request, subject=named))
    assert result.site is not None
    assert passed(result, "trigger")
