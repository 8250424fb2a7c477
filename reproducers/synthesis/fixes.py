"""The smallest change after which the same call returns, the one a person would make first.

Ranks: a legal value of the offending option; dropping it; another documented choice; switching the
feature off, which is labelled so.
"""

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from reproducers.synthesis.blockers import Blocker, observer
from reproducers.synthesis.conditions import Finding
from reproducers.synthesis.kinds import ANY, UNSET, default_of
from reproducers.synthesis.names import leaves, odd
from reproducers.synthesis.places import Place
from reproducers.synthesis.running import Attempt, Runner
from reproducers.synthesis.search import Budget, Search, State, differing
from reproducers.synthesis.specs import Raises, Thing, same
from reproducers.synthesis.values import Constants, chosen, for_atom, in_general
from reproducers.synthesis.worlds import World

Rank = Literal["legal value", "dropped", "other choice", "switched off"]
RANKS: Final[tuple[Rank, ...]] = ("legal value", "dropped", "other choice", "switched off")
_MOST_TRIED: Final = 160
_MOST_MENDED: Final = 6
_MOST_ALIKE: Final = 2
_MOST_TOGETHER: Final = 3


@dataclass(slots=True)
class Fix:
    """A change after which the call returns."""

    rank: Rank
    changes: dict[str, Any]
    state: State
    """The inputs of the fixed call."""
    trigger: State
    """Those of the trigger, with what both calls need."""


def guards_of(place: Place) -> list[tuple[ast.stmt, ast.expr | None, bool]]:
    """The conditions that decide last whether a site is reached: statement, test, which way.

    An assertion is its own; else the nearest condition around; else the exits before it.
    """
    site = place.site
    if isinstance(site, ast.Assert):
        return [(site, site.test, False)]
    node: ast.stmt = site
    while id(node) in place.parents:
        parent, where = place.parents[id(node)]
        if isinstance(parent, ast.If | ast.While) and where in ("body", "orelse"):
            found: list[tuple[ast.stmt, ast.expr | None, bool]] = []
            while isinstance(parent, ast.If | ast.While) and where in ("body", "orelse"):
                found.append((parent, parent.test, where == "body"))
                above = place.parents.get(id(parent))
                is_elif = where == "orelse" and above is not None and above[1] == "orelse"
                if not is_elif or above is None:
                    break
                parent, where = above
            return found
        if isinstance(parent, ast.Try) and where == "handler":
            return [(parent.body[0], None, True)]
        if isinstance(parent, ast.Match | ast.For | ast.AsyncFor):
            return [(parent, None, True)]
        node = parent
    before = [s.node for s in place.steps if s.wanted == "pass"]
    exits: list[tuple[ast.stmt, ast.expr | None, bool]] = [
        (s, s.test, False) for s in before if isinstance(s, ast.If)
    ]
    return exits[-3:][::-1]


def watch_guards(runner: Runner) -> None:
    """Tell the runner which conditions decide whether the site is reached."""
    place = runner.target.place
    runner.guard_nodes = {id(node) for node, _, _ in guards_of(place)}
    for step in place.steps:
        if step.wanted in ("true", "false", "enter", "match") or (
            isinstance(step.node, ast.If) and _leaves(step.node)
        ):
            runner.outer_nodes.add(id(step.node))


def _leaves(node: ast.If) -> bool:
    return any(isinstance(n, ast.Return | ast.Raise) for n in ast.walk(node))


