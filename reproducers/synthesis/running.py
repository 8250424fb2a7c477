"""One run of a whole function under a trace: how far it came, what it looked at, how it ended."""

import ast
import contextlib
import opcode
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from reproducers.synthesis.bounds import StoppedError, finish, in_time, silence
from reproducers.synthesis.instances import instance, plain_server_args, server_args
from reproducers.synthesis.kinds import UNSET, kind_of
from reproducers.synthesis.machine import Machine
from reproducers.synthesis.places import header, loaded, named_conditions, stored
from reproducers.synthesis.targets import Target
from reproducers.synthesis.worlds import TooManyError, World

SECONDS: Final = 1.0
MOST_LINES: Final = 20000
_RAISING: Final = opcode.opmap["RAISE_VARARGS"]
"""What raises by itself; all else of a site's line makes what is to be raised."""

End = Literal["hit", "returned", "raised", "stopped"]


@dataclass(slots=True)
class Attempt:
    """What became of one run."""

    end: End = "returned"
    error: BaseException | None = None
    swallowed: bool = False
    """The site was hit, and the function itself caught it."""
    reached: int = -1
    """The farthest step on the way to the site."""
    guard: bool = False
    """A condition that decides whether the site is reached was evaluated."""
    own_guard: bool = False
    """The nearest one was."""
    package: str = ""
    """The engine's top-level package."""
    last: ast.stmt | None = None
    """The last statement of the function that was executed."""
    callees: list[tuple[str, str]] = field(default_factory=list)
    """The functions below through which an exception came: module and name, outermost first."""
    inner: tuple[types.FrameType, int] | None = None
    """The engine's function below that raised by itself, and the line."""
    reads: dict[int, dict[str, None]] = field(default_factory=dict)
    """What each statement looked at, by `id`, the names it used included."""
    shadow: dict[str, dict[str, None]] = field(default_factory=dict)
    """Which inputs each name of the function comes from."""
    world: World | None = None
    assigned: dict[str, ast.expr] = field(default_factory=dict)
    """Conditions that the function gives names to, each once."""
    looked: Any = None
    """What the observer gave at the statement that it was told to look at."""


class Runner:
    """Runs a target in worlds.

    Args:
        target: the function.
        machine: answers for accelerator and environment.
    """

    def __init__(self, target: Target, machine: Machine) -> None:
        self.target = target
        self.machine = machine
        self.runs = 0
        self._stores: dict[int, set[str]] = {}
        self._loads: dict[int, set[str]] = {}
        self.relaxed = False
        """See `World.relaxed`."""
        self.guard_nodes: set[int] = set()
        """The nearest conditions, by `id`."""
        self.outer_nodes: set[int] = set()
        """Those around and the exits before."""
        self._holders: dict[str, list[dict[str, Any]]] = {}
        self._assigned = named_conditions(target.place.function)

    def world(
        self, values: dict[str, Any], replaced: frozenset[str], *, plain: bool = False
    ) -> World:
        """A world with these inputs."""

        def make(world: World) -> Any:
            if plain:
                return plain_server_args(world, "server_args")
            return server_args(world, "server_args")

        world = World(dict(values), replaced, instance, make)
        world.relaxed = self.relaxed
        return world

    def run(
        self,
        values: dict[str, Any],
        replaced: frozenset[str] = frozenset(),
        *,
        plain: bool = False,
        observe: Any = None,
        at: ast.stmt | None = None,
    ) -> Attempt:
        """Call the function once.

        Args:
            values: inputs by path.
            replaced: callables whose results are inputs.
            plain: real `ServerArgs`, nothing notes reads.
            observe: called with (frame, attempt) whenever `at` is about to be executed.
            at: a statement of the function.
        """
        self.runs += 1
        attempt = Attempt(package=self.target.file.partition("/")[0], assigned=self._assigned)
        world = attempt.world = self.world(values, replaced, plain=plain)
        tracer = _Tracer(self, attempt, observe, at)
        with self._replaced(world), self.machine.running(world), silence():
            try:
                function = self.target.function(world)
                args, kwargs = self.target.arguments(world)
                world.take_reads()
                for name, kind in self.target.params.items():
                    known = kind.name == "server_args" or (
                        kind.cls is not None and kind.cls is self.target.owner
                    )
                    attempt.shadow[name] = {} if known else {name: None}
                for name in self.target.code.co_freevars:
                    attempt.shadow[name] = {name: None}
                with in_time(SECONDS):
                    sys.settrace(tracer.called)
                    try:
                        finish(function(*args, **kwargs))
                    finally:
                        sys.settrace(None)
            except (StoppedError, TooManyError, RecursionError, MemoryError) as e:
                attempt.end, attempt.error = "stopped", e
            except BaseException as e:  # noqa: BLE001  # SystemExit is one of the things checks raise
                attempt.end, attempt.error = "raised", e
        tracer.close()
        self._conclude(attempt, tracer)
        return attempt

    def _conclude(self, attempt: Attempt, tracer: "_Tracer") -> None:
        if tracer.hit is not None:
            attempt.swallowed = attempt.error is not tracer.hit
            attempt.end, attempt.error = "hit", tracer.hit
            return
        error = attempt.error
        if error is None:
            return
        below = False
        tb = error.__traceback__
        while tb is not None:
            frame = tb.tb_frame
            if frame.f_code is self.target.code:
                below, attempt.callees, attempt.inner = True, [], None
            elif below:
                name = frame.f_globals.get("__name__", "")
                attempt.callees.append((name, frame.f_code.co_name))
                if tb.tb_next is None and name.partition(".")[0] == attempt.package:
                    attempt.inner = frame, tb.tb_lineno
            tb = tb.tb_next

    @contextlib.contextmanager
    def _replaced(self, world: World) -> Iterator[None]:
        """Put what stands for callables in their place, for the time of a run."""
        undo: list[tuple[Any, str, Any]] = []
        for path in sorted(world.replaced):
            if not path.startswith("call:"):
                continue
            module_name, _, name = path[5:].rpartition(".")
            module = sys.modules.get(module_name)
            real = vars(module).get(name, UNSET) if module is not None else UNSET
            if real is UNSET:
                continue
            _note_kind(world, name, real, vars(module))
            stands = world.stand_for(name)
            for scope in self._scopes(path, name, real):
                undo.append((scope, name, real))
                scope[name] = stands
        try:
            yield
        finally:
            for where, name, value in reversed(undo):
                where[name] = value

    def _scopes(self, path: str, name: str, real: Any) -> list[dict[str, Any]]:
        """The engine's modules that hold a callable by its name."""
        if path not in self._holders:
            own = self.target.scope
            found = [own] if own.get(name) is real else []
            for module in list(sys.modules.values()):
                scope = getattr(module, "__dict__", None)
                if scope is not None and scope is not own and scope.get(name) is real:
                    found.append(scope)
            self._holders[path] = found
        return self._holders[path]

    def stores(self, node: ast.AST) -> set[str]:
        """What a statement assigns, those within it included."""
        if id(node) not in self._stores:
            self._stores[id(node)] = stored(node)
        return self._stores[id(node)]

    def loads(self, node: ast.AST) -> set[str]:
        """What is read when the statement's own line is executed."""
        if id(node) not in self._loads:
            self._loads[id(node)] = set().union(*map(loaded, header(node)))
        return self._loads[id(node)]


