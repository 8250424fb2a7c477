"""A condition at the moment at which it is evaluated: which of its parts go the wrong way, and why.

The parts are evaluated one by one in the frame of the real function, so that a search learns how
near it is, and which inputs each part looks at.
"""

import ast
import types
from dataclasses import dataclass, field
from typing import Any, Final

from reproducers.synthesis.places import loaded
from reproducers.synthesis.running import Attempt

_CODES: Final[dict[int, tuple[ast.expr, types.CodeType, bool]]] = {}
_FAILED: Final = object()
_DEEPEST: Final = 4


@dataclass(slots=True)
class Side:
    """One operand of a comparison."""

    node: ast.expr
    value: Any
    paths: dict[str, None]
    failed: bool = False
    """It cannot be evaluated now."""


@dataclass(slots=True)
class Atom:
    """A part of a condition without `and`, `or` and `not`."""

    node: ast.expr
    wanted: bool
    ok: bool
    paths: dict[str, None]
    op: ast.cmpop | None = None
    left: Side | None = None
    right: Side | None = None
    """Of `isinstance` the classes."""


@dataclass(slots=True)
class Finding:
    """How far a condition is from going the wanted way."""

    score: float
    """1.0: it goes that way."""
    atoms: list[Atom] = field(default_factory=list)
    """The parts that do not."""
    every: bool = True
    """All of them have to change; else any one."""


def examine(
    node: ast.expr, frame: types.FrameType, attempt: Attempt, *, wanted: bool, depth: int = 0
) -> Finding:
    """Evaluate a condition part by part in a frame."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return examine(node.operand, frame, attempt, wanted=not wanted, depth=depth)
    if isinstance(node, ast.Name) and node.id in attempt.assigned and depth < _DEEPEST:
        inner = examine(attempt.assigned[node.id], frame, attempt, wanted=wanted, depth=depth + 1)
        if inner.atoms:  # else what it was made of has changed since
            return inner
    if isinstance(node, ast.BoolOp):
        every = isinstance(node.op, ast.And) == wanted
        found = [examine(v, frame, attempt, wanted=wanted, depth=depth) for v in node.values]
        atoms = [a for f in found for a in f.atoms]
        if every:
            return Finding(sum(f.score for f in found) / len(found), atoms, every=True)
        return Finding(max(f.score for f in found), atoms, every=False)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        operands = [node.left, *node.comparators]
        pairs: list[ast.expr] = [
            _pair(node, a, op, b)
            for a, op, b in zip(operands, node.ops, operands[1:], strict=False)
        ]
        found = [_atom(p, frame, attempt, wanted=wanted) for p in pairs]
        atoms = [a for f in found for a in f.atoms]
        scores = [f.score for f in found]
        return Finding(sum(scores) / len(scores) if wanted else max(scores), atoms, every=wanted)
    return _atom(node, frame, attempt, wanted=wanted)


_PAIRS: Final[dict[tuple[int, int], ast.Compare]] = {}


def _pair(node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.Compare:
    key = (id(node), id(left))
    if key not in _PAIRS:
        made = ast.Compare(left, [op], [right])
        _PAIRS[key] = ast.copy_location(made, node)
    return _PAIRS[key]


def _atom(node: ast.expr, frame: types.FrameType, attempt: Attempt, *, wanted: bool) -> Finding:
    if isinstance(node, ast.Compare):
        left = side(node.left, frame, attempt)
        right = side(node.comparators[0], frame, attempt)
        paths = {**left.paths, **right.paths}
        truth = _truth(side(node, frame, attempt))
        ok = truth is wanted
        atom = Atom(node, wanted, ok, paths, node.ops[0], left, right)
    else:
        seen = side(node, frame, attempt)
        truth = _truth(seen)
        ok = truth is wanted
        atom = Atom(node, wanted, ok, seen.paths)
        if _asks_for_class(node):
            assert isinstance(node, ast.Call)
            atom.right = side(node.args[1], frame, attempt)
    return Finding(1.0 if ok else 0.0, [] if ok else [atom])


def _asks_for_class(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and len(node.args) == 2  # the object and its class
    )


def _truth(seen: Side) -> bool | None:
    if seen.failed:
        return None
    try:
        return bool(seen.value)
    except BaseException:  # noqa: BLE001  # engine objects may refuse in any way
        return None


def side(node: ast.expr, frame: types.FrameType, attempt: Attempt) -> Side:
    """Evaluate an expression, and say which inputs it comes from."""
    world = attempt.world
    assert world is not None
    world.take_reads()
    known = _CODES.get(id(node))
    if known is None or known[0] is not node:
        whole = ast.Expression(node)
        nested = any(isinstance(n, _SCOPES) for n in ast.walk(node))
        known = _CODES[id(node)] = node, compile(ast.fix_missing_locations(whole), "<part>", "eval"), nested  # noqa: E501  # fmt: skip
    _, code, nested = known
    try:
        names = frame.f_globals
        if nested:
            names = {**frame.f_globals, **frame.f_locals}
        value = eval(code, names, frame.f_locals)  # noqa: S307  # the engine's own condition
    except BaseException:  # noqa: BLE001  # the same
        value = _FAILED
    paths = world.take_reads()
    for name in loaded(node):
        paths.update(attempt.shadow.get(name, ()))
    failed = value is _FAILED
    return Side(node, None if failed else value, paths, failed)


_SCOPES: Final = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