class Fixing:
    """Looks for fixes of one trigger.

    Args:
        runner: runs the function; its guard is the site's own.
        search: mends what comes after the guard.
        constants: values that are known to matter.
    """

    def __init__(self, runner: Runner, search: Search, constants: Constants) -> None:
        self.runner = runner
        self.search = search
        self.constants = constants
        self.passed: list[tuple[Rank, dict[str, Any], State]] = []
        """Changes that pass the guard and fail later."""

    @property
    def stuck(self) -> str:
        """What stood in the way of the change that came farthest; empty if none passed."""
        if not self.passed:
            return "no change that was tried passes the check"
        attempt = self.passed[0][2].attempt
        assert attempt is not None
        line = getattr(attempt.last, "lineno", 0)
        said = f"{type(attempt.error).__name__}: {attempt.error!s:.120}"
        return f"passes, then at line {line} {said}"

    def best(self, trigger: State, budget: Budget) -> Fix | None:
        """The first fix by rank; None if no single change makes the call return."""
        self.passed = []
        budget.first = self.runner.runs
        tried = sorted(self._changes(trigger), key=lambda c: c[:2])[:_MOST_TRIED]
        seen: set[str] = set()
        away: Fix | None = None
        for rank, _, changes in tried:
            if budget.over(self.runner):
                break
            state = trigger.changed(changes)
            if state.key in seen:
                continue
            seen.add(state.key)
            state.attempt = self.runner.run(state.values, state.replaced)
            if self._holds(state.attempt):
                found = Fix(RANKS[rank], changes, state, trigger)
                if state.attempt.own_guard:
                    return found
                # Another condition keeps the site from being reached: only if nothing else helps.
                away = away or replace(found, rank="switched off")
                continue
            if state.attempt.own_guard and state.attempt.end in ("raised", "stopped"):
                self.passed.append((RANKS[rank], changes, state))
        for rank_, changes, state in self._farthest():
            mended = self._mended(trigger, rank_, changes, state, budget)
            if mended is not None:
                return mended
        return away

    def _farthest(self) -> list[tuple[Rank, dict[str, Any], State]]:
        """What passed the check and came farthest, a few of each input and rank."""
        several: dict[tuple[Rank, str], int] = {}
        chosen_: list[tuple[Rank, dict[str, Any], State]] = []

        def far(one: tuple[Rank, dict[str, Any], State]) -> tuple[int, int]:
            attempt = one[2].attempt
            assert attempt is not None
            return RANKS.index(one[0]), -getattr(attempt.last, "lineno", 0)

        for one in sorted(self.passed, key=far):
            key = one[0], ",".join(sorted(one[1]))
            several[key] = several.get(key, 0) + 1
            if several[key] <= _MOST_ALIKE:
                chosen_.append(one)
        return chosen_[:_MOST_MENDED]

    @staticmethod
    def _holds(attempt: Attempt) -> bool:
        return attempt.end == "returned" and attempt.guard

    def _mended(
        self, trigger: State, rank: Rank, changes: dict[str, Any], state: State, budget: Budget
    ) -> Fix | None:
        """A fix that needs more of the surroundings: given to the trigger as well."""
        left = max(0.5, budget.seconds / 2)
        found = self.search.returning(state, Budget(seconds=left, runs=600))
        if found is None:
            return None
        context = {
            p: found.values[p]
            for p in differing(found.values, state.values)
            if p in found.values and p not in changes
        }
        changes = {p: found.values.get(p, UNSET) for p in changes}  # mending may have gone on
        if any(v is UNSET or same(v, trigger.values.get(p, UNSET)) for p, v in changes.items()):
            return None
        both = State({**trigger.values, **context}, trigger.replaced | found.replaced)
        both.attempt = self.runner.run(both.values, both.replaced)
        if both.attempt.end != "hit":
            return None
        fixed = State({**both.values, **changes}, both.replaced)
        fixed.attempt = self.runner.run(fixed.values, fixed.replaced)
        return Fix(rank, changes, fixed, both) if self._holds(fixed.attempt) else None

    def _changes(self, trigger: State) -> Iterator[tuple[int, float, dict[str, Any]]]:  # noqa: C901, PLR0912  # one branch a case
        """Single changes with their rank and how far they go."""
        offending: dict[str, None] = {}
        proposals: list[tuple[str, Any]] = []
        world = None
        for node, test, way in guards_of(self.runner.target.place):
            blocker = Blocker(node, test, not way)
            attempt = self.runner.run(
                trigger.values, trigger.replaced, observe=observer(blocker), at=node
            )
            world = attempt.world
            assert world is not None
            looked = attempt.looked
            if isinstance(looked, Finding):
                if looked.every and 1 < len(looked.atoms) <= _MOST_TOGETHER:
                    yield from self._together(looked, world, trigger)
                for atom in looked.atoms:
                    offending.update(atom.paths)
                    for path in atom.paths:
                        proposals += [
                            (path, v) for v in for_atom(atom, path, world, self.constants)
                        ]
            elif isinstance(looked, dict):
                offending.update(looked)
            offending.update(attempt.reads.get(id(node), {}))
        if world is None:
            attempt = self.runner.run(trigger.values, trigger.replaced)
            world = attempt.world
            assert world is not None
        for path in [*offending, *trigger.values]:
            proposals += [
                (path, v) for v in chosen(in_general(path, world, self.constants), path, world)[:20]
            ]
        for number, (path, value) in enumerate(proposals):
            yield self._ranked(path, value, number, offending, trigger)
        for path in trigger.values:
            kind = world.kinds.get(path, ANY)
            default = default_of(kind, path)
            if default is not UNSET and not same(default, trigger.values[path]):
                rank = 1 if path in offending else 3
                yield rank + _off(trigger.values[path], default), 0.0, {path: default}
        for path in trigger.values:
            if isinstance(trigger.values[path], Raises):
                yield 0, 0.0, {path: Thing()}

    def _together(
        self, found: Finding, world: World, trigger: State
    ) -> Iterator[tuple[int, float, dict[str, Any]]]:
        """Where all parts of a condition have to change: one change each."""
        per_atom = [
            [
                {p: v}
                for p in leaves(atom.paths)
                for v in for_atom(atom, p, world, self.constants)[:4]
            ]
            for atom in found.atoms
        ]
        for number, several in enumerate(itertools.islice(itertools.product(*per_atom), 24)):
            merged: dict[str, Any] = {}
            for change in several:
                merged.update(change)
            set_already = any(p in trigger.values for p in merged)
            yield 0 if set_already else 2, 1000.0 + number, merged

    @staticmethod
    def _ranked(
        path: str, value: Any, number: int, offending: dict[str, None], trigger: State
    ) -> tuple[int, float, dict[str, Any]]:
        now = trigger.values.get(path, UNSET)
        if path not in offending or _off(now, value):
            rank = 3
        elif value is None:
            rank = 1
        else:
            # Where the trigger gives no such input, what it is by default is the offending one.
            given = any(p in trigger.values for p in offending)
            rank = 0 if path in trigger.values or not given else 2
        if path == "platform" or path.startswith("env:"):
            rank = max(rank, 2)
        far = number + (500.0 if isinstance(value, Thing) or odd(path, value) else 0.0)
        return rank, far, {path: value}


def _off(now: Any, value: Any) -> int:
    """2 if a change switches something off that was on (to be added to a rank), else 0."""
    return 2 if now is True and value is False else 0
