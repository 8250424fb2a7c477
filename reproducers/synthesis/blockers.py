"""Why a run did not come to the site, and what could be changed so that it comes farther."""

import ast
import itertools
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from reproducers.synthesis.conditions import Finding, examine, side
from reproducers.synthesis.places import header, loaded
from reproducers.synthesis.running import Attempt, Runner
from reproducers.synthesis.specs import Raises
from reproducers.synthesis.values import Constants, chosen, for_atom, in_general, leaves
from reproducers.upstream.matching import message_of
from reproducers.upstream.stand_ins import StandInCalledError

Change = dict[str, Any]
REPLACED: Final = "replaced:"
"""Prefix of a change that puts an input in the place of a callable's result."""
_MOST_TOGETHER: Final = 4
_EACH: Final = 14
_UNREADY: Final = re.compile(
    r"\bnot (?:been )?(?:published|initiali[sz]ed|available|set up|started)\b"
)
_FIRST: Final = 5
"""How many callables are replaced before anything else is tried."""


@dataclass(slots=True)
class Blocker:
    """What stopped a run."""

    node: ast.stmt | None = None
    """The statement to look at; None: nothing can be said."""
    test: ast.expr | None = None
    wanted: bool = True
    raises: str = ""
    """The body of a `try` has to raise this."""
    rows: bool = False
    """A loop has to be entered."""
    upset: bool = False
    """Something in the statement raised that is no check of the function itself."""


def blockers_of(runner: Runner, attempt: Attempt, *, passing: bool = False) -> list[Blocker]:  # noqa: PLR0911  # one answer a case
    """What stopped a run on the way to the site, the likeliest first.

    Args:
        runner: whose run it was.
        attempt: the run.
        passing: the run was to return, and did not.
    """
    place = runner.target.place
    last = attempt.last
    if passing or attempt.reached < 0:
        return _exits(runner, attempt, None)
    step = place.steps[attempt.reached]
    node = step.node
    assert isinstance(node, ast.stmt)
    if step.wanted in ("true", "false") and isinstance(node, ast.If | ast.While):
        upset = attempt.end == "raised" and last is node
        return [Blocker(node, node.test, step.wanted == "true", upset=upset)]
    if step.wanted == "site":
        if isinstance(node, ast.Assert):
            return [Blocker(node, node.test, wanted=False, upset=attempt.end == "raised")]
        return [Blocker(node, upset=True)]
    if step.wanted == "enter" and isinstance(node, ast.For | ast.AsyncFor):
        return [Blocker(node, rows=True, upset=attempt.end == "raised")]
    if step.wanted == "raise" and isinstance(node, ast.Try):
        named = _caught(node, place.site)
        return [Blocker(node.body[0], raises=named), *_exits(runner, attempt, node)]
    return _exits(runner, attempt, node)


def _exits(runner: Runner, attempt: Attempt, within: ast.stmt | None) -> list[Blocker]:
    """The conditions around the last statement, which left, from the inside out."""
    place = runner.target.place
    last = attempt.last
    if last is None:
        return [Blocker(upset=True)]
    found: list[Blocker] = []
    upset = attempt.end == "raised" and not isinstance(last, ast.Raise | ast.Assert)
    if isinstance(last, ast.Assert) and attempt.end == "raised":
        found.append(Blocker(last, last.test, wanted=True))
    if upset:
        found.append(Blocker(last, upset=True))
    node = last
    while id(node) in place.parents and node is not within:
        parent, where = place.parents[id(node)]
        if isinstance(parent, ast.If | ast.While) and where in ("body", "orelse"):
            found.append(Blocker(parent, parent.test, where == "orelse"))
        if parent is within and within is not None:
            break
        node = parent
    if not found:
        found.append(Blocker(last, upset=True))
    return found


def _caught(node: ast.Try, site: ast.stmt) -> str:
    for handler in node.handlers:
        if any(inner is site for s in handler.body for inner in ast.walk(s)):
            if handler.type is None:
                return "Exception"
            kind = handler.type
            if isinstance(kind, ast.Tuple):
                kind = kind.elts[0]
            return ast.unparse(kind).rpartition(".")[2]
    return "Exception"