def _note_kind(world: World, name: str, real: Any, scope: dict[str, Any]) -> None:
    """What the replaced function says that it returns."""
    annotation = getattr(real, "__annotations__", {}).get("return", UNSET)
    if annotation is not UNSET:
        own = getattr(real, "__globals__", scope)
        world.kinds[f"{name}()"] = kind_of(annotation, own)


class _Tracer:
    """Follows the lines of one function and nothing else."""

    def __init__(self, runner: Runner, attempt: Attempt, observe: Any, at: ast.stmt | None) -> None:
        self._runner = runner
        self._attempt = attempt
        self._place = runner.target.place
        self._code = runner.target.code
        self._observe = observe
        self._at = at
        self._current: ast.stmt | None = None
        self._lines = 0
        self.hit: BaseException | None = None
        site = self._place.site
        self._site = range(site.lineno, (site.end_lineno or site.lineno) + 1)

    def called(self, frame: types.FrameType, _event: str, _arg: Any) -> Any:
        return self._trace if frame.f_code is self._code else None

    def _trace(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._lines += 1
            if self._lines > MOST_LINES:
                raise StoppedError("too many lines")
            self._line(frame)
        elif event == "exception" and self.hit is None:
            error, tb = arg[1], arg[2]
            here = tb is not None and tb.tb_next is None and frame.f_lineno in self._site
            site = self._place.site
            is_check = isinstance(site, ast.Raise) or isinstance(error, AssertionError)
            if (
                here
                and is_check
                and self._place.of_line.get(frame.f_lineno) is site
                and frame.f_code.co_code[frame.f_lasti] == _RAISING
            ):
                self.hit = error
        return self._trace

    def _line(self, frame: types.FrameType) -> None:
        statement = self._place.of_line.get(frame.f_lineno)
        if statement is None or (statement is self._current and statement is not self._at):
            return
        self.close()
        self._current = statement
        step = self._place.step_of.get(id(statement))
        attempt = self._attempt
        if step is not None:
            attempt.reached = max(attempt.reached, step)
        if id(statement) in self._runner.guard_nodes:
            attempt.guard = attempt.own_guard = True
        elif id(statement) in self._runner.outer_nodes:
            attempt.guard = True
        attempt.last = statement
        if self._at is statement and self._observe is not None:
            world = attempt.world
            assert world is not None
            kept = world.reads
            attempt.looked = self._observe(frame, attempt)
            world.reads = kept

    def close(self) -> None:
        """The current statement is over: what it looked at, and what it assigned."""
        statement, attempt = self._current, self._attempt
        self._current = None
        world = attempt.world
        assert world is not None
        reads = world.take_reads()
        if statement is None:
            return
        runner = self._runner
        for name in runner.loads(statement):
            reads.update(attempt.shadow.get(name, ()))
        attempt.reads.setdefault(id(statement), {}).update(reads)
        for name in runner.stores(statement):
            known = attempt.shadow.setdefault(name, {})
            known.update(reads)
