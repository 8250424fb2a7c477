"""Values beside a value: others of its kind, neighbours, what a call or a class check asks for."""

import ast
from collections.abc import Iterable
from typing import Any, Final

from reproducers.synthesis.constants import constants_of
from reproducers.synthesis.shapes import DTYPES
from reproducers.synthesis.specs import Absent, Member, Tensor, Thing, device, device_name, same

DEVICES: Final = ("cpu", "cuda", "cuda:0", "npu", "xpu")


def others(value: Any, taken: list[Any]) -> list[Any]:
    """Values like this one that are none of those."""
    found: list[Any]
    if isinstance(value, bool):
        found = [not value]
    elif isinstance(value, int):
        found = [value + 1, value - 1, 0, 1, 2, 3, 7]
    elif isinstance(value, float):
        found = [value + 1.0, value / 2]
    elif isinstance(value, str):
        found = ["custom", "other"]
    elif device_name(value) and isinstance(value, Member):
        found = [device(d) for d in DEVICES]
    elif isinstance(value, Member) and value.module == "torch":
        found = [Member("torch", d) for d in DTYPES]
    elif isinstance(value, tuple):
        found = [(*value[:-1], value[-1] + 1)] if value and isinstance(value[-1], int) else [(1,)]
    else:
        found = []
    return [f for f in found if not any(same(f, t) for t in taken)]


def of_classes(value: Any) -> list[Any]:
    """Objects of the engine's classes that are asked for."""
    classes = value if isinstance(value, tuple) else (value,)
    return [
        Thing(f"{c.__module__}:{c.__qualname__}")
        for c in classes
        if isinstance(c, type) and c.__module__.partition(".")[0] not in ("builtins", "torch")
    ]


def of_call(node: ast.expr, path: str, *, wanted: bool) -> list[Any]:
    """What `isinstance`, `hasattr` and methods of text ask for."""
    if not isinstance(node, ast.Call):
        return []
    leaf = path.rpartition(".")[2]
    asks = isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr")
    if asks and any(isinstance(a, ast.Constant) and a.value == leaf for a in node.args):
        return [Absent()]
    if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        named = ast.unparse(node.args[1])
        found = [v for word, v in _EXAMPLES if word in named]
        rest = [v for word, v in _EXAMPLES if word not in named]
        return found if wanted else [*rest[:4], Thing()]
    if isinstance(node.func, ast.Attribute) and node.args:
        texts = [c for c in constants_of(node.args[0]) if isinstance(c, str)]
        return [*texts, *(f"{t}custom" for t in texts), *(f"custom{t}" for t in texts)]
    return []


_EXAMPLES: Final[tuple[tuple[str, Any], ...]] = (
    ("str", "custom"), ("int", 1), ("list", []), ("dict", {}), ("tuple", ()), ("bool", True),
    ("float", 0.5), ("Tensor", Tensor((4, 8))), ("None", None), ("bytes", b"x"),
)  # fmt: skip


def around(values: Iterable[Any]) -> list[Any]:
    """The neighbours of numbers."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool):
            found += [value + 1, value - 1]
        elif isinstance(value, float):
            found += [value + 0.5, value - 0.5]
    return found


def of_word(word: str) -> Any:
    """What an entry of this name would hold."""
    sized = {
        "size",
        "num",
        "len",
        "length",
        "dim",
        "count",
        "rank",
        "max",
        "min",
        "stages",
        "warps",
    }
    return 1 if sized & set(word.lower().split("_")) else "custom"
