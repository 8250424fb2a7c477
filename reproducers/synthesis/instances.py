"""Objects of an engine's class without its constructor: real methods, attributes out of a world."""

import ast
import contextlib
import copy
import enum
import functools
import inspect
import sys
import types
import typing
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, Final

from reproducers.synthesis.kinds import (
    ANY,
    UNSET,
    Kind,
    class_attributes,
    fits,
    kind_of,
    kind_of_value,
)
from reproducers.synthesis.sources import tree_of
from reproducers.synthesis.specs import build
from reproducers.synthesis.worlds import World

SERVER_ARGS: Final = "sglang.srt.server_args"
_METHODS: Final = (
    types.FunctionType, property, classmethod, staticmethod, functools.cached_property,
    type, types.BuiltinFunctionType,
)  # fmt: skip


_HELD: Final = ("_parameters", "_buffers", "_modules")
_MODULES: Final = "torch.nn.modules.module"


@functools.cache
def kinds_of(cls: type) -> dict[str, Kind]:
    """What is known of a class's attributes: annotations, and what its methods assign."""
    if cls.__module__ == SERVER_ARGS and cls.__name__ == "ServerArgs":
        return server_fields()
    found: dict[str, Kind] = {}
    for base in cls.__mro__[:-1]:
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        if module is None or not file or base.__module__.partition(".")[0] in ("torch", "builtins"):
            continue
        scope = vars(module)
        for name, annotation in inspect.get_annotations(base).items():
            kind = kind_of(annotation, scope)
            default = base.__dict__.get(name, UNSET)
            if default is not UNSET and not isinstance(default, types.MemberDescriptorType):
                known = kind_of_value(default)
                if known.default is not UNSET:
                    kind = replace(kind, default=known.default)
            found.setdefault(name, kind)
        with contextlib.suppress(OSError, SyntaxError):
            for name, annotated, value in class_attributes(tree_of(file), base.__name__):
                if name not in found or found[name] == ANY:
                    found[name] = _kind_of_source(annotated, value, scope)
    return found


def _kind_of_source(  # noqa: C901, PLR0911  # one answer a case
    annotation: ast.expr | None, value: ast.expr | None, scope: dict[str, Any]
) -> Kind:
    if annotation is not None:
        kind = kind_of(ast.unparse(annotation), scope)
        if kind != ANY:
            return kind
    if value is not None:
        with contextlib.suppress(ValueError, SyntaxError, TypeError):
            literal = ast.literal_eval(value)
            if literal is not None:
                return replace(kind_of_value(literal), default=UNSET)
        if isinstance(value, ast.Compare) or (
            isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
        ):
            return Kind("bool")
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            named = {"len": "int", "int": "int", "str": "str", "bool": "bool", "float": "float"}
            if value.func.id in named:
                return Kind(named[value.func.id])  # type: ignore[arg-type]  # its names
            made = scope.get(value.func.id)
            if isinstance(made, type) and not issubclass(made, enum.Enum):
                return kind_of(made, scope)
        if isinstance(value, ast.Attribute):
            # `self.x = server_args.x`: what the launch line's option of that name may be.
            root = value.value
            leaf = root.attr if isinstance(root, ast.Attribute) else getattr(root, "id", "")
            if leaf in ("server_args", "args"):
                return server_fields().get(value.attr, ANY)
    return ANY


@functools.cache
def server_fields() -> dict[str, Kind]:
    """The fields of the release's `ServerArgs`: kinds, choices and defaults."""
    module = sys.modules.get(SERVER_ARGS)
    cls = getattr(module, "ServerArgs", None)
    found: dict[str, Kind] = {}
    if cls is None:
        return found
    choices = _choices(cls)
    for f in _record_fields(cls):
        annotation = f.type
        named = (b for b in cls.__mro__ if f.name in inspect.get_annotations(b))
        owner = next(named, cls)
        scope = vars(sys.modules.get(owner.__module__, module))
        kind = kind_of(annotation, scope)
        default: Any = UNSET
        if not _missing(f.default):
            default = f.default
        elif not _missing(f.default_factory):
            default = f.default_factory()
        if default is not UNSET and (default is None or kind_of_value(default).name != "any"):
            kind = replace(kind, default=kind_of_value(default).default if default is not None else None)  # noqa: E501  # fmt: skip
        if f.name == "model_path":
            kind = replace(kind, default="my-model")
        known = choices.get(f.name)
        if known is not None:
            if known and not kind.choices:
                kind = replace(kind, choices=tuple(known))
        elif choices:
            kind = replace(kind, cli=False)
        found[f.name] = kind
    return found


def _record_fields(cls: Any) -> tuple[Any, ...]:
    """The fields of a dataclass or of a msgspec Struct."""
    if is_dataclass(cls):
        return fields(cls)
    if hasattr(cls, "__struct_fields__"):
        import msgspec

        hints = typing.get_type_hints(cls, include_extras=True)
        return tuple(
            types.SimpleNamespace(
                name=f.name,
                type=hints.get(f.name, f.type),
                default=f.default,
                default_factory=f.default_factory,
            )
            for f in msgspec.structs.fields(cls)
        )
    return ()


def _missing(value: Any) -> bool:
    return value is MISSING or type(value).__name__ == "NoDefaultType"


