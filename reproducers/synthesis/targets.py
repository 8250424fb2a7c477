"""The real function that holds a site: its code, its module's namespace, its inputs."""

import ast
import builtins
import importlib
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from reproducers.synthesis.kinds import ANY, UNSET, Kind, kind_of, kind_of_value
from reproducers.synthesis.places import Place, place_of
from reproducers.synthesis.sources import load_for_checkers, tree_of
from reproducers.synthesis.worlds import World

ARGUMENTS: Final = "sglang/srt/arg_groups/"
_MOST_LENT: Final = 8
_VIEWS: Final = {"view": "resolved_view", "cfg": "resolving_view"}


class NoTargetError(Exception):
    """The site cannot be executed by a call of its function; says why, beginning with a code."""


@dataclass(slots=True)
class Target:
    """A function with a site in it."""

    file: str
    """From the wheel's root."""
    path: str
    """As the code object names it."""
    place: Place
    code: types.CodeType
    scope: dict[str, Any]
    owner: Any
    """The class whose method it is, or None."""
    params: dict[str, Kind] = field(default_factory=dict)
    of_class: str = ""
    """The parameter of a class method that is its class."""
    views: dict[str, str] = field(default_factory=dict)
    """Parameters that the release wraps in a view of the arguments, with the view's function."""

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.place.function.name

    def function(self, world: World) -> types.FunctionType:
        """The function, closed over what the world has for its free names."""
        cells = []
        for name in self.code.co_freevars:
            if name == "__class__":
                cells.append(types.CellType(self.owner))
            else:
                cells.append(types.CellType(world.get(name)))
        return types.FunctionType(self.code, self.scope, self.name, None, tuple(cells) or None)

    def arguments(self, world: World) -> tuple[list[Any], dict[str, Any]]:
        """What the function is called with, out of a world."""
        args = self.place.function.args
        made = {name: self._one(world, name, kind) for name, kind in self.params.items()}
        positional = [made[a.arg] for a in (*args.posonlyargs, *args.args)]
        return positional, {a.arg: made[a.arg] for a in args.kwonlyargs}

    def _one(self, world: World, name: str, kind: Kind) -> Any:
        if name == self.of_class:
            return self.owner
        if kind.name != "server_args" or (kind.optional and world.values.get(name, UNSET) is None):
            return world.get(name, kind)
        made = world.arguments()
        overrides = sys.modules.get("sglang.srt.arg_groups.overrides")
        wrap = getattr(overrides, self.views.get(name, ""), None)
        return made if wrap is None else wrap(made)


def target_of(
    root: Path, file: str, line: int, kind: str, lend: Callable[[str], bool] | None = None
) -> Target:
    """The function that holds the raise or assert at a line.

    Args:
        root: folder that holds the wheel's packages.
        file: from there.
        line: where the statement begins.
        kind: raise | assert.
        lend: makes a missing package a stand-in; False if it cannot be.

    Raises:
        NoTargetError: there is none that could be called, or its module does not load.
    """
    path = str(root / file)
    place = place_of(tree_of(path), line, kind)
    if place is None:
        raise NoTargetError("module-level: it is not in a function")
    scope, owner = _scope(file, place, lend)
    code = _code(path, place)
    if code is None:
        raise NoTargetError("no-function: its code was not found in the compiled file")
    _load_inner_imports(place)
    load_for_checkers(module_name(file))
    target = Target(file, path, place, code, scope, owner)
    _parameters(target)
    return target


def _load_inner_imports(place: Place) -> None:
    """What a function imports itself is loaded before it is timed."""
    for node in ast.walk(place.function):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            try:
                importlib.import_module(node.module)
            except BaseException as e:  # it will fail again where it is needed
                if isinstance(e, KeyboardInterrupt):
                    raise


def module_name(file: str) -> str:
    """`a/b/__init__.py` → `a.b`."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _scope(
    file: str, place: Place, lend: Callable[[str], bool] | None
) -> tuple[dict[str, Any], Any]:
    name = module_name(file)
    module: Any = None
    for _ in range(_MOST_LENT):
        try:
            module = importlib.import_module(name)
            break
        except BaseException as e:  # the engine's own imports may end in any way
            if isinstance(e, KeyboardInterrupt):
                raise
            missing = e.name if isinstance(e, ModuleNotFoundError) else None
            if missing and lend is not None and lend(missing):
                continue
            raise NoTargetError(f"no-import: {type(e).__name__}: {str(e)[:160]}") from e
    if module is None:
        raise NoTargetError("no-import: it needs too many packages that are not here")
    scope = vars(module)
    owner: Any = None
    if place.owner:
        owner = module
        for part in place.qualname.split(".")[:-1]:
            owner = getattr(owner, part, None)
        if not isinstance(owner, type):
            owner = None
    return scope, owner


_codes: dict[str, types.CodeType] = {}


def _code(path: str, place: Place) -> types.CodeType | None:
    top = _codes.get(path)
    if top is None:
        source = Path(path).read_bytes()
        top = _codes[path] = compile(source, path, "exec", dont_inherit=True)
    function = place.function
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    todo = [top]
    while todo:
        code = todo.pop()
        if code.co_name == function.name and code.co_firstlineno == first:
            return code
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return None


def _parameters(target: Target) -> None:  # noqa: C901  # cases side by side read best
    node = target.place.function
    args = node.args
    defaults: dict[str, Any] = {}
    every = [*args.posonlyargs, *args.args]
    for arg, default in zip(every[len(every) - len(args.defaults) :], args.defaults, strict=True):
        defaults[arg.arg] = default
    for arg, keyword in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if keyword is not None:
            defaults[arg.arg] = keyword
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    by_class = any(isinstance(d, ast.Name) and d.id == "classmethod" for d in node.decorator_list)
    about_arguments = target.file.startswith(ARGUMENTS) or target.file.endswith("server_args.py")
    for i, arg in enumerate([*every, *args.kwonlyargs]):
        kind = ANY
        if i == 0 and target.place.owner and not static and every:
            kind = Kind("object", cls=target.owner) if target.owner is not None else ANY
            if by_class and target.owner is not None:
                target.of_class = arg.arg
            if target.place.owner == "ServerArgs":
                kind = Kind("server_args")
            target.params[arg.arg] = kind
            continue
        if arg.annotation is not None:
            kind = kind_of(ast.unparse(arg.annotation), target.scope)
        if arg.arg == "server_args" or (
            about_arguments and kind.name in ("any", "server_args") and arg.arg in _VIEWS
        ):
            kind = Kind("server_args", optional=kind.optional)
            if about_arguments and arg.arg in _VIEWS:
                target.views[arg.arg] = _VIEWS[arg.arg]
        if arg.arg in defaults:
            kind = _with_default(kind, defaults[arg.arg], target.scope)
        target.params[arg.arg] = kind


def _with_default(kind: Kind, default: ast.expr, scope: dict[str, Any]) -> Kind:
    try:
        code = compile(ast.Expression(default), "<default>", "eval")
        value = eval(code, {"__builtins__": builtins, **scope})  # noqa: S307  # the engine's default, behind the wall
    except Exception:  # noqa: BLE001  # a default that cannot be made here: the annotation alone
        return kind
    known = kind_of_value(value)
    if value is None:
        return replace(kind, optional=True, default=None)
    if known.default is UNSET:
        return kind
    return replace(known if kind.name == "any" else kind, default=known.default)
