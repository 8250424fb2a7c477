"""What an input may be: read from annotations, defaults, the argument parser and assignments."""

import ast
import enum
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from reproducers.synthesis.sources import Names
from reproducers.synthesis.specs import Member, Tensor, Thing, device

UNSET: Final = object()

Name = typing.Literal[
    "any", "bool", "int", "float", "str", "list", "tuple", "set", "dict", "tensor", "dtype",
    "device", "enum", "object", "none", "server_args", "callable", "bytes", "size",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be."""

    name: Name = "any"
    optional: bool = False
    choices: tuple[Any, ...] = ()
    """The only values, if there are such."""
    items: tuple["Kind", ...] = ()
    """Of a row: what its elements are."""
    cls: type | None = None
    default: Any = UNSET
    """What it is if nobody says anything."""
    cli: bool = True
    """An option of the launch line can set it."""
    also: tuple["Kind", ...] = ()
    """What else it may be, in a union."""


ANY: Final = Kind()
_PLAIN: Final[dict[type, Name]] = {
    bool: "bool", int: "int", float: "float", str: "str", bytes: "bytes", list: "list",
    tuple: "tuple", set: "set", frozenset: "set", dict: "dict", type(None): "none",
}  # fmt: skip
_TYPES: Final[dict[Name, tuple[type, ...]]] = {
    "bool": (bool,), "int": (int,), "float": (int, float), "str": (str,), "bytes": (bytes,),
    "list": (list, tuple), "tuple": (tuple,), "set": (set, frozenset), "dict": (dict,),
    "tensor": (Tensor,), "enum": (Member,), "dtype": (Member,), "device": (Member,),
    "object": (Thing,), "callable": (Thing,), "server_args": (Thing,), "size": (tuple,),
}  # fmt: skip


def fits(value: Any, kind: Kind) -> bool:
    """Whether a value is one that its annotation, default and choices allow."""
    if value is None:
        return kind.optional or kind.name in ("any", "none") or kind.default is None
    if kind.choices:
        return any(type(value) is type(c) and value == c for c in kind.choices)
    if kind.name == "any" or any(fits(value, k) for k in kind.also):
        return True
    allowed = _TYPES.get(kind.name, ())
    if isinstance(value, bool) and bool not in allowed:
        return False
    return isinstance(value, allowed)


def kind_of_value(value: Any) -> Kind:
    """The kind of which a value is an example; `any` for None and what is not plain."""
    if isinstance(value, enum.Enum):
        return Kind("enum", cls=type(value), default=member(value))
    for cls, name in _PLAIN.items():
        if type(value) is cls and value is not None:
            items: tuple[Kind, ...] = ()
            if isinstance(value, list | tuple) and value:
                items = (kind_of_value(value[0]),)
            return Kind(name, default=value, items=items)
    return Kind("any", optional=value is None, default=value if value is None else UNSET)


def member(value: enum.Enum) -> Member:
    """The spec of an enum's member."""
    return Member(type(value).__module__, f"{type(value).__qualname__}.{value.name}")


def kind_of(annotation: Any, scope: dict[str, Any], depth: int = 0) -> Kind:  # noqa: C901, PLR0911, PLR0912  # one answer a form of annotation
    """The kind that an annotation asks for.

    Args:
        annotation: an object or its text.
        scope: names of the module.
        depth: of annotations within annotations.
    """
    if annotation is None:
        return Kind("none")
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        if "ServerArgs" in annotation and "[" not in annotation:
            return Kind("server_args")
        annotation = _evaluated(annotation, scope)
        if annotation is UNSET:
            return ANY
    if depth > 4:  # deeper than any that matters
        return ANY
    if isinstance(annotation, type) and annotation in _PLAIN:
        return Kind(_PLAIN[annotation])
    origin = typing.get_origin(annotation)
    args = typing.get_args(annotation)
    if origin is typing.Annotated:
        inner = kind_of(args[0], scope, depth + 1)
        for extra in args[1:]:
            choices = getattr(extra, "choices", None)
            if choices and not inner.choices and not callable(choices):
                inner = replace(inner, choices=tuple(choices))
            if getattr(extra, "no_cli", False):
                inner = replace(inner, cli=False)
        return inner
    if origin in (typing.Union, types.UnionType):
        real = [a for a in args if a is not type(None)]
        inner = kind_of(real[0], scope, depth + 1) if real else Kind("none")
        if len(real) > 1 and any(kind_of(a, scope, depth + 1).name == "str" for a in real):
            inner = next(k for a in real if (k := kind_of(a, scope, depth + 1)).name == "str")
        others = tuple(kind_of(a, scope, depth + 1) for a in real)
        also = tuple(k for k in others if k.name not in (inner.name, "any"))
        return replace(inner, optional=len(real) < len(args), also=also)
    if origin is typing.Literal:
        inner = kind_of_value(next((a for a in args if a is not None), None))
        return Kind(inner.name, choices=tuple(a for a in args if a is not None),
                    optional=None in args)  # fmt: skip
    if origin is not None:
        items = tuple(kind_of(a, scope, depth + 1) for a in args if a is not Ellipsis)
        for base, name in _PLAIN.items():
            if isinstance(origin, type) and issubclass(origin, base):
                return Kind(name, items=items)
        text = str(origin)
        if "Sequence" in text or "Iterable" in text:
            return Kind("list", items=items)
        if "Mapping" in text:
            return Kind("dict", items=items)
        if "Callable" in text or "Callable" in str(annotation):
            return Kind("callable")
        return ANY
    return _kind_of_class(annotation)


def _kind_of_class(annotation: Any) -> Kind:  # noqa: C901, PLR0911  # one answer a kind of class
    text = str(annotation)
    if annotation in (typing.List, list) or text in ("typing.List", "typing.Sequence"):  # noqa: UP006  # what engines write
        return Kind("list")
    if text in ("typing.Dict", "typing.Mapping"):
        return Kind("dict")
    if "Callable" in text:
        return Kind("callable")
    if not isinstance(annotation, type):
        return ANY
    name = annotation.__name__
    module = annotation.__module__
    if module.partition(".")[0] == "torch":
        known: dict[str, Name] = {
            "Tensor": "tensor", "Parameter": "tensor", "dtype": "dtype", "device": "device",
            "Size": "size",
        }  # fmt: skip
        return Kind(known.get(name, "any"))
    if issubclass(annotation, enum.Enum):
        return Kind("enum", cls=annotation)
    if name == "ServerArgs":
        return Kind("server_args")
    if "__stand_in__" in annotation.__dict__:
        return ANY
    if issubclass(annotation, BaseException) and module == "builtins":
        return Kind("object", cls=annotation)
    if module in ("builtins", "typing") or annotation is object:
        return ANY
    return Kind("object", cls=annotation)


def _evaluated(text: str, scope: dict[str, Any]) -> Any:
    try:
        return eval(text, vars(typing) | {}, Names(scope))  # noqa: S307  # engine code, behind the wall
    except Exception:  # noqa: BLE001  # names that exist for type checkers alone
        if text.rpartition(".")[2].strip("\"' ") == "Tensor":
            import torch

            return torch.Tensor
        return UNSET


def default_of(kind: Kind, path: str) -> Any:  # noqa: PLR0911  # one answer a kind
    """A plain value of this kind, or UNSET: then it is an object that nobody knows."""
    if kind.default is not UNSET:
        return kind.default
    if kind.optional or kind.name == "none":
        return None
    if kind.choices:
        return kind.choices[0]
    if kind.name == "enum" and kind.cls is not None:
        members = list(kind.cls)  # type: ignore[call-overload]  # it is an enum
        return member(members[0]) if members else UNSET
    if kind.name == "tensor":
        return Tensor((4, 8))
    if kind.name == "dtype":
        return Member("torch", "float32")
    if kind.name == "str":
        return name_like(path)
    plain: dict[Name, Any] = {
        "bool": False, "int": 1, "float": 1.0, "list": [], "tuple": (), "set": set(), "dict": {},
        "bytes": b"", "device": device("cpu"), "size": (4, 8),
    }  # fmt: skip
    return plain.get(kind.name, UNSET)


def name_like(path: str) -> str:
    """A string that could be the value of what bears this name."""
    leaf = path.rpartition(".")[2].strip("()[]'\"0123456789").lower()
    words = leaf.split("_")
    for word, text in _NAMES.items():
        if word in words or (len(word) > _SHORT and word in leaf):
            return text
    return "custom"


_SHORT: Final = 3
"""Shorter words are found in others that mean something else: `dir` in `direction`."""
_NAMES: Final = {
    "url": "http://localhost:8000", "host": "127.0.0.1", "path": "/tmp/model", "dir": "/tmp/model",  # noqa: S108  # a value, never opened by us
    "device": "cpu", "dtype": "bfloat16", "model": "my-model", "algorithm": "EAGLE",
    "text": "hello", "prompt": "hello", "addr": "127.0.0.1:30000", "name": "name",
    "key": "key", "id": "id-1",
    "mode": "custom", "backend": "custom", "layer": "model.layers.0", "prefix": "model.layers.0",
}  # fmt: skip


def class_attributes(tree: ast.Module, cls_name: str) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:  # noqa: E501  # fmt: skip
    """What a class's source says of its attributes: name, annotation, value or parameter."""
    node = next(
        (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == cls_name), None
    )
    for item in node.body if node else ():
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id, item.annotation, item.value
        if isinstance(item, ast.FunctionDef):
            params = {a.arg: a.annotation for a in (*item.args.args, *item.args.kwonlyargs)}
            for inner in ast.walk(item):
                targets: list[ast.expr] = []
                annotation: ast.expr | None = None
                if isinstance(inner, ast.Assign):
                    targets = inner.targets
                elif isinstance(inner, ast.AnnAssign):
                    targets, annotation = [inner.target], inner.annotation
                for target in targets:
                    if (
                        isinstance(target, ast.Attribute)
                        and isinstance(target.value, ast.Name)
                        and target.value.id == "self"
                    ):
                        value = inner.value  # type: ignore[attr-defined]  # both have one
                        if annotation is None and isinstance(value, ast.Name):
                            annotation = params.get(value.id)
                        yield target.attr, annotation, value
