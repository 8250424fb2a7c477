"""One function, class or method of a release, cut out of its file.

The piece is compiled with its real file name and line numbers and sees the names it is given, those
of its own file that it needs, and nothing else. It follows the code's shape, so it is a means to
find a trigger: a run that used one is never evidence.
"""

import __future__

import ast
import builtins
import dis
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


class FileSlice:
    """One source file of a release, to cut pieces out of.

    Args:
        root: folder that holds the wheel's packages.
        file: path from there, `sglang/srt/...`.

    Raises:
        FileNotFoundError: the release has no such file.
        SyntaxError: the file is not for this Python.
    """

    def __init__(self, root: Path, file: str) -> None:
        self.path = root / file
        self.module_name = file.removesuffix(".py").replace("/", ".")
        self.tree = ast.parse(self.path.read_bytes(), str(self.path))
        self._flags = 0
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    self._flags |= getattr(__future__, alias.name).compiler_flag

    def node(self, qualname: str) -> ast.stmt:
        """The definition or assignment of a dotted name.

        Raises:
            LookupError: the file does not define it.
        """
        body: Sequence[ast.stmt] = self.tree.body
        found: ast.stmt | None = None
        for part in qualname.split("."):
            matches = [n for n in _definitions(body) if part in _names(n)]
            if not matches:
                raise LookupError(f"{self.path.name} defines no {qualname!r}")
            found = matches[-1]
            body = getattr(found, "body", [])
        assert found is not None  # a name has at least one part
        return found

    def free_names(self, qualname: str) -> set[str]:
        """Names that a piece reads from its module's scope."""
        names: set[str] = set()
        todo = [self._compile([self.node(qualname)])]
        while todo:
            code = todo.pop()
            for instruction in dis.get_instructions(code):
                if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    names.add(str(instruction.argval))
            todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        return {n for n in names if not hasattr(builtins, n) and not n.startswith("__")}

    def cut(self, qualname: str, **names: Any) -> Any:
        """The piece, executed in a namespace of its own.

        Args:
            qualname: `function` or `Class.method` (which comes as a plain function).
            names: what it is given for names of its module; the rest it needs is taken from the
                same file.

        Raises:
            LookupError: the file does not define it, or it needs names that neither the file nor
                `names` has; the message lists them.
        """
        order = self._closure(qualname, set(names))
        nodes = sorted({*order, qualname}, key=lambda n: self.node(n).lineno)
        scope: dict[str, Any] = {"__name__": self.module_name, "__builtins__": builtins, **names}
        exec(self._compile([self.node(n) for n in nodes]), scope)  # noqa: S102  # that is its purpose
        return scope[qualname.rpartition(".")[2]]

    def _closure(self, qualname: str, given: set[str]) -> set[str]:
        needed: set[str] = set()
        missing: set[str] = set()
        todo = [qualname]
        while todo:
            for name in sorted(self.free_names(todo.pop()) - given - needed - {qualname}):
                try:
                    self.node(name)
                except LookupError:
                    missing.add(name)
                else:
                    needed.add(name)
                    todo.append(name)
        if missing:
            raise LookupError(f"{qualname} needs to be given: {', '.join(sorted(missing))}")
        return needed

    def _compile(self, nodes: list[ast.stmt]) -> types.CodeType:
        flags = self._flags | __future__.annotations.compiler_flag
        module = ast.Module(body=nodes, type_ignores=[])
        code = compile(module, str(self.path), "exec", flags=flags, dont_inherit=True)
        assert isinstance(code, types.CodeType)  # not a syntax tree: no such flag is given
        return code


def _definitions(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body, those under `if` and `try` included."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _definitions(node.body)
            yield from _definitions(node.orelse)
            for handler in getattr(node, "handlers", []):
                yield from _definitions(handler.body)


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        return {a.asname or a.name.partition(".")[0] for a in node.names}
    return {t.id for t in targets if isinstance(t, ast.Name)}
