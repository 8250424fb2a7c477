"""Why a run did not come to the site, and what could be changed so that it comes farther."""

import ast
import itertools
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from reproducers.synthesis.callables import callables
from reproducers.synthesis.conditions import Atom, Finding, examine, side
from reproducers.synthesis.constants import Constants
from reproducers.synthesis.hints import check_below, said
from reproducers.synthesis.names import leaves
from reproducers.synthesis.places import Place, bodies, header, loaded, stored
from reproducers.synthesis.running import Attempt, Runner
from reproducers.synthesis.specs import Raises
from reproducers.synthesis.values import chosen, for_atom, in_general
from reproducers.synthesis.worlds import World
from reproducers.upstream.matching import message_of
from reproducers.upstream.stand_ins import StandInCalledError

Change = dict[str, Any]
REPLACED: Final = "replaced:"
"""Prefix of a change that puts an input in the place of a callable's result."""
_MOST_TOGETHER: Final = 4
_EACH: Final = 14
_UNREADY: Final = re.compile(
    r"\bnot (?:been )?(?:published|initiali[sz]ed|available|set up|started|written)\b"
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
    if attempt.end == "hit":
        return list(_wording(place))
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


def _wording(place: Place) -> Iterator[Blocker]:
    """The conditions that decide which text a site's message is."""
    names = loaded(place.site)
    seen: set[tuple[int, bool]] = set()
    for statement in {id(s): s for s in place.of_line.values()}.values():
        if list(bodies(statement)) or not stored(statement) & names:
            continue
        node: ast.stmt = statement
        while id(node) in place.parents:
            node, where = place.parents[id(node)]
            if isinstance(node, ast.If) and where in ("body", "orelse"):
                for wanted in (where == "body", where != "body"):
                    if (id(node), wanted) not in seen:
                        seen.add((id(node), wanted))
                        yield Blocker(node, node.test, wanted)


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
        for path in callables(runner, attempt, blocker.node)[:_FIRST]:
            yield {REPLACED + path: True}
    if blocker.node is not None and attempt.last is blocker.node and attempt.end == "raised":
        yield from said(attempt, attempt.reads.get(id(blocker.node), {}))
    if isinstance(looked, Finding) and looked.atoms:
        yield from _for_condition(looked, attempt, constants)
    if attempt.inner is not None and attempt.last is blocker.node:
        check = check_below(attempt, *attempt.inner)
        if check is not None:
            yield from _for_condition(check, attempt, constants)
    node = blocker.node
    if blocker.raises and node is not None:
        for path in callables(runner, attempt, node):
            yield {REPLACED + path: True, f"{_result(path)}": Raises(blocker.raises)}
    if node is None:
        return
    if isinstance(looked, Finding):
        for path in callables(runner, attempt, node):
            for truth in (blocker.wanted, not blocker.wanted):
                yield {REPLACED + path: True, _result(path): truth}
    paths = dict(looked) if isinstance(looked, dict) else {}
    paths.update(attempt.reads.get(id(node), {}))
    if isinstance(looked, Finding):
        for atom in looked.atoms:
            paths.update(atom.paths)
    if blocker.upset or blocker.raises:
        for path in callables(runner, attempt, node):
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
        paths = sorted(leaves(atom.paths), key=_order) or _alike(atom, world)
        by_path = [[{p: v} for v in for_atom(atom, p, world, constants)] for p in paths]
        one += [c for turn in itertools.zip_longest(*by_path) for c in turn if c is not None]
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


def _alike(atom: Atom, world: World) -> list[str]:
    """Inputs that bear a name of a condition of which nothing else is known."""
    names = {n.rpartition(".")[2] for n in loaded(atom.node)}
    return [p for p in world.kinds if p.rpartition(".")[2] in names]


def _both(atom: Any, paths: list[str], attempt: Attempt, constants: Constants) -> list[Change]:
    world = attempt.world
    assert world is not None
    one, two = (for_atom(atom, p, world, constants)[:5] for p in paths)
    return [{paths[0]: a, paths[1]: b} for a in one for b in two]


def _result(path: str) -> str:
    return (path.rpartition(".")[2] if path.startswith("call:") else path) + "()"
