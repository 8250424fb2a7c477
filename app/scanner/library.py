"""The wheel's modules, looked into on demand: constants, classes, functions by name.

A message may come from a constant, the default of an exception class or a helper function, in the
same file or an imported one. Nothing is parsed for that until a message asks for it, and then only
the one statement.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from app.python_source import parse_python
from app.scanner.blocks import top_level, triple_quoted
from app.scanner.source import read_source

_IMPORT: Final = re.compile(
    rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|(?:\\\n|[^\n])*)", re.MULTILINE
)
_IMPORT_MODULE: Final = re.compile(
    rb"^[ \t]*import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#.*)?$", re.MULTILINE
)
_COMMENT: Final = re.compile(rb"#[^\n]*")
_DEPTH: Final = 5
"""How many imports a name is followed through."""


SOURCE_NAME: Final = "<wheel>"


def parse_text(text: bytes) -> tuple[ast.Module | None, str]:
    """Parse Python.

    Returns:
        The tree; or `None` and why it is not Python (of the version that runs this).
    """
    try:
        tree = parse_python(text, SOURCE_NAME)
    except SyntaxError as e:
        return None, f"line {e.lineno}: {e.msg}"
    except ValueError as e:
        return None, str(e)
    except (RecursionError, MemoryError, SystemError):
        return None, "nested too deeply for the parser"
    return tree, ""


@dataclass(slots=True, eq=False)
class Module:
    """One file of the wheel."""

    path: str
    text: bytes
    problem: str | None
    library: "Library"
    _starts: list[int] | None = None
    _imports: dict[str, tuple[str, str]] | None = None
    _tree: ast.Module | Literal[False] | None = False
    """`False` until it was tried."""
    _statements: dict[tuple[str, str], ast.stmt | None] = field(default_factory=dict)

    @property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Imported name → (dotted module, name there); the name is empty for a module."""
        if self._imports is None:
            self._imports = dict(self._read_imports())
        return self._imports

    def _read_imports(self) -> Iterator[tuple[str, tuple[str, str]]]:
        for m in _IMPORT_MODULE.finditer(self.text):
            dotted = m[1].decode()
            if m[2]:
                yield m[2].decode(), (dotted, "")
        for m in _IMPORT.finditer(self.text):
            base = self._absolute(m[1].decode())
            names = _COMMENT.sub(b"", m[2]).strip(b"()\\ ").replace(b"\\", b" ")
            for item in names.split(b","):
                words = item.split()
                if len(words) == 1:
                    yield words[0].decode(), (base, words[0].decode())
                elif len(words) == 3 and words[1] == b"as":  # noqa: PLR2004  # name as alias
                    yield words[2].decode(), (base, words[0].decode())

    def _absolute(self, dotted: str) -> str:
        rest = dotted.lstrip(".")
        level = len(dotted) - len(rest)
        if not level:
            return rest
        package = self.path.split("/")[:-1]
        package = package[: len(package) - (level - 1)]
        return ".".join([*package, rest] if rest else package)

    def statement(self, kind: str, name: str) -> ast.stmt | None:
        """The top-level `class NAME`, `def NAME` or `NAME = ...` (kind `=`) of this file."""
        key = (kind, name)
        if key not in self._statements:
            self._statements[key] = self._find(kind, name)
        return self._statements[key]

    def _find(self, kind: str, name: str) -> ast.stmt | None:
        word = name.encode() if kind == "=" else f"{kind} {name}".encode()
        at = self.text.find(word)
        while at >= 0:
            after = self.text[at + len(word) : at + len(word) + 1]
            opens = after in (b" ", b"=", b":") if kind == "=" else after in (b"(", b":", b" ")
            begin = self._line_start(at, kind)
            if opens and begin is not None:
                found = self._matching(begin, kind, name)
                if found is not None:
                    return found
            at = self.text.find(word, at + 1)
        return None

    def _line_start(self, at: int, kind: str) -> int | None:
        """Where the top-level statement around `at` begins, if it may define the name."""
        line = self.text.rfind(b"\n", 0, at) + 1
        before = self.text[line:at]
        if before.strip() not in ((b"", b"async") if kind == "def" else (b"",)):
            return None
        if before and kind == "=" and not self._in_branch(line):
            return None
        return line

    def _in_branch(self, line: int) -> bool:
        """Whether an indented line is in a top-level `if`, `try` or `with`."""
        starts = self.starts
        i = _rank(starts, line)
        return self.text.startswith((b"if ", b"try:", b"with "), starts[i])

    @property
    def starts(self) -> list[int]:
        """Offsets of the file's top-level statements."""
        if self._starts is None:
            self._starts = top_level(self.text, triple_quoted(self.text) or [])
        return self._starts

    def _matching(self, at: int, kind: str, name: str) -> ast.stmt | None:
        starts = self.starts
        i = _rank(starts, at)
        end = starts[i + 1] if i + 1 < len(starts) else len(self.text)
        tree = parse_text(self.text[starts[i] : end])[0] or self._whole()
        if tree is None:
            return None
        for node in _flat(tree.body):
            if kind == "=":
                if _target(node) == name:
                    return node
            elif getattr(node, "name", None) == name and (
                isinstance(node, ast.ClassDef) == (kind == "class")
            ):
                return node
        return None

    def _whole(self) -> ast.Module | None:
        """The whole file's tree, for a statement that was cut wrongly."""
        if self._tree is False:
            self._tree = parse_text(self.text)[0]
        return self._tree or None


