"""The search itself: best first, one change after another, until the real line raises."""

import heapq
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from reproducers.synthesis.blockers import (
    REPLACED,
    Blocker,
    Change,
    blockers_of,
    changes,
    foreign,
    observer,
)
from reproducers.synthesis.conditions import Finding
from reproducers.synthesis.constants import Constants
from reproducers.synthesis.names import odd
from reproducers.synthesis.running import Attempt, Runner
from reproducers.synthesis.specs import same
from reproducers.upstream.matching import message_of

_MOST_TRIED: Final = 140
_MOST_DEPTH: Final = 24
_MOST_REPAIRED: Final = 30
_SIDEWAYS: Final = 0.6
_REPAIR: Final = 0.4
_ENOUGH: Final = 9
_AT_ONCE: Final = 26
_WIDER: Final = 0.35
_BETTER: Final = 250
"""Runs that are spent on something better than odd values."""
OTHER_WORDS: Final = "other-words"
"""The site raises, with another of the texts that the catalog has of it."""


@dataclass(slots=True)
class State:
    """Inputs and what a run with them came to."""

    values: dict[str, Any] = field(default_factory=dict)
    replaced: frozenset[str] = frozenset()
    attempt: Attempt | None = None
    depth: int = 0

    @property
    def key(self) -> str:
        """States with the same key are the same."""
        return f"{sorted(self.replaced)}{sorted((k, type(v).__name__, repr(v)) for k, v in self.values.items())}"  # noqa: E501  # fmt: skip

    def changed(self, change: Change) -> "State":
        """The state after a change."""
        values = dict(self.values)
        replaced = set(self.replaced)
        for path, value in change.items():
            if path.startswith(REPLACED):
                replaced.add(path.removeprefix(REPLACED))
            else:
                values[path] = value
        return State(values, frozenset(replaced), depth=self.depth + 1)


@dataclass(slots=True)
class Budget:
    """How much a search may try; runs decide, so that a busy machine finds the same.

    The time is that of the processor, and only there for functions of which one run takes long.
    """

    seconds: float = 2.0
    runs: int = 600
    started: float = field(default_factory=time.process_time)
    first: int = 0

    def over(self, runner: Runner) -> bool:
        """Whether it is used up."""
        used = time.process_time() - self.started
        return runner.runs - self.first > self.runs or used > self.seconds


@dataclass(slots=True)
class _Open:
    """A state of which not everything was tried yet."""

    state: State
    score: float
    waiting: Iterator[tuple[Blocker, Attempt, Change]] | None = None
    tried: int = 0


