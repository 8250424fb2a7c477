"""The engine's source files as trees, and the names that they import for type checkers alone."""

import ast
import functools
import importlib
import sys
from collections.abc import Iterator
from typing import Any


@functools.cache
def tree_of(file: str) -> ast.Module:
    """The syntax tree of a file, read once."""
    with open(file, "rb") as stream:  # noqa: PTH123  # a path of the wheel as text
        return ast.parse(stream.read())


@functools.cache
def for_checkers(module: str) -> dict[str, tuple[str, str]]:
    """What a module imports under `if TYPE_CHECKING:`, by name: module and name there."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if not file:
        return {}
    package = module if file.endswith("__init__.py") else module.rpartition(".")[0]
    return {
        alias.asname or alias.name: (_whence(node, package), alias.name)
        for node in _imports(tree_of(file))
        for alias in node.names
    }


def _imports(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from (n for n in node.body if isinstance(n, ast.ImportFrom))


def _whence(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def load_for_checkers(module: str) -> None:
    """Load the modules of the same package that a module imports for type checkers alone."""
    top = module.partition(".")[0]
    for whence, _ in for_checkers(module).values():
        if whence.partition(".")[0] != top or whence in sys.modules:
            continue
        try:
            importlib.import_module(whence)
        except BaseException as e:  # it may need what is not here: then nothing is known of it
            if isinstance(e, KeyboardInterrupt):
                raise


class Names(dict[str, Any]):
    """The names of a module, with those that it imports for type checkers, once they are loaded."""

    def __init__(self, scope: dict[str, Any]) -> None:
        """Those of a module with this namespace."""
        super().__init__(scope)
        self._module = str(scope.get("__name__", ""))

    def __missing__(self, name: str) -> Any:
        """What the name would be for a type checker."""
        whence, there = for_checkers(self._module)[name]
        return vars(sys.modules[whence])[there]
