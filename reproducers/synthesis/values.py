"""Which values to try for an input, best first.

What the condition compares it with, its choices, its default, its neighbours; only what its
annotation, default, choices and use allow.
"""

import ast
from typing import Any, Final

from reproducers.synthesis.alternatives import DEVICES, around, of_call, of_classes, of_word, others
from reproducers.synthesis.conditions import Atom, Side
from reproducers.synthesis.constants import Constants, constants_of
from reproducers.synthesis.kinds import (
    ANY,
    UNSET,
    Kind,
    default_of,
    fits,
    kind_of_value,
    member,
    name_like,
)
from reproducers.synthesis.names import counts, likely, odd
from reproducers.synthesis.shapes import (
    DTYPES,
    MOST_ROW,
    holding,
    in_row,
    plain,
    row,
    tensors,
    tensors_beside,
)
from reproducers.synthesis.specs import Absent, Member, Tensor, Thing, device, same
from reproducers.synthesis.worlds import World

MOST: Final = 36
_INTS: Final = (0, 1, 2, 3, 4, 8, 16, 64, 128, 5, -1, 1024)
_FLOATS: Final = (0.0, 1.0, 0.5, 2.0, -1.0)
_MOST_ELEMENTS: Final = 16


def for_atom(atom: Atom, path: str, world: World, constants: Constants) -> list[Any]:
    """Values of one input that may turn one part of a condition."""
    found: list[Any] = []
    kind = world.kinds.get(path, ANY)
    if atom.op is not None and atom.left is not None and atom.right is not None:
        now = world.used.get(path)
        if isinstance(now, Tensor):
            for mine, other in ((atom.left, atom.right), (atom.right, atom.left)):
                if path in mine.paths:
                    found += tensors_beside(mine, other.value, now)
        strange = path not in atom.left.paths and path not in atom.right.paths
        if path in atom.left.paths or strange:
            found += _beside(atom.op, atom.right.value, atom.left, wanted=atom.wanted, kind=kind)
        if path in atom.right.paths:
            op = _MIRRORED.get(type(atom.op), type(atom.op))()
            found += _beside(op, atom.left.value, atom.right, wanted=atom.wanted, kind=kind)
            if isinstance(atom.op, ast.In | ast.NotIn):
                found += holding(atom.left.value, kind)
    else:
        found += _truthy(kind, path, wanted=atom.wanted)
        if atom.right is not None and atom.wanted:
            found += of_classes(atom.right.value)
        found += of_call(atom.node, path, wanted=atom.wanted)
    found += list(constants_of(atom.node))
    if kind.name in ("list", "tuple"):
        found = [*in_row(found, world.used.get(path), kind), *found]
    found += around(c for c in constants_of(atom.node))
    found += in_general(path, world, constants)
    return chosen(found, path, world)


_MIRRORED: Final = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


