"""The smallest change after which the same call returns, the one a person would make first.

Ranks: a legal value of the offending option; dropping it; another documented choice; switching the
feature off, which is labelled so.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from reproducers.synthesis.blockers import Blocker, observer
from reproducers.synthesis.conditions import Atom, Finding
from reproducers.synthesis.constants import Constants
from reproducers.synthesis.guards import guards_of
from reproducers.synthesis.kinds import ANY, UNSET, default_of
from reproducers.synthesis.names import leaves
from reproducers.synthesis.ranks import (
    RANKS,
    Rank,
    goes_on,
    named_in,
    off,
    rank_away,
    ranked,
    unlike,
)
from reproducers.synthesis.running import Attempt, Runner
from reproducers.synthesis.search import Budget, Search, State, differing
from reproducers.synthesis.specs import Raises, Tensor, Thing, same
from reproducers.synthesis.values import chosen, for_atom, in_general
from reproducers.synthesis.worlds import World

_MOST_TRIED: Final = 160
_MOST_MENDED: Final = 6
_MOST_ALIKE: Final = 2
_MOST_TOGETHER: Final = 3
_MOST_EACH: Final = 6


@dataclass(slots=True)
class Fix:
    """A change after which the call returns."""

    rank: Rank
    changes: dict[str, Any]
    state: State
    """The inputs of the fixed call."""
    trigger: State
    """Those of the trigger, with what both calls need."""


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
        """What stood in the way of the best change that passes the check, or that none does."""
        if not self.passed:
            return "no change that was tried passes the check"
        attempt = self._farthest(self.passed)[0][2].attempt
        assert attempt is not None
        line = getattr(attempt.last, "lineno", 0)
        said = f"{type(attempt.error).__name__}: {attempt.error!s:.120}"
        return f"passes, then at line {line} {said}"

    def best(self, trigger: State, budget: Budget) -> Fix | None:
        """The first fix by rank; None if no single change makes the call return."""
        self.passed = []
        budget.first = self.runner.runs
        changes = sorted(self._changes(trigger), key=lambda c: c[:2])[:_MOST_TRIED]
        last = len(RANKS) - 1
        seen: set[str] = set()
        for of_last_rank in (False, True):
            before = len(self.passed)
            several = [c for c in changes if (c[0] >= last) == of_last_rank]
            found, away = self._first(several, trigger, budget, seen)
            if found is None and not (of_last_rank and away):
                far = self._farthest(self.passed[before:])
                mended = (self._mended(trigger, *one, budget) for one in far)
                found = next((fix for fix in mended if fix is not None), None)
            if found or away:
                return found or away
        return None

    def _first(
        self,
        several: Iterable[tuple[int, float, dict[str, Any]]],
        trigger: State,
        budget: Budget,
        seen: set[str],
    ) -> tuple[Fix | None, Fix | None]:
        """The first change after which the call returns, and one that keeps the site away."""
        away: Fix | None = None
        for rank, _, changes in several:
            if budget.over(self.runner):
                break
            state = trigger.changed(changes)
            if state.key in seen:
                continue
            seen.add(state.key)
            state.attempt = self.runner.run(state.values, state.replaced)
            name = RANKS[min(rank, len(RANKS) - 1)]
            if self._holds(state.attempt):
                found = Fix(name, changes, state, trigger)
                if state.attempt.own_guard:
                    return found, away
                # Another condition keeps the site from being reached: only if nothing else helps.
                away_rank = rank_away(state.attempt, trigger, changes)
                if away_rank is not None:
                    away = away or replace(found, rank=away_rank)
                continue
            if state.attempt.own_guard and state.attempt.end in ("raised", "stopped"):
                self.passed.append((name, changes, state))
        return None, away

    @staticmethod
    def _farthest(
        passed: Sequence[tuple[Rank, dict[str, Any], State]],
    ) -> list[tuple[Rank, dict[str, Any], State]]:
        """What passed the check and came farthest, a few of each input and rank."""
        several: dict[tuple[Rank, str], int] = {}
        chosen_: list[tuple[Rank, dict[str, Any], State]] = []

        def far(one: tuple[Rank, dict[str, Any], State]) -> tuple[int, int]:
            attempt = one[2].attempt
            assert attempt is not None
            return RANKS.index(one[0]), -getattr(attempt.last, "lineno", 0)

        for one in sorted(passed, key=far):
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
        kept = {*trigger.values, *changes}
        found = self.search.returning(state, Budget(seconds=left / 2, runs=300), kept)
        if found is None:
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
        replaced = trigger.replaced | found.replaced
        mended = self._pair(trigger, context, changes, replaced, rank)
        if mended is None:
            return None
        for path in sorted(context):  # only what both calls need
            fewer = {p: v for p, v in context.items() if p != path}
            less = self._pair(trigger, fewer, changes, replaced, rank)
            if less is not None:
                context, mended = fewer, less
        return mended

    def _pair(
        self,
        trigger: State,
        context: dict[str, Any],
        changes: dict[str, Any],
        replaced: frozenset[str],
        rank: Rank,
    ) -> Fix | None:
        """Trigger and fix with more of the surroundings; None if one does not do what it is for."""
        both = State({**trigger.values, **context}, replaced)
        both.attempt = self.runner.run(both.values, both.replaced)
        if both.attempt.end != "hit" or self.search.refuses(both.attempt):
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
                if looked.every:
                    yield from self._together(looked.atoms, world, trigger)
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
        said = named_in(trigger)
        proposals[:0] = [
            (p, v)
            for p in offending
            if isinstance(world.used.get(p), str)
            for v in chosen(list(said), p, world)
        ]
        for path in [*offending, *trigger.values]:
            proposals += [
                (path, v) for v in chosen(in_general(path, world, self.constants), path, world)[:20]
            ]
        holders = {p for p in offending if any(goes_on(p, o) for o in world.used)}
        for number, (path, value) in enumerate(proposals):
            if path in holders and isinstance(value, bool | int | float | str | Tensor | list):
                continue  # what has attributes is no number
            if unlike(path, value, world):
                continue
            yield ranked(path, value, number, offending, trigger)
        for path in trigger.values:
            kind = world.kinds.get(path, ANY)
            default = default_of(kind, path)
            if default is not UNSET and not same(default, trigger.values[path]):
                rank = 1 if path in offending else 3
                yield rank + off(trigger.values[path], default), 0.0, {path: default}
        for path in trigger.values:
            if isinstance(trigger.values[path], Raises):
                yield 0, 0.0, {path: Thing()}

    def _together(
        self, atoms: list[Atom], world: World, trigger: State
    ) -> Iterator[tuple[int, float, dict[str, Any]]]:
        """Where several inputs have to change, so that all parts of a condition turn."""
        by_inputs: dict[str, list[Atom]] = {}
        for atom in atoms:
            by_inputs.setdefault(",".join(leaves(atom.paths)), []).append(atom)
        if not 1 < len(by_inputs) <= _MOST_TOGETHER:
            return
        several_ = [
            [
                {p: v}
                for atom in alike
                for p in leaves(atom.paths)
                for v in for_atom(atom, p, world, self.constants)[:4]
            ][:_MOST_EACH]
            for alike in by_inputs.values()
        ]
        offending = {p for atom in atoms for p in atom.paths}
        for number, several in enumerate(itertools.islice(itertools.product(*several_), 36)):
            merged: dict[str, Any] = {}
            for change in several:
                merged.update(change)
            set_already = any(p in trigger.values for p in merged)
            given = any(p in trigger.values for p in offending)
            yield 0 if set_already or not given else 2, 1000.0 + number, merged