def _choices(cls: Any) -> dict[str, list[Any]]:
    """The options of the release's own parser with their choices; empty if it cannot be made."""
    import argparse

    parser = argparse.ArgumentParser()
    try:
        cls.add_cli_args(parser)
    except BaseException:  # noqa: BLE001  # engine code: then its annotations alone are known
        return {}
    found: dict[str, list[Any]] = {}
    for action in parser._actions:  # noqa: SLF001  # there is no other way to list them
        found.setdefault(action.dest, [])
        if action.choices:
            found[action.dest] = list(action.choices)
    return found


def instance(world: World, path: str, cls: type) -> Any:
    """An object of a class whose attributes come out of a world; UNSET if it cannot be made."""
    is_server_args = cls.__module__ == SERVER_ARGS and cls.__name__ == "ServerArgs"
    if is_server_args:
        return server_args(world, path)
    sub = _subclass(cls)
    if sub is None:
        return UNSET
    return _new(sub, world, path)


def _new(sub: Any, world: World, path: str) -> Any:
    makers: list[Any] = [object.__new__, getattr(sub, "__new__", object.__new__)]
    if hasattr(sub, "__struct_fields__"):
        makers = [lambda c: c(**dict.fromkeys(c.__struct_fields__))]
    for make in makers:
        try:
            made = make(sub)
            own = object.__getattribute__(made, "__dict__")
            if hasattr(sub, "register_parameter"):  # a torch.nn.Module, with nothing in it
                own |= {name: {} for name in _HELD}
                own |= {"training": False, "_non_persistent_buffers_set": set()}
            own["_world_"], own["_path_"] = world, path
        except Exception:  # noqa: BLE001, S112  # a foreign class may refuse in any way
            continue
        return made
    return UNSET


def server_args(world: World, path: str) -> Any:
    """The release's own `ServerArgs` with the world's values, each read noted."""
    cls = getattr(sys.modules.get(SERVER_ARGS), "ServerArgs", None)
    if cls is None:
        return UNSET
    sub = _subclass(cls)
    return UNSET if sub is None else _new(sub, world, path)


def plain_server_args(world: World, path: str) -> Any:
    """The same as an object of the real class, with nothing in between."""
    cls: Any = sys.modules[SERVER_ARGS].ServerArgs
    values = {}
    for name, kind in server_fields().items():
        world.kinds.setdefault(f"{path}.{name}", kind)
        value = world.values.get(f"{path}.{name}", None if kind.default is UNSET else kind.default)
        values[name] = world.make(f"{path}.{name}", copy.deepcopy(value))
    if hasattr(cls, "__struct_fields__"):
        made = cls(**values)
    else:
        made = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(made, name, value)
    for here in world.replaced:
        owner, _, name = here.rpartition(".")
        if owner == path:  # a method that is not called
            made.__dict__[name] = world.stand_for(here)
    return made


def _returned(static: property) -> Kind:
    """What a property says that it is."""
    getter = static.fget
    annotation = getattr(getter, "__annotations__", {}).get("return", UNSET)
    return ANY if annotation is UNSET else kind_of(annotation, getattr(getter, "__globals__", {}))


@functools.cache
def _subclass(cls: type) -> type | None:  # noqa: C901  # cases side by side read best
    kinds = kinds_of(cls)
    statics: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        statics.update(vars(base))
    only_fields = cls.__name__ == "ServerArgs" and cls.__module__ == SERVER_ARGS

    def __getattribute__(self: Any, name: str) -> Any:  # noqa: C901, N807, PLR0911  # it becomes the method
        if name.startswith("__") or name in ("_world_", "_path_"):
            return object.__getattribute__(self, name)
        own = object.__getattribute__(self, "__dict__")
        if name in own:
            return own[name]
        for held in _HELD:
            if name in own.get(held, ()):
                return own[held][name]
        world, path = own["_world_"], own["_path_"]
        here = f"{path}.{name}"
        if here in world.replaced:
            return world.stand_for(here)
        static = statics.get(name, UNSET)
        kind = kinds.get(name)
        if isinstance(static, property) and path.endswith("()"):
            return world.get(here, _returned(static))  # of a result that is given
        if static is not UNSET and not isinstance(static, types.MemberDescriptorType):
            if kind is None or isinstance(static, _METHODS) or hasattr(static, "__get__"):
                return object.__getattribute__(self, name)
            if kind.default is UNSET:
                return object.__getattribute__(self, name)
        if kind is None:
            if only_fields or sys._getframe(1).f_globals["__name__"] == _MODULES:  # noqa: SLF001  # torch asks whether a name is free
                raise AttributeError(name)
            kind = ANY
        return world.get(here, kind)

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807  # it becomes the method
        object.__getattribute__(self, "__dict__")[name] = value

    body = {
        "__getattribute__": __getattribute__,
        "__setattr__": __setattr__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": None,
        "__hash__": object.__hash__,
        "__eq__": lambda self, other: self is other,
        "__repr__": lambda self: f"<{object.__getattribute__(self, '__dict__').get('_path_')}>",
        "__init_subclass__": classmethod(lambda _cls, **_kwargs: None),
        "__post_init__": lambda _self: None,
    }
    try:
        sub = type(cls)(cls.__name__, (cls,), body)
        sub.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]  # every class has it
    except Exception:  # noqa: BLE001  # final classes, metaclasses with rules of their own
        return None
    return sub


def legal(path: str, value: Any) -> bool:
    """Whether the launch line's parser takes a value for the field of this path."""
    leaf = path.rpartition(".")[2]
    kind = server_fields().get(leaf)
    return kind is None or (kind.cli and fits(value, kind))


__all__ = ["build", "instance", "kinds_of", "legal", "plain_server_args", "server_fields"]