def _beside(op: ast.cmpop, raw: Any, mine: Side, *, wanted: bool, kind: Kind) -> list[Any]:  # noqa: C901, PLR0911, PLR0912  # one answer an operator
    other = plain(raw)
    if isinstance(op, ast.Is | ast.IsNot):
        if (isinstance(op, ast.Is) == wanted) and raw is None:
            return [None]
        return [] if other is UNSET else [other]
    if other is UNSET:
        if isinstance(raw, dict) and isinstance(op, ast.In | ast.NotIn):
            keys = [k for k in list(raw)[:_MOST_ELEMENTS] if isinstance(k, str | int)]
            if isinstance(op, ast.In) == wanted:
                return keys
            return [v for k in keys[:3] for v in others(k, keys)]
        return []
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(other, str):
            return [other, f"{other}x", other[:1]]
        if not isinstance(other, list | tuple | set | frozenset):
            return []
        elements = sorted(other, key=repr) if isinstance(other, set | frozenset) else list(other)
        inside = isinstance(op, ast.In) == wanted
        if inside:
            return elements[:_MOST_ELEMENTS]
        return [v for e in elements[:3] for v in others(e, elements)]
    if kind.name == "dict" and isinstance(other, set | frozenset | list | tuple):
        return [dict.fromkeys(sorted(other, key=repr), 1), {}]
    if kind.name in ("list", "tuple") and isinstance(other, set | frozenset):
        elements = sorted(other, key=repr)
        return [elements, elements[:1], []] if kind.name == "list" else [tuple(elements), ()]
    if _is_length(mine.node) and isinstance(other, int):
        return [
            row(n, kind) for n in (other, other + 1, other - 1, 0, 1, 2, 3) if 0 <= n <= MOST_ROW
        ]
    if isinstance(mine.value, str) and isinstance(other, str):
        return [other, other.lower(), other.upper(), *others(other, [other])]
    if isinstance(other, bool) or not isinstance(other, int | float):
        return [other, *others(other, [other])]
    if kind.name == "float":
        other = float(other)
    step = 1 if isinstance(other, int) else 0.5
    equal = [other]
    more = [other + step, other * 2 if other > 0 else other + 2 * step]
    less = [other - step, other / 2 if isinstance(other, float) else other // 2]
    if isinstance(mine.value, int | float) and _is_arithmetic(mine.node):
        return [*equal, *more, *less, 1, 2, 3, 5, 7, 6, 12, 24, 100]
    if isinstance(op, ast.Eq | ast.NotEq):
        return [*equal, *more, *less] if isinstance(op, ast.Eq) == wanted else [*more, *less]
    wants_more = isinstance(op, ast.Gt | ast.GtE) == wanted
    strict = isinstance(op, ast.Gt | ast.Lt) == wanted
    order = [*(more if wants_more else less), *(less if wants_more else more)]
    return [*order, *equal] if strict else [*equal, *order]


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _is_arithmetic(node: ast.expr) -> bool:
    return any(isinstance(n, ast.BinOp) for n in ast.walk(node))


def _truthy(kind: Kind, path: str, *, wanted: bool) -> list[Any]:
    if not wanted:
        empty = {
            "list": [],
            "dict": {},
            "tuple": (),
            "str": "",
            "int": 0,
            "float": 0.0,
            "set": set(),
        }
        plain_ = [empty[kind.name]] if kind.name in empty else []
        if kind.name == "bool" or likely(path.rpartition(".")[2]) == (bool,):
            return [False, None, *plain_]
        return [None, *plain_, False]
    base = default_of(Kind(kind.name, choices=kind.choices, items=kind.items, cls=kind.cls), path)
    if base is UNSET:
        flag = likely(path.rpartition(".")[2]) == (bool,)
        return [True, Thing(), 1, "custom"] if flag else [Thing(), True, 1, "custom"]
    return [True, base, *([row(1, kind)] if kind.name in ("list", "dict", "tuple") else [])]


def in_general(path: str, world: World, constants: Constants) -> list[Any]:  # noqa: C901, PLR0912  # one branch a case
    """Values of an input whatever the condition."""
    kind = world.kinds.get(path, ANY)
    leaf = path.rpartition(".")[2].partition("(")[0]
    found: list[Any] = list(kind.choices)
    if path.startswith("env:"):
        return ["1", "0", "true", "false", None, *(str(c) for c in constants.own[:12])]
    if kind.name == "enum" and kind.cls is not None:
        found += [member(m) for m in list(kind.cls)[:24]]  # type: ignore[call-overload]  # an enum
    found += constants.of_leaf.get(leaf, [])[:16]
    for other_kind in kind.also:
        found.append(default_of(other_kind, path))
        if other_kind.name in ("list", "dict", "tuple"):
            found += [row(1, other_kind), row(2, other_kind)]
    if kind.optional:
        found.append(None)
        found.append(default_of(Kind(kind.name, choices=kind.choices, items=kind.items, cls=kind.cls), path))  # noqa: E501  # fmt: skip
    used = world.used.get(path, UNSET)
    for other in world.compared.get(path, ())[:6]:
        found += [plain(other)]
    name = kind.name
    if name == "any" and used is not UNSET and used is not None and path not in world.weak:
        name = kind_of_value(used).name
    if name == "bool":
        found += [True, False]
    elif name == "int":
        found += _INTS
    elif name == "float":
        found += _FLOATS
    elif name == "str":
        found += [
            name_like(path),
            "custom",
            "",
            "1",
            "{}",
            *(c for c in constants.own if isinstance(c, str)),
        ]
    elif name == "dict":
        words = [c for c in constants.own if isinstance(c, str) and c.isidentifier()][:8]
        found += [*(row(n, kind) for n in (0, 1, 2)), *({w: of_word(w)} for w in words)]
    elif name in ("list", "tuple"):
        found += [row(n, kind) for n in (0, 1, 2, 3)]
    elif name == "tensor":
        found += tensors(used if isinstance(used, Tensor) else Tensor((4, 8)))
    elif name == "dtype":
        found += [Member("torch", d) for d in DTYPES]
    elif name == "device":
        found += [device(d) for d in DEVICES]
    elif name in ("any", "object"):
        found += [Thing(), None]
        if kind.cls is not None and issubclass(kind.cls, BaseException):
            found.insert(0, Thing("builtins:RuntimeError"))
        if name == "any":
            found += [1, True, False, "custom", Tensor((4, 8)), []]
    return found


_PLAIN: Final = frozenset(
    {"list", "dict", "tuple", "str", "int", "bool", "float", "tensor", "enum"}
)


def _fitting(value: Any, kind: Kind, *, relaxed: bool) -> Any:
    """A value as an input of this kind; UNSET if it cannot be one."""
    if value is UNSET or isinstance(value, Absent):
        return value
    if isinstance(value, Thing):
        return UNSET if kind.name in _PLAIN else value
    if kind.name == "device" and value in DEVICES:
        return device(value)
    if fits(value, kind) or relaxed:
        return value
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if kind.name == "float" and whole else UNSET


def _in_environment(value: Any) -> Any:
    """A value as a variable of the environment; UNSET if none would be set to it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value) if isinstance(value, int | float) else UNSET


def chosen(found: list[Any], path: str, world: World) -> list[Any]:
    """Those values that fit the input, each once, without the one that it has."""
    kind = world.kinds.get(path, ANY)
    used = world.used.get(path, UNSET)
    known = kind
    if kind.name == "any" and used is not UNSET and used is not None and path not in world.weak:
        known = kind_of_value(used)
        known = Kind(known.name if known.name != "any" else "any", optional=True)
    out: list[Any] = []
    seen: set[str] = set()
    for raw in found:
        value = _fitting(raw, known, relaxed=world.relaxed and path.startswith("server_args."))
        if path.startswith("env:"):
            value = _in_environment(value)
        if value is UNSET or same(value, used):
            continue
        if known.name == "any" and isinstance(value, str) and counts(path):
            continue  # a number of things is no text
        key = f"{type(value).__name__}{value!r}"
        if key not in seen:
            seen.add(key)
            out.append(value)
    mostly = likely(path.rpartition(".")[2]) if known.name == "any" else (object,)
    out.sort(key=lambda v: (not isinstance(v, mostly), odd(path, v)))
    return out[:MOST]
