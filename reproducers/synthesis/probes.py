"""Something of which only its path is known, until the code decides by it."""

import enum
import opcode
import operator
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from reproducers.synthesis.kinds import ANY, Kind, kind_of_value, name_like
from reproducers.synthesis.specs import Member, Tensor, Thing, build, device

if TYPE_CHECKING:
    from reproducers.synthesis.worlds import World

_LONGEST: Final = 60
"""Longer arguments are not part of a path."""
_TEXT: Final = frozenset(
    {"lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "split", "rsplit",
     "replace", "encode", "removeprefix", "removesuffix", "isdigit", "partition", "rpartition",
     "title", "casefold", "isalnum", "isidentifier", "splitlines", "find"}
)  # fmt: skip
_TENSOR: Final = frozenset(
    {"shape", "ndim", "numel", "dim", "stride", "is_contiguous", "is_cuda", "contiguous",
     "element_size", "untyped_storage", "data_ptr", "requires_grad", "nelement", "is_sparse"}
)  # fmt: skip
_BY_NAME: Final = {"dtype": Kind("dtype"), "device": Kind("device")}
"""What attributes of these names are, wherever they are met."""
_ROWS: Final = frozenset({"append", "extend", "sort", "insert", "reverse"})
_TABLES: Final = frozenset({"items", "keys", "values", "setdefault", "update"})