def _rank(starts: list[int], at: int) -> int:
    lo, hi = 0, len(starts)
    while lo < hi:
        mid = (lo + hi) // 2
        if starts[mid] <= at:
            lo = mid + 1
        else:
            hi = mid
    return max(lo - 1, 0)


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module's top level, those in `if`, `try` and `with` included."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.With):
            yield from _flat(node.body)
        if isinstance(node, ast.If | ast.Try):
            yield from _flat(node.orelse)
        if isinstance(node, ast.Try):
            yield from _flat(node.body)
            for handler in node.handlers:
                yield from _flat(handler.body)


def _target(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target = node.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


class Library:
    """All Python files of a wheel, read when first asked for."""

    def __init__(self, paths: Collection[str], read: Callable[[str], bytes]) -> None:
        """Files to look into.

        Args:
            paths: of the Python files, from the wheel's root.
            read: gives a file's bytes.
        """
        self._paths = {_dotted(p): p for p in paths}
        self._read = read
        self._modules: dict[str, Module] = {}
        self.constant = lru_cache(maxsize=None)(self._constant)
        self.named = lru_cache(maxsize=None)(self._named)

    def module(self, path: str) -> Module:
        """The file at a path."""
        found = self._modules.get(path)
        if found is None:
            source = read_source(self._read(path))
            found = self._modules[path] = Module(path, source.text, source.problem, self)
        return found

    def dotted(self, name: str) -> Module | None:
        """The module of a dotted name, if the wheel has it."""
        path = self._paths.get(name)
        return self.module(path) if path else None

    def _constant(
        self, module: Module, name: str, depth: int = 0
    ) -> tuple[Module, ast.expr] | None:
        """The value assigned to a module-level name, and the module where that is."""
        node = module.statement("=", name)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            return module, node.value
        origin = self._origin(module, name) if depth < _DEPTH else None
        return self.constant(origin[0], origin[1], depth + 1) if origin else None

    def _named(
        self, module: Module, kind: str, name: str, depth: int = 0
    ) -> tuple[Module, ast.stmt] | None:
        """The class or function (`class`, `def`) a dotted name stands for, and its module."""
        if depth > _DEPTH:
            return None
        head, _, rest = name.partition(".")
        if rest:
            base, imported = module.imports.get(head, ("", ""))
            target = self.dotted(f"{base}.{imported}" if imported else base)
            return self.named(target, kind, rest, depth + 1) if target else None
        node = module.statement(kind, name)
        if node is not None:
            return module, node
        origin = self._origin(module, name)
        return self.named(origin[0], kind, origin[1], depth + 1) if origin else None

    def _origin(self, module: Module, name: str) -> tuple[Module, str] | None:
        """The module of the wheel that a name is imported from, and what it is called there."""
        base, imported = module.imports.get(name, ("", ""))
        target = self.dotted(base) if imported else None
        return (target, imported) if target else None


def _dotted(path: str) -> str:
    name = path.removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")
