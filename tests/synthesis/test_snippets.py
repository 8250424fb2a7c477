"""What was found is written as a person would write it: whole calls, objects, what stands in."""

import ast

import pytest

from app.runs.found import Found
from app.services.synthesized import page_of
from app.services.synthesized_snippet import snippet
from app.services.synthesized_values import rendered, tokens, tree, written


def result(**given: object) -> Found:
    """A stored result of `pool.checks.Pool.take`, with what a test changes."""
    trigger = {"values": given.pop("values", {}), "replaced": given.pop("replaced", []),
               "settled": {}, "used": given.pop("used", {})}  # fmt: skip
    call = {"required": ["self", "n"], "decorators": [], "owner": "Pool", "patched": {}}
    found: Found = {
        "file": "pool/checks.py", "function": "Pool.take", "qualname": "Pool.take",
        "params": {"self": "object", "n": "int", "strict": "bool"},
        "trigger": trigger, "fix": {"changes": given.pop("changes", {})},
        "call": {**call, **given},
    }  # fmt: skip
    return found


def test_a_method_is_called_on_an_object_that_holds_what_the_check_looks_at() -> None:
    found = result(values={"self.size": 1, "n": 2}, changes={"n": 1})
    assert snippet(found, fixed=False) == (
        "from pool.checks import Pool\n\npool = object.__new__(Pool)\npool.size = 1\npool.take(n=2)"
    )
    assert snippet(found, fixed=True).endswith("pool.take(n=1)")


def test_a_required_argument_is_given_even_if_only_its_kind_matters() -> None:
    text = snippet(result(used={"n": 1, "strict": False}), fixed=False)
    assert text.endswith("pool.take(n=1)"), "and one with a default is left out"


def test_a_coroutine_is_run_and_what_is_not_called_is_patched() -> None:
    path = "call:pool.system.cores"
    found = result(
        values={"n": 2, "cores().count": 1},
        replaced=[path],
        patched={path: "pool.checks.cores"},
        **{"async": True},
    )
    text = snippet(found, fixed=False)
    assert "import asyncio\n" in text
    assert 'with patch("pool.checks.cores", return_value=SimpleNamespace(count=1)):' in text
    assert "    asyncio.run(pool.take(n=2))" in text
    compile(text, "<snippet>", "exec")


def test_what_belonged_to_a_changed_input_is_not_told_of_the_new_one() -> None:
    used = {"n.rows": 3}
    found = result(values={"n": {"$": "thing", "class": ""}}, used=used, changes={"n": None})
    assert "n = SimpleNamespace(rows=3)" in snippet(found, fixed=False)
    assert snippet(found, fixed=True).endswith("pool.take(n=None)")


def test_a_corrected_line_says_what_is_other_than_before() -> None:
    program = "python -m sglang.launch_server --model-path my-model"
    found = result() | {"entryId": "", "level": "launch", "reason": None, "line": 1}
    found["fix"] = {"rank": "legal value", "changes": {"server_args.steps": 1}}
    for fix, rank, text in (
        (f"TINY_MOST=8 {program} --fast", "other choice", "with TINY_MOST 8"),
        (program, "dropped", "without --fast"),
        (f"{program} --fast --size 8 9", "other choice", "with --size 8 9"),
    ):
        found["launch"] = {
            "confirmed": True, "trigger": f"{program} --fast", "fix": fix,
            "changes": ["server_args.fast"], "gpu": "h100", "config": False,
        }  # fmt: skip
        page = page_of("pool==1.0", found)
        assert (page.fix_rank, page.fix_text) == (rank, text)
        assert page.assumptions == ["The line was checked with a simulated h100."]


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a.b", ["a", ".b"]),
        ("a.get(x[1])[0].c", ["a", ".get", "(x[1])", "[0]", ".c"]),
    ],
)
def test_a_path_is_taken_apart(path: str, parts: list[str]) -> None:
    assert tokens(path) == parts


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"o.a": 1, "o.b.c": "x"}, 'SimpleNamespace(a=1, b=SimpleNamespace(c="x"))'),
        ({"o.size()": 3}, "SimpleNamespace(size=lambda *args, **kwargs: 3)"),
        ({"o[0].a": 1}, "[SimpleNamespace(a=1)]"),
        (
            {"o.a()": {"$": "raises", "class": "OSError"}},
            "SimpleNamespace(a=Mock(side_effect=OSError))",
        ),
        ({"o.a": {"$": "absent"}, "o.b": None}, "SimpleNamespace(b=None)"),
    ],
)  # fmt: skip
def test_objects_are_put_together_from_their_paths(values: dict[str, object], text: str) -> None:
    assert rendered(tree(values)["o"]) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"$": "tensor", "shape": [2], "dtype": "int32", "device": "cpu", "contiguous": True},
         "torch.zeros(2, dtype=torch.int32)"),
        ({"$": "member", "module": "torch", "name": "bfloat16"}, "torch.bfloat16"),
        ({"$": "tuple", "v": [1]}, "(1,)"),
        ({"$": "set", "v": [1, 2]}, "{1, 2}"),
        ({"$": "thing", "class": "builtins:RuntimeError"}, 'RuntimeError("unavailable")'),
    ],
)  # fmt: skip
def test_a_stored_value_is_written_as_python(value: object, text: str) -> None:
    assert written(value) == text


def test_a_corrected_line_is_a_fix_where_no_change_of_the_call_was_found() -> None:
    program = "python -m sglang.launch_server --model-path my-model"
    found = result() | {"entryId": "", "level": "launch", "reason": "no-fix", "line": 1}
    found["fix"] = None
    found["launch"] = {
        "confirmed": True, "trigger": f"{program} --fast", "fix": program,
        "changes": ["server_args.fast"], "gpu": "h100", "config": False,
    }  # fmt: skip
    page = page_of("pool==1.0", found)
    assert (page.fix, page.fix_text, page.reason) == (program, "without --fast", "")


@pytest.mark.parametrize("text", ['a "b"', "a\\b", "a\rb\tc\n", "\x1b[1m", "„ü“"])
def test_a_text_is_written_so_that_python_reads_it_back(text: str) -> None:
    assert ast.literal_eval(written(text)) == text
