"""Inputs as plain data: what a trigger is made of, stored, shown and built again.

Plain Python values stand for themselves; what is not plain is one of the classes here. `to_json`
and `from_json` are inverse to each other, `shown` is Python that a person would write.
"""

import importlib
from dataclasses import dataclass
from typing import Any, Final

MARK: Final = "$"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of zeros (integers) or random numbers from a fixed seed."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    device: str = "cpu"
    """`cuda` is only claimed: the numbers lie in the machine's own memory."""
    contiguous: bool = True


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enum, another named constant of a module, or a `torch.device('cuda')`."""

    module: str
    qualname: str


@dataclass(frozen=True, slots=True)
class Thing:
    """An object of which nothing is known but its attributes, which have paths of their own."""

    cls: str = ""
    """`module:qualname` of its class, if that matters."""


@dataclass(frozen=True, slots=True)
class Absent:
    """An attribute that is not there."""


@dataclass(frozen=True, slots=True)
class Raises:
    """What a call does instead of returning."""

    error_class: str


def device(name: str) -> Member:
    """A `torch.device` of this name."""
    return Member("torch", f"device({name!r})")


def device_name(value: Any) -> str:
    """The name of a device that is an input, however it is given; empty if it is none."""
    if isinstance(value, Member) and value.module == "torch":
        return value.qualname[8:-2] if value.qualname.startswith("device(") else ""
    return value if isinstance(value, str) else ""


def same(one: Any, two: Any) -> bool:
    """Whether two values are equal and of one type (`True` is not `1`)."""
    return type(one) is type(two) and repr(one) == repr(two)


def to_json(value: Any) -> Any:  # noqa: C901, PLR0911  # one answer a case
    """A value as JSON.

    Raises:
        TypeError: it is neither plain nor of a class of this module.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else {MARK: "float", "v": repr(value)}  # noqa: E501, PLR0124  # not a number is not equal to itself  # fmt: skip
    if isinstance(value, list):
        return [to_json(v) for v in value]
    if isinstance(value, tuple | set | frozenset):
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        return {MARK: type(value).__name__, "v": [to_json(v) for v in items]}
    if isinstance(value, dict):
        return {MARK: "dict", "v": [[to_json(k), to_json(v)] for k, v in value.items()]}
    if isinstance(value, bytes):
        return {MARK: "bytes", "v": value.hex()}
    if isinstance(value, Tensor):
        return {
            MARK: "tensor",
            "shape": list(value.shape),
            "dtype": value.dtype,
            "device": value.device,
            "contiguous": value.contiguous,
        }
    if isinstance(value, Member):
        return {MARK: "member", "module": value.module, "name": value.qualname}
    if isinstance(value, Thing):
        return {MARK: "thing", "class": value.cls}
    if isinstance(value, Absent):
        return {MARK: "absent"}
    if isinstance(value, Raises):
        return {MARK: "raises", "class": value.error_class}
    raise TypeError(f"{value!r} is no input")


def from_json(raw: Any) -> Any:  # noqa: PLR0911  # one answer a kind
    """The value of a JSON text; see `to_json`."""
    if isinstance(raw, list):
        return [from_json(v) for v in raw]
    if not isinstance(raw, dict):
        return raw
    kind = raw[MARK]
    if kind in _ROWS:
        return _ROWS[kind](from_json(v) for v in raw["v"])
    if kind == "dict":
        return {from_json(k): from_json(v) for k, v in raw["v"]}
    if kind == "bytes":
        return bytes.fromhex(raw["v"])
    if kind == "float":
        return float(raw["v"])
    if kind == "tensor":
        return Tensor(tuple(raw["shape"]), raw["dtype"], raw["device"], raw["contiguous"])
    if kind == "member":
        return Member(raw["module"], raw["name"])
    if kind == "raises":
        return Raises(raw["class"])
    return Absent() if kind == "absent" else Thing(raw["class"])


_ROWS: Final[dict[str, Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def shown(value: Any) -> str:  # noqa: PLR0911  # one answer a case
    """A value as a person would write it."""
    if isinstance(value, Tensor):
        ones = "zeros" if value.dtype in ("bool", *_INTEGERS) else "randn"
        extra = f", dtype=torch.{value.dtype}" if value.dtype != "float32" else ""
        extra += f', device="{value.device}"' if value.device != "cpu" else ""
        text = f"torch.{ones}({', '.join(map(str, value.shape)) or '()'}{extra})"
        return text if value.contiguous else f"{text}.transpose(-1, -2)"
    if isinstance(value, Member):
        return f"torch.{value.qualname}" if value.module == "torch" else value.qualname
    if isinstance(value, Thing):
        return f"{value.cls.rpartition(':')[2]}(...)" if value.cls else "an object"
    if isinstance(value, Absent):
        return "no such attribute"
    if isinstance(value, Raises):
        return f"raise {value.error_class}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return repr(value)


_INTEGERS: Final = ("int8", "uint8", "int16", "int32", "int64")


def build(value: Any) -> Any:  # noqa: PLR0911  # one answer a case
    """The object that a value stands for; a `Thing` stays one, the world makes it.

    Raises:
        ImportError, AttributeError: a member's module or name is not there.
    """
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, Member) and value.qualname.startswith("device("):
        import torch

        return torch.device(device_name(value))
    if isinstance(value, Member):
        found: Any = importlib.import_module(value.module)
        for part in value.qualname.split("."):
            found = getattr(found, part)
        return found
    if isinstance(value, list):
        return [build(v) for v in value]
    if isinstance(value, tuple):
        return tuple(build(v) for v in value)
    if isinstance(value, dict):
        return {build(k): build(v) for k, v in value.items()}
    if isinstance(value, set):
        return {build(v) for v in value}
    return value


def _tensor(value: Tensor) -> Any:
    import torch

    dtype = getattr(torch, value.dtype)
    shape = value.shape
    if not value.contiguous and len(shape) > 1:
        shape = (*shape[:-2], shape[-1], shape[-2])
    if dtype.is_floating_point and value.dtype.startswith("float8"):
        made = torch.zeros(shape, dtype=torch.uint8).view(dtype)
    elif dtype.is_floating_point or dtype.is_complex:
        generator = torch.Generator().manual_seed(0)
        made = torch.randn(shape, generator=generator).to(dtype)
    else:
        made = torch.zeros(shape, dtype=dtype)
    return (
        made if value.contiguous or len(shape) < 2 else made.transpose(-1, -2)
    )  # rows and columns
