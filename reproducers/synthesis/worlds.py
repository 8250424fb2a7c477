"""The inputs of one run, by path: `server_args.tp_size`, `q`, `self.pool.size`, `env:NAME`.

A world answers for every path with the value that was given for it, else with a default of its
kind. What nobody knows anything of is a `Probe`; once the code has to decide by one, the world
settles what it is *by how it is used* (compared with 3: a number) and notes it, so that it becomes
an input like the others. A decision that cannot be settled is opaque: a run with one shows nothing.
"""

from collections.abc import Callable
from typing import Any, Final

from reproducers.synthesis.kinds import ANY, UNSET, Kind, default_of, kind_of_value
from reproducers.synthesis.probes import Probe, claimed
from reproducers.synthesis.specs import Absent, Member, Raises, Tensor, Thing, build

MOST_OBJECTS: Final = 400
ARGUMENTS: Final = "server_args"
"""Path of the release's `ServerArgs`, wherever in a run it is met."""


class TooManyError(BaseException):
    """The code goes on and on asking for more of what nobody knows."""


class World:
    """Inputs by path, and what was asked of them.

    Args:
        values: given inputs.
        replaced: paths of callables that are not called: their result is an input.
        instances: makes an object of a class without its constructor, `(world, path, class)`.
        arguments: makes the release's `ServerArgs`, of which a run has one.
    """

    def __init__(
        self,
        values: dict[str, Any],
        replaced: frozenset[str] = frozenset(),
        instances: Callable[["World", str, type], Any] | None = None,
        arguments: Callable[["World"], Any] | None = None,
    ) -> None:
        self.values = values
        self.replaced = replaced
        self.reads: dict[str, None] = {}
        self.kinds: dict[str, Kind] = {}
        self.used: dict[str, Any] = {}
        """What each path was in this run: given, default or settled."""
        self.settled: dict[str, Any] = {}
        self.relaxed = False
        """Values that the launch line's parser would refuse are tried, too."""
        self.stands: set[str] = set()
        """Paths of callables that are not called."""
        self.weak: set[str] = set()
        """Settled by their truth alone: they may still be anything."""
        self.opaque: list[str] = []
        self.compared: dict[str, list[Any]] = {}
        """What a path was compared with."""
        self.parents: set[str] = set()
        self._instances = instances
        self._make_arguments = arguments
        self._made: dict[str, Any] = {}
        self.objects: dict[str, Any] = {}
        """Objects that several parameters share."""

    def take_reads(self) -> dict[str, None]:
        """The paths looked at since the last time."""
        reads, self.reads = self.reads, {}
        return reads

    def get(self, path: str, kind: Kind = ANY) -> Any:
        """What is at a path."""
        self.reads[path] = None
        known = self.kinds.get(path)
        if known is None or (known.name == "any" and kind.name != "any"):
            self.kinds[path] = kind
        else:
            kind = known
        if path in self.settled and self._open(path):
            value = self.settled[path]
        elif path in self.values:
            value = self.values[path]
        else:
            value = default_of(kind, path)
            if value is UNSET:
                value = Thing()
        self.used[path] = value
        return self.make(path, value)

    def known(self, path: str) -> Any:
        """What is given or settled at a path; UNSET if nothing is."""
        return self._found(path)

    def knows(self, path: str) -> bool:
        """Whether something plain is at a path."""
        found = self._found(path)
        return found is not UNSET and not isinstance(found, Thing)

    def guessed(self, path: str) -> bool:
        """Whether nothing but its use, or a value that was tried, says what is at a path."""
        return self.kinds.get(path, ANY).name == "any" or path in self.settled

    def _open(self, path: str) -> bool:
        """Whether it may still be settled by its use: nothing is given, or just some object."""
        return path not in self.values or self.values[path] == Thing()

    def _found(self, path: str) -> Any:
        if self._open(path) and path in self.settled:
            return self.settled[path]
        return self.values.get(path, UNSET)

    def arguments(self) -> Any:
        """The release's `ServerArgs` of this run, at the path `server_args`."""
        if ARGUMENTS not in self.objects:
            made = self._make_arguments(self) if self._make_arguments is not None else UNSET
            self.objects[ARGUMENTS] = Probe(self, ARGUMENTS) if made is UNSET else made
        return self.objects[ARGUMENTS]

    def stand_for(self, path: str) -> Any:
        """What is there instead of a callable that is not called: its result is an input."""
        self.stands.add(path)
        if path not in self._made:
            self._made[path] = Probe(self, path)
        return self._made[path]

    def make(self, path: str, value: Any) -> Any:  # noqa: C901, PLR0912  # one branch a case
        """The object that a value is at its path; always the same one in a run."""
        if isinstance(value, Absent):
            raise AttributeError(path.rpartition(".")[2])  # noqa: TRY004  # what is missing is an attribute
        if isinstance(value, Raises):
            raise error_named(value.error_class)("unavailable")
        if value is None or isinstance(value, bool | int | float | str | bytes):
            return value
        if path in self._made:
            return self._made[path]
        if len(self._made) > MOST_OBJECTS:
            raise TooManyError
        made: Any
        if isinstance(value, Thing):
            cls = _class_named(value.cls) if value.cls else self.kinds.get(path, ANY).cls
            made = UNSET
            if self.kinds.get(path, ANY).name == "server_args":
                return self.arguments()
            if cls is not None and issubclass(cls, BaseException) and cls.__module__ == "builtins":
                made = (RuntimeError if cls in (BaseException, Exception) else cls)("unavailable")
            elif cls is not None and self._instances is not None:
                made = self._instances(self, path, cls)
            if made is UNSET:
                made = Probe(self, path, cls)
        elif isinstance(value, list | tuple) and any(isinstance(v, Thing) for v in value):
            made = type(value)(self.make(f"{path}[{i}]", v) for i, v in enumerate(value))
        elif isinstance(value, dict) and any(isinstance(v, Thing) for v in value.values()):
            made = {k: self.make(f"{path}[{k!r}]", v) for k, v in value.items()}
        elif isinstance(value, Tensor) and value.device != "cpu":
            made = claimed(build(value), value.device)
        else:
            made = build(value)
        self._made[path] = made
        return made

    def settle(self, path: str, value: Any, kind: Kind | None = None) -> Any:
        """Decide what an unknown is, by how it is used; an input from now on."""
        if self._open(path) and path not in self.settled:
            self.settled[path] = value
            self._made.pop(path, None)
        known = self.kinds.get(path, ANY)
        if known.name == "any" and path not in self.weak:
            self.kinds[path] = kind or kind_of_value(build(value) if isinstance(value, Member) else value)  # noqa: E501  # fmt: skip
        self.reads[path] = None
        found = self._found(path)
        self.used[path] = found
        return self.make(path, found)


def _class_named(name: str) -> type | None:
    module, _, qualname = name.partition(":")
    found = build(Member(module, qualname))
    return found if isinstance(found, type) else None


def error_named(name: str) -> type[BaseException]:
    """A built-in exception of this name, or a new one."""
    import builtins

    found = getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found
    return type(name, (Exception,), {})