class Search:
    """Looks for inputs with which the site is hit, or with which the function returns.

    Args:
        runner: runs the function.
        constants: values that are known to matter.
        accepts: says why a hit does not count; empty if it does.
    """

    def __init__(
        self, runner: Runner, constants: Constants, accepts: Callable[[Attempt], str] | None = None
    ) -> None:
        self.runner = runner
        self.constants = constants
        self._accepts = accepts
        self.refused = ""
        """Why a hit did not count, if one did not."""
        self.last_refused = ""
        """The same of the last hit; empty if it counts."""
        self.best: State | None = None
        """The state that came farthest."""
        self._spare: State | None = None
        """What was found with values that no person would give."""
        self._spare_at = 0
        self._kept: frozenset[str] = frozenset()
        """Paths that the search does not change."""

    def trigger(self, budget: Budget) -> State | None:
        """Inputs with which the site's own line raises."""
        start = State()
        start.attempt = self._run(start)
        if self._counts(start.attempt):
            return start
        return self._search(start, budget, passing=False)

    def returning(self, start: State, budget: Budget, kept: Iterable[str] = ()) -> State | None:
        """Inputs near these with which the function returns, its guard passed.

        Args:
            start: where to begin.
            budget: what may be spent.
            kept: paths that stay as they are.
        """
        start.attempt = self._run(start)
        if _returns(start.attempt):
            return start
        self._kept = frozenset(kept)
        try:
            return self._search(start, budget, passing=True)
        finally:
            self._kept = frozenset()

    def _search(self, start: State, budget: Budget, *, passing: bool) -> State | None:
        budget.first = self.runner.runs
        number = itertools.count()
        seen = {start.key}
        heap: list[tuple[float, int, _Open]] = []

        def push(state: State, fraction: float) -> None:
            assert state.attempt is not None
            score = self._score(state.attempt, fraction, passing=passing)
            size = len(state.values) + 2 * len(state.replaced)
            opened = _Open(state, score - 0.02 * size)
            heapq.heappush(heap, (-opened.score, next(number), opened))
            if self.best is None or score > self._score(self.best.attempt, 0, passing=passing):
                self.best = state

        self._spare, self._spare_at = None, 0
        push(start, 0.0)
        while heap and not budget.over(self.runner) and not self._enough():
            opened = heapq.heappop(heap)[2]
            state = opened.state
            if state.depth >= _MOST_DEPTH:
                continue
            assert state.attempt is not None
            if opened.waiting is None:
                opened.waiting = self._waiting(state, passing=passing)
            found, more = self._some(opened, budget, seen, push, passing=passing)
            if found is not None:
                return found
            if more:  # the rest of what could be tried here has to wait for its turn
                opened.score -= _WIDER
                heapq.heappush(heap, (-opened.score, next(number), opened))
        return self._spare

    def _enough(self) -> bool:
        """Whether nothing better was found for long enough, and something odd is there."""
        return self._spare is not None and self.runner.runs - self._spare_at > _BETTER

    def _good(self, state: State) -> bool:
        """Whether the search ends here; if not, it is kept for the case that nothing better is."""
        plain = not any(odd(p, v) for p, v in state.values.items())
        plain = plain and not _names_unknown(state.attempt)
        if not plain and self._spare is None:
            self._spare, self._spare_at = state, self.runner.runs
        return plain

    def _waiting(self, state: State, *, passing: bool) -> Iterator[tuple[Blocker, Attempt, Change]]:
        """All that could be tried from a state."""
        assert state.attempt is not None
        for blocker in blockers_of(self.runner, state.attempt, passing=passing):
            if blocker.node is None:
                continue
            here = self._run(state, observer(blocker), blocker)
            several = changes(self.runner, here, blocker, self.constants, passing=passing)
            for change in itertools.islice(several, _MOST_TRIED):
                yield blocker, here, change

    def _some(
        self, opened: "_Open", budget: Budget, seen: set[str], push: Any, *, passing: bool
    ) -> tuple[State | None, bool]:
        """Try the next few changes of a state; what was found, and whether there are more."""
        state = opened.state
        farther = 0
        assert opened.waiting is not None
        tried = 0
        for blocker, here, change in opened.waiting:
            if not self._kept.isdisjoint(change):
                continue
            new = state.changed(change)
            if new.key in seen:
                continue
            seen.add(new.key)
            tried += 1
            before = self._progress(here, 0.0)
            new.attempt = self._run(new, observer(blocker), blocker)
            if passing and _returns(new.attempt) and self._good(new):
                return new, False
            if new.attempt.end == "hit":
                if not passing and self._counts(new.attempt) and self._good(new):
                    return new, False
                if not passing and self.last_refused == OTHER_WORDS:
                    push(new, 0.0)  # the site has several texts: this was another one
            else:
                late = opened.tried + tried >= _MOST_REPAIRED
                farther += self._keep(new, before, push, here.reached, late=late)
            if tried >= _AT_ONCE or farther >= _ENOUGH or budget.over(self.runner):
                opened.tried += tried
                return None, True
        return None, False

    def _keep(self, new: State, before: float, push: Any, reached: int, *, late: bool) -> int:
        """Put a state where its turn will come; how much of a step forward it was."""
        assert new.attempt is not None
        after = self._progress(new.attempt, 0.0)
        if after > before:
            push(new, after - int(after))
            return 3 if new.attempt.reached > reached else 1
        if after == before:
            push(new, before - int(before) - _SIDEWAYS)
        elif not late:
            # What it looked for may hold now, at the price of a check before.
            push(new, before - after - _REPAIR)
        return 0

    def _counts(self, attempt: Attempt) -> bool:
        if attempt.end != "hit":
            return False
        refused = self.refuses(attempt)
        self.last_refused = refused
        self.refused = refused or self.refused
        return not refused

    def refuses(self, attempt: Attempt) -> str:
        """Why a hit does not count; empty if it does."""
        return self._accepts(attempt) if self._accepts is not None else ""

    def _progress(self, attempt: Attempt, fraction: float) -> float:
        if isinstance(attempt.looked, Finding):
            fraction = 0.8 * attempt.looked.score
        if not foreign(attempt):
            fraction += 0.1
        if attempt.inner is not None:  # a check below that comes later is a little progress
            fraction += attempt.inner[1] / 1e7
        return attempt.reached + fraction

    def _score(self, attempt: Attempt | None, fraction: float, *, passing: bool) -> float:
        assert attempt is not None
        if passing:
            line = getattr(attempt.last, "lineno", 0)
            return line + fraction
        cost = 0.5 if attempt.end == "stopped" else 0.0
        return attempt.reached + fraction - cost

    def _run(self, state: State, look: Any = None, blocker: Blocker | None = None) -> Attempt:
        return self.runner.run(
            state.values,
            state.replaced,
            observe=look,
            at=blocker.node if blocker is not None else None,
        )

    def smallest(self, state: State, *, fixed: Iterable[str] = ()) -> State:
        """The same hit with as few inputs given as possible."""
        kept = set(fixed)
        for path in [*state.replaced, *sorted(state.values, key=len)]:
            if path in kept:
                continue
            if path in state.replaced:
                less = State(dict(state.values), state.replaced - {path})
            else:
                values = {k: v for k, v in state.values.items() if k != path}
                less = State(values, state.replaced)
            less.attempt = self._run(less)
            if self._counts(less.attempt):
                state = less
        if state.attempt is None or state.attempt.looked is not None:
            state.attempt = self._run(state)
        return state


def _names_unknown(attempt: Attempt | None) -> bool:
    """Whether the message shows something of which only the path is known."""
    if attempt is None or attempt.end != "hit" or attempt.world is None:
        return False
    message = message_of(attempt.error) if attempt.error else ""
    return "<" in message and any(f"<{p}" in message for p in attempt.world.used)


def _returns(attempt: Attempt) -> bool:
    return attempt.end == "returned" and attempt.guard


def differing(one: dict[str, Any], two: dict[str, Any]) -> set[str]:
    """Paths whose values differ."""
    return {k for k in {*one, *two} if k not in one or k not in two or not same(one[k], two[k])}
