"""Rows and tensors to try: of another length, shape, type or place."""

import ast
import enum
from typing import Any, Final

from reproducers.synthesis.conditions import Side
from reproducers.synthesis.kinds import ANY, UNSET, Kind, default_of, member
from reproducers.synthesis.probes import Probe, behind
from reproducers.synthesis.specs import Member, Tensor, Thing, device, device_name

DTYPES: Final = (
    "float32", "bfloat16", "float16", "int32", "int64", "bool", "uint8", "float8_e4m3fn",
)  # fmt: skip
MOST_ROW: Final = 70
_BIG: Final = 8192
"""The largest size of a dimension that is tried."""
_MOST_DIMENSIONS: Final = 6


def plain(value: Any) -> Any:  # noqa: PLR0911  # one answer a case
    """A value met at run time as an input; UNSET if it cannot be one."""
    import torch

    if type(value) is Probe:  # it says of itself that it is what it stands for
        value = behind(value)
        return value if isinstance(value, bool | int | float | str | Member) else UNSET
    if value is None or isinstance(value, bool | int | float | str | bytes):
        if isinstance(value, enum.Enum):
            return member(value)
        return value
    if isinstance(value, enum.Enum):
        return member(value)
    if isinstance(value, torch.dtype):
        return Member("torch", str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return device(str(value))
    if isinstance(value, list | tuple | set | frozenset):
        if len(value) > MOST_ROW:
            return UNSET
        items = [plain(v) for v in value]
        if any(i is UNSET for i in items):
            return UNSET
        return type(value)(items) if type(value) in (list, tuple, set, frozenset) else tuple(items)
    return UNSET


def tensors_beside(mine: Side, raw: Any, now: Tensor) -> list[Tensor]:  # noqa: C901  # cases side by side read best
    """Tensors whose shape, rank, size, type or place is (or is not) what they are compared with."""
    other = plain(raw)
    shape = now.shape
    found: list[Tensor] = []
    named = device_name(other).partition(":")[0]
    if named in ("cpu", "cuda", "xpu", "npu"):
        found.append(Tensor(shape, now.dtype, named))
    elif isinstance(other, Member) and other.module == "torch":
        found.append(Tensor(shape, other.qualname, now.device))
    elif isinstance(other, tuple | list) and all(isinstance(n, int) and 0 <= n <= _BIG for n in other):  # noqa: E501  # fmt: skip
        found += [Tensor(tuple(other), now.dtype, now.device)]
        found += [Tensor((*other[:-1], other[-1] + 1), now.dtype, now.device)] if other else []
        if len(other) == 1 or len(other) < len(shape):
            found.append(Tensor((*shape[: len(shape) - len(other)], *other), now.dtype, now.device))
            found.append(Tensor((*other, *shape[len(other) :]), now.dtype, now.device))
    elif isinstance(other, int) and not isinstance(other, bool) and 0 <= other <= _BIG:
        text = ast.unparse(mine.node)
        if "ndim" in text or "dim()" in text or "len(" in text:
            for rank in (other, other + 1, other - 1):
                if 0 <= rank <= _MOST_DIMENSIONS:  # no engine has more dimensions
                    found.append(Tensor((*shape, 2, 2, 2, 2, 2, 2)[:rank], now.dtype, now.device))
        elif "numel" in text:
            found += [Tensor((n,), now.dtype, now.device) for n in (other, other + 1)]
        for i in range(len(shape)):
            for size in (other, other + 1, max(other - 1, 0), 2 * other):
                if size <= _BIG:
                    found.append(Tensor((*shape[:i], size, *shape[i + 1 :]), now.dtype, now.device))
    return found


def row(length: int, kind: Kind) -> Any:
    """A row, text or table of this length, with elements that its annotation allows."""
    item = kind.items[0] if kind.items else ANY
    if kind.name == "str":
        return "a" * length
    if item.name == "str":
        made: list[Any] = [f"item{i}" for i in range(length)]
    elif item.name == "float":
        made = [float(i + 1) for i in range(length)]
    elif item.name == "any" or item.cls is not None:
        made = [Thing() for _ in range(length)]
    elif item.name == "int":
        made = [i + 1 for i in range(length)]
    else:
        one = default_of(item, "item")
        made = [Thing() if one is UNSET else one for _ in range(length)]
    if kind.name == "tuple":
        return tuple(made)
    if kind.name == "dict":
        return {f"key{i}": (i if isinstance(v, Thing) else v) for i, v in enumerate(made)}
    return made


def holding(raw: Any, kind: Kind) -> list[Any]:
    """Rows, texts and tables that hold something, and empty ones."""
    item = plain(raw)
    if item is UNSET:
        return []
    if isinstance(item, str) and kind.name in ("str", "any"):
        return [item, f"a{item}b", "custom", [item], []]
    if kind.name == "dict":
        return [{item: 1}, {}] if isinstance(item, str | int) else []
    return [[item], []] if kind.name != "tuple" else [(item,), ()]


def in_row(scalars: list[Any], now: Any, kind: Kind) -> list[Any]:
    """Rows with such an element: where a row's element is what a condition looks at."""
    old = list(now) if isinstance(now, list | tuple) else []
    rows: list[Any] = []
    for one in scalars:
        if isinstance(one, str | int | float) and not isinstance(one, bool):
            rows += [[one, *old[1:]], [*old, one], [old[0], one, *old[2:]] if old else [one]]
    rows += [[*old, old[-1]]] if old else []
    return [tuple(r) for r in rows] if kind.name == "tuple" else rows


def tensors(now: Tensor) -> list[Tensor]:
    """A tensor's neighbours: another size, rank, type, place or layout."""
    shape = now.shape
    found = []
    for i in range(len(shape)):
        found += [
            Tensor((*shape[:i], size, *shape[i + 1 :]), now.dtype, now.device)
            for size in (shape[i] + 1, 1, 2 * shape[i], 3, 16, 64, 128, 0)
        ]
    found += [Tensor((*shape, 4), now.dtype, now.device), Tensor(shape[:-1], now.dtype, now.device)]
    found += [Tensor((2, *shape, 4), now.dtype, now.device), Tensor((4,), now.dtype, now.device)]
    found += [Tensor(shape, d, now.device) for d in DTYPES]
    found += [Tensor(shape, now.dtype, "cuda"), Tensor(shape, now.dtype, "cpu")]
    if len(shape) > 1:
        found.append(Tensor(shape, now.dtype, now.device, contiguous=False))
    return found