def observer(blocker: Blocker) -> Any:
    """What looks at a blocker's statement while it is about to be executed."""
    if blocker.test is not None:
        test = blocker.test

        def look(frame: types.FrameType, attempt: Attempt) -> Finding:
            return examine(test, frame, attempt, wanted=blocker.wanted)

        return look
    node = blocker.node

    def paths(frame: types.FrameType, attempt: Attempt) -> dict[str, None]:
        found: dict[str, None] = {}
        assert node is not None
        for part in header(node):
            if isinstance(part, ast.expr):
                found.update(side(part, frame, attempt).paths)
            for name in loaded(part):
                found.update(attempt.shadow.get(name, ()))
        return found

    return paths


def changes(  # noqa: C901, PLR0912  # one branch a case
    runner: Runner,
    attempt: Attempt,
    blocker: Blocker,
    constants: Constants,
    *,
    passing: bool = False,
) -> Iterator[Change]:
    """What could be changed to get past a blocker, likely things first."""
    looked = attempt.looked
    world = attempt.world
    assert world is not None
    below = passing and attempt.end == "raised" and not isinstance(attempt.last, ast.Raise)
    if blocker.node is not None and (below or foreign(attempt)):
        for path in _callables(runner, attempt, blocker.node)[:_FIRST]:
            yield {REPLACED + path: True}
    if isinstance(looked, Finding) and looked.atoms:
        yield from _for_condition(looked, attempt, constants)
    node = blocker.node
    if blocker.raises and node is not None:
        for path in _callables(runner, attempt, node):
            yield {REPLACED + path: True, f"{_result(path)}": Raises(blocker.raises)}
    if node is None:
        return
    if isinstance(looked, Finding):
        for path in _callables(runner, attempt, node):
            for truth in (blocker.wanted, not blocker.wanted):
                yield {REPLACED + path: True, _result(path): truth}
    paths = dict(looked) if isinstance(looked, dict) else {}
    paths.update(attempt.reads.get(id(node), {}))
    if isinstance(looked, Finding):
        for atom in looked.atoms:
            paths.update(atom.paths)
    if blocker.upset or blocker.raises:
        for path in _callables(runner, attempt, node):
            yield {REPLACED + path: True}
    for path in sorted(leaves(paths), key=_order):
        for value in chosen(in_general(path, world, constants), path, world)[:_EACH]:
            yield {path: value}


def _order(path: str) -> tuple[bool, bool]:
    return path.startswith("env:"), path == "platform"


def foreign(attempt: Attempt) -> bool:
    """What raised is no check of the release: something of the surroundings is not here."""
    if attempt.end != "raised" or not attempt.callees:
        return False
    inner = attempt.callees[-1][0].partition(".")[0]
    if inner != attempt.package or isinstance(
        attempt.error, StandInCalledError | ImportError | AttributeError
    ):
        return True
    return bool(_UNREADY.search(message_of(attempt.error))) if attempt.error else False


def _for_condition(found: Finding, attempt: Attempt, constants: Constants) -> Iterator[Change]:
    world = attempt.world
    assert world is not None
    per_atom: list[list[Change]] = []
    for atom in found.atoms:
        one: list[Change] = []
        paths = sorted(leaves(atom.paths), key=_order)
        for path in paths:
            one += [{path: v} for v in for_atom(atom, path, world, constants)]
        if len(paths) == 2:  # both sides of a comparison
            one += _both(atom, paths, attempt, constants)
        per_atom.append(one)
    if found.every and 1 < len(per_atom) <= _MOST_TOGETHER:
        few = max(2, round(48 ** (1 / len(per_atom))))
        for several in itertools.islice(itertools.product(*(c[:few] for c in per_atom)), 48):
            merged: Change = {}
            for change in several:
                merged.update(change)
            yield merged
    for group in itertools.zip_longest(*per_atom):
        for change in group:
            if change is not None:
                yield change


def _both(atom: Any, paths: list[str], attempt: Attempt, constants: Constants) -> list[Change]:
    world = attempt.world
    assert world is not None
    one, two = (for_atom(atom, p, world, constants)[:5] for p in paths)
    return [{paths[0]: a, paths[1]: b} for a in one for b in two]


def _result(path: str) -> str:
    return (path.rpartition(".")[2] if path.startswith("call:") else path) + "()"


def _callables(runner: Runner, attempt: Attempt, node: ast.stmt) -> list[str]:
    """The callables of a statement that could be replaced, the one that raised first."""
    target = runner.target
    found: list[tuple[bool, str]] = []
    imported = _imports(target.place.function)
    world = attempt.world
    assert world is not None
    parts: list[ast.AST] = list(header(node)) or [node]
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