class Probe:
    """Something of which only its path is known; see `World`."""

    __slots__ = ("_cls", "_path", "_seen", "_set", "_world")

    def __init__(self, world: "World", path: str, cls: type | None = None) -> None:
        put = object.__setattr__
        put(self, "_world", world)
        put(self, "_path", path)
        put(self, "_cls", cls)
        put(self, "_set", {})
        put(self, "_seen", False)

    @property  # type: ignore[misc]  # that is how isinstance is told
    def __class__(self) -> Any:
        """The class that its annotation names, so that `isinstance` knows it."""
        cls = object.__getattribute__(self, "_cls")
        settled = object.__getattribute__(self, "_world").settled
        path = object.__getattribute__(self, "_path")
        if path in settled:
            return type(object.__getattribute__(self, "_world").make(path, settled[path]))
        return cls or Probe

    def __getattr__(self, name: str) -> Any:  # noqa: PLR0911  # one answer a case
        world, path = self._world, self._path
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._set:
            return self._set[name]
        if world.knows(path):
            return getattr(world.settle(path, None), name)
        if name in _TEXT and not self._seen:
            return getattr(world.settle(path, name_like(path), Kind("str")), name)
        if name in _TENSOR:
            return getattr(world.settle(path, Tensor((4, 8)), Kind("tensor")), name)
        if name in _ROWS:
            return getattr(world.settle(path, [], Kind("list")), name)
        if name in _TABLES:
            return getattr(world.settle(path, {}, Kind("dict")), name)
        if name == "get":
            return self._lookup
        object.__setattr__(self, "_seen", True)
        return world.get(f"{path}.{name}", _BY_NAME.get(name, ANY))

    @classmethod
    def __torch_function__(
        cls, function: Any, _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """What torch is given is a tensor."""
        plain = [_as_tensor(a) for a in args]
        named = {k: _as_tensor(v) for k, v in (kwargs or {}).items()}
        return function(*plain, **named)

    def __next__(self) -> Any:
        """Its first element: `next(module.parameters())`."""
        return self._world.get(f"next({self._path})")

    def _lookup(self, key: Any = None, default: Any = None, *_rest: Any) -> Any:
        kind = kind_of_value(default)
        return self._world.get(f"{self._path}[{key!r}]", kind)

    def __setattr__(self, name: str, value: Any) -> None:
        self._set[name] = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Its result is an input of its own, told apart by plain arguments."""
        object.__setattr__(self, "_seen", True)
        if self._path in self._world.stands:
            return self._world.get(f"{self._path}()")
        words = [repr(a) for a in args if isinstance(a, bool | int | str)]
        words += [f"{k}={v!r}" for k, v in kwargs.items() if isinstance(v, bool | int | str)]
        given = ", ".join(words[:3])
        return self._world.get(
            f"{self._path}({given if len(given) < _LONGEST else '...'})"
        )  # a line's length

    def __getitem__(self, key: Any) -> Any:
        world, path = self._world, self._path
        if world.knows(path):
            return world.settle(path, None)[key]
        object.__setattr__(self, "_seen", True)
        return world.get(f"{path}[{_key(key)}]")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._set[_key(key)] = value

    def __bool__(self) -> bool:
        world, path = self._world, self._path
        if not world.knows(path) and (self._seen or self._cls or path in world.values):
            return True
        if not world.knows(path):
            world.weak.add(path)
        return bool(self.settled(False, ANY))

    def settled(self, value: Any, kind: Kind | None = None) -> Any:
        """What it is from now on: `value`, unless that was decided before."""
        made = self._world.settle(self._path, value, kind)
        if isinstance(made, Probe):
            self._world.opaque.append(self._path)
            return build(value)
        return made

    def _beside(self, other: Any) -> tuple[Any, Any]:
        """Both sides of a comparison, this one settled by the other."""
        if isinstance(other, Probe) and type(other) is Probe:
            mine = self._world.settled.get(self._path, self._world.values.get(self._path))
            other = other.settled(1 if mine is None or isinstance(mine, Thing) else mine)
        self._world.compared.setdefault(self._path, []).append(other)
        return self.settled(*like(other, self._path)), other

    def __eq__(self, other: object) -> bool:
        if other is None or other is self:
            return other is self
        mine, other = self._beside(other)
        return bool(mine == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        if self._seen or self._cls:
            return hash(self._path)
        return hash(self.settled(name_like(self._path), Kind("str")))

    def __lt__(self, other: Any) -> Any:
        mine, other = self._beside(other)
        return mine < other

    def __le__(self, other: Any) -> Any:
        mine, other = self._beside(other)
        return mine <= other

    def __gt__(self, other: Any) -> Any:
        mine, other = self._beside(other)
        return mine > other

    def __ge__(self, other: Any) -> Any:
        mine, other = self._beside(other)
        return mine >= other

    def __len__(self) -> int:
        return len(self.settled([Thing()], Kind("list")))

    def __iter__(self) -> Iterator[Any]:
        wanted = _unpacked(sys._getframe(1))  # noqa: SLF001  # the only way to see who unpacks
        return iter(self.settled([Thing() for _ in range(wanted)], Kind("list")))

    def __contains__(self, item: Any) -> bool:
        if isinstance(item, bool | int | str):
            self._world.compared.setdefault(self._path, []).append([item])
        return item in self.settled([], Kind("list"))

    def __index__(self) -> int:
        return int(self.settled(1, Kind("int")))

    def __int__(self) -> int:
        return int(self.settled(1, Kind("int")))

    def __float__(self) -> float:
        return float(self.settled(1.0, Kind("float")))

    def __str__(self) -> str:
        if self._seen or self._cls:
            return f"<{self._path}>"
        return str(self.settled(name_like(self._path), Kind("str")))

    def __repr__(self) -> str:
        settled = self._world.settled
        return repr(settled[self._path]) if self._path in settled else f"<{self._path}>"

    def __format__(self, spec: str) -> str:
        if spec:
            return format(self.settled(1.0 if spec[-1] in "feg%" else 1), spec)
        return str(self)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_exc: object) -> None:
        return None

    def __await__(self) -> Any:
        return self
        yield

    def __neg__(self) -> Any:
        return -self.settled(1)


def _as_tensor(value: Any) -> Any:
    if type(value) is Probe:
        return value.settled(Tensor((4, 8)), Kind("tensor"))
    if type(value) in (list, tuple):
        return type(value)(_as_tensor(v) for v in value)
    return value


def _arithmetic(name: str) -> Any:

    reflected = name.startswith("r") and name != "rshift"
    function = getattr(operator, {"and": "and_", "or": "or_"}.get(
        name[1:] if reflected else name, name[1:] if reflected else name))  # fmt: skip

    def operate(self: Probe, other: Any) -> Any:
        mine, other = self._beside(other)
        return function(other, mine) if reflected else function(mine, other)

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or"):
    setattr(Probe, f"__{_name}__", _arithmetic(_name))
    setattr(Probe, f"__r{_name}__", _arithmetic(f"r{_name}"))


def _unpacked(frame: types.FrameType) -> int:
    """How many values `a, b = ...` takes at this moment; 1 for any other loop."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if opcode.opname[code[at]] == "UNPACK_SEQUENCE" else 1


def _key(key: Any) -> str:
    if isinstance(key, slice):
        parts = [key.start, key.stop] if key.step is None else [key.start, key.stop, key.step]
        return ":".join("" if p is None else str(p) for p in parts)
    return repr(key) if isinstance(key, bool | int | str | type(None)) else "..."


def like(other: Any, path: str) -> tuple[Any, Kind | None]:  # noqa: C901, PLR0911  # one answer a case
    """A value of the kind of `other`, mostly another one."""
    import torch

    if isinstance(other, bool):
        return False, Kind("bool")
    if isinstance(other, int):
        return 1, Kind("int")
    if isinstance(other, float):
        return 1.0, Kind("float")
    if isinstance(other, enum.Enum):
        cls = type(other)
        first = next(iter(cls))
        return Member(cls.__module__, f"{cls.__qualname__}.{first.name}"), Kind("enum", cls=cls)
    if isinstance(other, str):
        return name_like(path), Kind("str")
    if isinstance(other, torch.dtype):
        return Member("torch", "float32"), Kind("dtype")
    if isinstance(other, torch.device):
        return device("cpu"), Kind("device")
    if isinstance(other, tuple):
        return tuple(4 for _ in other), Kind("tuple")
    if isinstance(other, list):
        return [], Kind("list")
    if isinstance(other, torch.Tensor):
        return 1, Kind("int")
    return name_like(path), Kind("str")


_claims: dict[str, type] = {}


def claimed(tensor: Any, device: str) -> Any:
    """The same numbers, said to lie on another device."""
    import torch

    if device not in _claims:
        where = torch.device(device)
        said = {
            "device": property(lambda _self: where),
            "is_cuda": property(lambda _self: where.type == "cuda"),
        }
        _claims[device] = type("Tensor", (torch.Tensor,), said)
    return tensor.as_subclass(_claims[device])


def behind(probe: Probe) -> Any:
    """What is given or settled where a probe stands; UNSET if nothing is."""
    world: World = object.__getattribute__(probe, "_world")
    return world.known(object.__getattribute__(probe, "_path"))
