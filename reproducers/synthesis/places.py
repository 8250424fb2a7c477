"""Where a site lies in its function: what comes before it, and which way each condition must go."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Wanted = Literal["pass", "true", "false", "enter", "raise", "match", "site"]


@dataclass(slots=True)
class Step:
    """One statement on the way to a site, in the order in which they are passed."""

    node: ast.stmt | ast.ExceptHandler
    wanted: Wanted
    """pass: it must end normally; true, false: its test; enter: its loop; raise: its body."""


@dataclass(slots=True)
class Place:
    """A site in its function."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    qualname: str
    owner: str
    """The class whose method it is; empty for others."""
    site: ast.Raise | ast.Assert
    steps: list[Step] = field(default_factory=list)
    of_line: dict[int, ast.stmt] = field(default_factory=dict)
    """The innermost statement of each line, headers alone of those that hold others."""
    step_of: dict[int, int] = field(default_factory=dict)
    """The step of each statement, by `id`."""
    parents: dict[int, tuple[ast.stmt, str]] = field(default_factory=dict)
    """The statement around each statement and the field that it is in, by `id`."""


def place_of(tree: ast.Module, line: int, kind: str) -> Place | None:
    """The place of the raise or assert that begins at a line; None at module or class level."""
    wanted = ast.Raise if kind == "raise" else ast.Assert
    found = _find(tree, line, wanted, [])
    if found is None:
        return None
    site, around = found
    functions = [
        i for i, n in enumerate(around) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    if not functions:
        return None
    function = around[functions[-1]]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    named = [n.name for n in around if isinstance(n, _NAMED)]
    before = around[functions[-1] - 1] if functions[-1] else None
    owner = before.name if isinstance(before, ast.ClassDef) else ""
    place = Place(function, ".".join(named), owner, site)
    _number(place)
    place.steps = list(_steps(function.body, site))
    for k, step in enumerate(place.steps):
        place.step_of[id(step.node)] = k
        if step.wanted == "pass":
            for inner in ast.walk(step.node):
                place.step_of.setdefault(id(inner), k)
    return place


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _find(
    node: ast.AST, line: int, wanted: type[ast.stmt], around: list[ast.AST]
) -> tuple[ast.Raise | ast.Assert, list[ast.AST]] | None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, wanted) and child.lineno == line:
            assert isinstance(child, ast.Raise | ast.Assert)
            return child, around
        first = getattr(child, "lineno", None)
        last = getattr(child, "end_lineno", None)
        if first is not None and last is not None and not first <= line <= last:
            decorated = getattr(child, "decorator_list", None)
            if not decorated:
                continue
        deeper = [*around, child] if isinstance(child, _NAMED) else around
        found = _find(child, line, wanted, deeper)
        if found is not None:
            return found
    return None


def bodies(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The lists of statements within a statement, with the names of their fields."""
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            yield name, body
    for handler in getattr(node, "handlers", ()):
        yield "handler", handler.body
    for case in getattr(node, "cases", ()):
        yield "case", case.body


def _holds(body: list[ast.stmt], site: ast.stmt) -> bool:
    return any(inner is site for statement in body for inner in ast.walk(statement))


def _steps(body: list[ast.stmt], site: ast.stmt) -> Iterator[Step]:
    for statement in body:
        if statement is site:
            yield Step(statement, "site")
            return
        inside = next(((n, b) for n, b in bodies(statement) if _holds(b, site)), None)
        if inside is None or isinstance(statement, _NAMED):
            yield Step(statement, "pass")
            continue
        name, inner = inside
        yield Step(statement, _wanted(statement, name))
        yield from _steps(inner, site)
        return


def _wanted(statement: ast.stmt, name: str) -> Wanted:
    if isinstance(statement, ast.If | ast.While):
        return "true" if name == "body" else "false"
    if isinstance(statement, ast.For | ast.AsyncFor):
        return "enter" if name == "body" else "pass"
    if isinstance(statement, ast.Try):
        return "raise" if name == "handler" else "enter"
    if isinstance(statement, ast.Match):
        return "match"
    return "enter"


def _number(place: Place) -> None:  # noqa: C901  # cases side by side read best
    def visit(statement: ast.stmt, parent: tuple[ast.stmt, str] | None) -> None:
        if parent is not None:
            place.parents[id(statement)] = parent
        last = statement.end_lineno or statement.lineno
        inner = list(bodies(statement))
        if inner:
            last = min(b[0].lineno for _, b in inner) - 1
            last = max(last, statement.lineno)
        for line in range(statement.lineno, last + 1):
            place.of_line[line] = statement
        if isinstance(statement, _NAMED):
            return
        for name, body in inner:
            for each in body:
                visit(each, (statement, name))
                if name == "body" or line_free(place, each):
                    continue
        for handler in getattr(statement, "handlers", ()):
            place.of_line.setdefault(handler.lineno, statement)

    for each in place.function.body:
        visit(each, None)


def line_free(place: Place, statement: ast.stmt) -> bool:
    """Whether nothing else lies on the line of a statement."""
    return place.of_line.get(statement.lineno) is statement


def loaded(node: ast.AST) -> set[str]:
    """Names and dotted names that an expression or a statement's header reads."""
    return _named(node, ast.Load)


def stored(node: ast.AST) -> set[str]:
    """Names and dotted names that a statement assigns or fills; for `a.b[i] = ...` it is `a.b`."""
    found = _named(node, ast.Store)
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
            found.add(dotted(each.value))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            found |= {dotted(each.func.value)} if each.func.attr in _FILLING else set()
    return found - {""}


_FILLING = frozenset({"append", "extend", "add", "update", "insert", "setdefault", "appendleft"})
"""Methods that put something into what they are called on."""


def _named(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    found = {
        dotted(each)
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, context)
    }
    return found - {""}


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text, empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def header(statement: ast.AST) -> list[ast.AST]:
    """What of a statement is evaluated when its own line is reached."""
    if isinstance(statement, ast.If | ast.While):
        return [statement.test]
    if isinstance(statement, ast.For | ast.AsyncFor):
        return [statement.iter]
    if isinstance(statement, ast.Match):
        return [statement.subject]
    if isinstance(statement, ast.With | ast.AsyncWith):
        return [i.context_expr for i in statement.items]
    if isinstance(statement, ast.Try | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    return [statement]


def named_conditions(function: ast.AST) -> dict[str, ast.expr]:
    """Conditions that a function assigns to a name, where it assigns the name once."""
    found: dict[str, ast.expr] = {}
    counts: dict[str, int] = {}
    for node in ast.walk(function):
        for name in stored(node) if isinstance(node, ast.stmt) and not list(bodies(node)) else ():
            counts[name] = counts.get(name, 0) + 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name) and isinstance(value, _CONDITIONS):
                found[target.id] = value
    return {n: v for n, v in found.items() if counts.get(n) == 1}


_CONDITIONS = (ast.BoolOp, ast.Compare, ast.UnaryOp)
