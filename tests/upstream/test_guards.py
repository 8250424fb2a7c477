"""The guard's own line: which lines count, and whether a call really executed one of them."""

import importlib.util
import textwrap
import threading
import types
from pathlib import Path
from typing import Any

import pytest

from reproducers.upstream.guards import GuardTrace, condition_lines


def lines(tmp_path: Path, source: str, first: int, site: int) -> list[int]:
    path = tmp_path / "engine.py"
    path.write_text(textwrap.dedent(source).lstrip("\n"))
    return sorted(condition_lines(path, [first], site))


def test_a_condition_over_several_lines_counts_with_all_of_them(tmp_path: Path) -> None:
    source = """
        def f(n):
            if (
                n > 4
                and n < 9
            ):
                raise ValueError(n)
    """
    assert lines(tmp_path, source, 2, 6) == [2, 3, 4]


def test_a_run_of_exits_is_one_guard(tmp_path: Path) -> None:
    source = """
        def f(n):
            if n is None:
                return 0
            n = int(n)
            if n == 1:
                return 1
            if n == 2:
                return 2
            raise ValueError(n)
    """
    assert lines(tmp_path, source, 7, 9) == [5, 7]


def test_the_else_of_a_chain_is_guarded_by_all_its_tests(tmp_path: Path) -> None:
    source = """
        def f(n):
            if n == 1:
                return 1
            elif n == 2:
                return 2
            else:
                raise ValueError(n)
    """
    assert lines(tmp_path, source, 4, 7) == [2, 4]


def test_a_branch_of_a_chain_is_guarded_by_its_own_test(tmp_path: Path) -> None:
    source = """
        def f(n):
            if n == 1:
                return 1
            elif n == 2:
                raise ValueError(n)
            return 0
    """
    assert lines(tmp_path, source, 4, 5) == [4]


def test_a_handler_is_guarded_by_what_it_handles(tmp_path: Path) -> None:
    source = """
        def f(n):
            try:
                return int(n)
            except TypeError as e:
                raise ValueError(n) from e
    """
    assert lines(tmp_path, source, 4, 5) == [3, 4]


def test_an_assertion_is_its_own_guard(tmp_path: Path) -> None:
    source = """
        def f(n):
            assert (
                n < 4
            ), n
    """
    assert lines(tmp_path, source, 2, 2) == [2, 3, 4]


def test_a_file_that_cannot_be_read_leaves_the_line_itself(tmp_path: Path) -> None:
    assert condition_lines(tmp_path / "none.py", [7], 8) == {7}


@pytest.fixture
def engine(tmp_path: Path) -> types.ModuleType:
    path = tmp_path / "engine.py"
    path.write_text(
        "def f(n, skip=False):\n    if skip:\n        return 0\n    n += 1\n"
        "    if n > 4:\n        raise ValueError(n)\n    return n\n"
    )
    spec = importlib.util.spec_from_file_location("engine", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SITE = {"file": "engine.py", "line": 6, "guardLines": [5]}


def test_a_call_that_passes_the_guard_is_noticed(engine: types.ModuleType, tmp_path: Path) -> None:
    with GuardTrace(str(tmp_path), [SITE]) as trace:
        engine.f(1)
    assert trace.reached


def test_a_call_that_leaves_before_it_is_not(engine: types.ModuleType, tmp_path: Path) -> None:
    with GuardTrace(str(tmp_path), [SITE]) as trace:
        engine.f(1, skip=True)
    assert not trace.reached


def test_a_call_in_a_thread_counts(engine: types.ModuleType, tmp_path: Path) -> None:
    with GuardTrace(str(tmp_path), [SITE]) as trace:
        thread = threading.Thread(target=engine.f, args=(1,))
        thread.start()
        thread.join()
    assert trace.reached


def refused(engine: types.ModuleType, n: int = 9) -> None:
    with pytest.raises(ValueError, match="10"):
        engine.f(n)


def test_a_call_that_the_guard_refuses_does_not_pass_it(
    engine: types.ModuleType, tmp_path: Path
) -> None:
    with GuardTrace(str(tmp_path), [SITE]) as trace:
        refused(engine)
    assert not trace.reached


def test_after_a_refusal_a_call_has_to_pass_the_guard_anew(
    engine: types.ModuleType, tmp_path: Path
) -> None:
    with GuardTrace(str(tmp_path), [SITE]) as trace:
        engine.f(1)
        refused(engine)
        engine.f(1, skip=True)
    assert not trace.reached
    with GuardTrace(str(tmp_path), [SITE]) as trace:
        refused(engine)
        engine.f(1)
    assert trace.reached


def test_an_exception_that_the_function_itself_handles_is_no_refusal(tmp_path: Path) -> None:
    source = """
        def f(n):
            try:
                if n > 4:
                    raise ValueError(n)
                int("no number")
            except ValueError:
                if n > 4:
                    raise
            finally:
                n = None
            return n
    """
    path = tmp_path / "engine.py"
    path.write_text(textwrap.dedent(source))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # a toy
    site = {"file": "engine.py", "line": 5, "guardLines": [4]}
    with GuardTrace(str(tmp_path), [site]) as trace:
        scope["f"](1)
    assert trace.reached
    with GuardTrace(str(tmp_path), [site]) as trace, pytest.raises(ValueError, match="9"):
        scope["f"](9)
    assert not trace.reached


def test_a_site_marked_unwatched_is_never_reached(engine: types.ModuleType, tmp_path: Path) -> None:
    sites = [{**SITE, "unwatched": True}, {"file": "engine.py", "function": "f", "unwatched": True}]
    with GuardTrace(str(tmp_path), sites) as trace:
        engine.f(1)
    assert not trace.reached


def test_a_place_without_a_guard_does_not_count_when_its_function_raises(
    engine: types.ModuleType, tmp_path: Path
) -> None:
    site = {"file": "engine.py", "function": "f", "guardLines": []}
    with GuardTrace(str(tmp_path), [site]) as trace:
        refused(engine)
    assert not trace.reached


def test_without_a_known_line_nothing_counts(engine: types.ModuleType, tmp_path: Path) -> None:
    with GuardTrace(str(tmp_path), [{"file": "engine.py", "line": 6}]) as trace:
        engine.f(1)
    assert not trace.reached


@pytest.mark.parametrize(("function", "reached"), [("f", True), ("g", False)])
def test_a_place_without_a_guard_counts_when_its_function_is_entered(
    engine: types.ModuleType,
    tmp_path: Path,
    function: str,
    reached: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    site = {"file": "engine.py", "function": function, "guardLines": []}
    with GuardTrace(str(tmp_path), [site]) as trace:
        engine.f(1, skip=True)
    assert trace.reached == reached
