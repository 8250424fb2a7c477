"""The callables of a statement whose results could be given instead of calling them."""

import ast
import sys
import types
from typing import Any

from reproducers.synthesis.places import header, loaded
from reproducers.synthesis.running import Attempt, Runner
from reproducers.upstream.stand_ins import StandInCalledError


def callables(runner: Runner, attempt: Attempt, node: ast.stmt) -> list[str]:
    """The callables of a statement that could be replaced, the one that raised first."""
    target = runner.target
    found: list[tuple[bool, str]] = []
    imported = _imports(target.place.function)
    world = attempt.world
    assert world is not None
    parts: list[ast.AST] = list(header(node)) or [node]
    parts += _made_by(target.place.function, set().union(*map(loaded, parts)))
    for part in parts:
        for each in ast.walk(part):
            if not isinstance(each, ast.Call):
                continue
            path, leaf = _callable(each.func, runner, imported)
            if path and path not in world.replaced:
                first = attempt.callees[0][1] if attempt.callees else ""
                found.append((leaf != first, path))
    below = _below(attempt)
    found.sort(key=lambda f: f[0])
    paths = [path for _, path in found]
    if isinstance(attempt.error, StandInCalledError):
        below, paths = [], [*below, *paths]
    return [p for p in dict.fromkeys([*paths, *below]) if p not in world.replaced]


def _made_by(function: ast.AST, names: set[str]) -> list[ast.AST]:
    """The calls whose results a function gives these names."""
    return [
        n.value
        for n in ast.walk(function)
        if isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and any(isinstance(t, ast.Name) and t.id in names for t in n.targets)
    ]


def _below(attempt: Attempt) -> list[str]:
    """The release's functions through which an exception came, those that fetch something first."""
    found = []
    for module, name in attempt.callees:
        owner = sys.modules.get(module)
        if module.partition(".")[0] in ("torch", "reproducers") or owner is None:
            continue
        if isinstance(vars(owner).get(name), types.FunctionType):
            found.append(f"call:{module}.{name}")
    return sorted(found, key=lambda p: not p.endswith(("_of", "config", "_args")))


def _callable(func: ast.expr, runner: Runner, imported: dict[str, str]) -> tuple[str, str]:  # noqa: C901, PLR0911  # one answer a case
    """What would be replaced for a call, and its name; nothing if it cannot be."""
    scope = runner.target.scope
    if isinstance(func, ast.Name):
        if func.id in imported:
            return f"call:{imported[func.id]}", func.id
        return _global(scope, func.id), func.id
    if isinstance(func, ast.Subscript):  # kernel[grid](...)
        return _callable(func.value, runner, imported)
    if not isinstance(func, ast.Attribute):
        return "", ""
    names: list[str] = [func.attr]
    node: ast.expr = func.value
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):  # get_platform().x(): the call at the root is replaced
        return _callable(node.func, runner, imported)
    if not isinstance(node, ast.Name):
        return "", ""
    names.reverse()
    root = node.id
    if root in runner.target.params:
        kind = runner.target.params[root]
        base = "server_args" if kind.name == "server_args" else root
        return ".".join([base, *names]), names[-1]
    value = scope.get(root)
    if isinstance(value, types.ModuleType):
        for name in names[:-1]:
            inner = getattr(value, name, None)
            if not isinstance(inner, types.ModuleType):
                return "", ""
            value = inner
        return f"call:{value.__name__}.{names[-1]}", names[-1]
    return _global(scope, root), root


def _global(scope: dict[str, Any], name: str) -> str:
    """What a global name would be replaced as: where its function or class is defined."""
    value = scope.get(name)
    if value is None or (isinstance(value, type) and issubclass(value, BaseException)):
        return ""
    module, leaf = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(module, str) and leaf == name and vars(sys.modules.get(module) or ast).get(name) is value:  # noqa: E501  # fmt: skip
        return f"call:{module}.{name}"
    return f"call:{scope['__name__']}.{name}"


def _imports(function: ast.AST) -> dict[str, str]:
    """Names that a function imports itself, with their modules."""
    found: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found
