"""What a refusal names is tried on the corrected line before an option is dropped."""

from reproducers.launch.options import Option, Options
from reproducers.synthesis.remedies import remedies


def options() -> Options:
    made = (
        Option(("--chunk-size",), "chunk_size", "int", None, (), 8192),
        Option(("--most",), "most", "int", None, (), None),
        Option(("--strict",), "strict", "flag", 0, (), default=False),
        Option(("--backend",), "backend", "str", None, ("fast", "slow"), "fast"),
    )
    return Options(made, {name: o for o in made for name in o.names})


def test_numbers_are_given_to_the_options_that_are_named() -> None:
    found = remedies("needs 8192, has 128: lower --chunk-size or --most", options(), {})
    assert found[0] == {"server_args.chunk_size": 128, "server_args.most": 128}
    assert {"server_args.chunk_size": 8192} in found


def test_a_variable_gets_what_is_required() -> None:
    found = remedies("SGLANG_TINY_MOST is 128, required=8192", options(), {})
    assert found == [{"env:SGLANG_TINY_MOST": "8192"}]


def test_flags_and_choices_are_taken_up_and_what_is_given_already_is_not() -> None:
    assert remedies("please add --strict", options(), {}) == [{"server_args.strict": True}]
    assert remedies("please add --strict", options(), {"strict": True}) == []
    assert remedies("--backend fast or slow", options(), {"backend": "fast"}) == [
        {"server_args.backend": "slow"}
    ]
