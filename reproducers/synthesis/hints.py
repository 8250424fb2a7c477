"""What an exception itself says of the inputs: Python's own words, and checks of helpers below."""

import ast
import re
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from reproducers.synthesis.conditions import Finding, examine
from reproducers.synthesis.kinds import ANY
from reproducers.synthesis.names import leaves
from reproducers.synthesis.running import Attempt
from reproducers.synthesis.shapes import row
from reproducers.synthesis.sources import tree_of
from reproducers.synthesis.specs import Tensor, Thing
from reproducers.upstream.matching import message_of

_UNPACKED: Final = re.compile(r"values to unpack \(expected (\d)")
_NO_ATTRIBUTE: Final = re.compile(
    r"^'(?:int|str|bool|list|dict|tuple|float|Tensor|NoneType)' object"
)


def said(attempt: Attempt, reads: dict[str, None]) -> Iterator[dict[str, Any]]:
    """What the words of Python's own exceptions ask for."""
    world = attempt.world
    assert world is not None
    message = message_of(attempt.error) if attempt.error else ""
    unpacked = _UNPACKED.search(message)
    ambiguous = "Boolean value of Tensor" in message
    for path in leaves(reads):
        used = world.used.get(path)
        if unpacked and isinstance(used, Tensor):
            yield {path: Tensor((4,) * int(unpacked[1]), used.dtype, used.device)}
        elif unpacked and isinstance(used, list | tuple | Thing):
            yield {path: row(int(unpacked[1]), world.kinds.get(path, ANY))}
        elif ambiguous and isinstance(used, Tensor):
            yield from ({path: v} for v in (Tensor((1,), used.dtype), True))
        elif _NO_ATTRIBUTE.match(message) and world.guessed(path):
            yield {path: Thing()}


def check_below(attempt: Attempt, frame: types.FrameType, line: int) -> Finding | None:
    """Why a check of a function below raised, looked at in its own frame."""
    try:
        tree = tree_of(frame.f_code.co_filename)
    except (OSError, SyntaxError):
        return None
    test, wanted = _test_around(tree, line)
    if test is None:
        return None
    own = replace(attempt, shadow={}, assigned={})
    return examine(test, frame, own, wanted=wanted)


def _test_around(tree: ast.Module, line: int) -> tuple[ast.expr | None, bool]:
    """The condition that let a raise or assert at a line happen, and which way it should go."""
    found: tuple[ast.expr | None, bool] = None, False
    node: ast.AST = tree
    while True:
        inner = next((c for c in ast.iter_child_nodes(node) if _around(c, line)), None)
        if inner is None:
            return found
        if isinstance(inner, ast.Assert):
            return inner.test, True
        if isinstance(inner, ast.If):
            in_body = inner.body[0].lineno <= line <= (inner.body[-1].end_lineno or 0)
            found = inner.test, not in_body
        elif isinstance(inner, ast.FunctionDef | ast.For | ast.While | ast.Try):
            found = None, False
        if isinstance(inner, ast.Raise):
            return found
        node = inner


def _around(node: ast.AST, line: int) -> bool:
    first = getattr(node, "lineno", None)
    last = getattr(node, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last
