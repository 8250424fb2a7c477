"""The walk over a parsed stretch of a file: its statements, the guards around them, the sites."""

import ast
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from app.scanner.blocks import Block
from app.scanner.expressions import last_name, text_of
from app.scanner.finish import Finisher, Spot
from app.scanner.guards import PASSABLE, Guard, Pending, Texts, passed_by
from app.scanner.library import Library, Module
from app.scanner.messages import read
from app.scanner.packages import PackageFacts
from app.scanner.raised import form_of, what_is_raised
from app.scanner.records import ScannedSite
from app.scanner.scope import Function, NeedsWholeError, Scope
from app.scanner.surfaces import Shown, shown_by
from app.scanner.variants import Variant, best_first


class Walker:
    """Collects the sites of one file, stretch by stretch."""

    def __init__(
        self,
        module: Module,
        library: Library,
        facts: PackageFacts,
        finish: Finisher,
        calls: Sequence[int],
    ) -> None:
        """A walker for one file.

        Args:
            module: the file.
            library: the wheel's other files, for names from elsewhere.
            facts: what is special about the package.
            finish: makes the sites.
            calls: offsets of the markers that announce a call of interest, in order.
        """
        self.module = module
        self.sites: list[ScannedSite] = []
        self.reraised = 0
        self._library = library
        self._facts = facts
        self._finish = finish
        self._calls = calls
        self._offset = 0
        self._block = b""
        self._kept: bytes | None = None
        self._marked: list[int] = []
        self._texts = Texts(0)
        self._guards: list[Pending] = []
        self._path: list[str] = []
        self._classes: list[str] = []
        self._functions: list[Function] = []
        self._caught: frozenset[str] = frozenset()

    def walk(self, tree: ast.Module, block: Block, offset: int, kept: bytes | None = None) -> bool:
        """Take the sites of a parsed stretch.

        Args:
            tree: its tree; the class that `block.prefix` puts around it is left out.
            block: where it is in the file.
            offset: what to add to the tree's lines to get the file's.
            kept: the source that was parsed, if it is not all of the stretch.

        Returns:
            Whether that was enough; if not, nothing was taken and all of it has to be parsed.
        """
        before, reraised = len(self.sites), self.reraised
        try:
            self._walk(tree, block, offset, kept)
        except NeedsWholeError:
            del self.sites[before:]
            self.reraised = reraised
            return False
        return True

    def _walk(self, tree: ast.Module, block: Block, offset: int, kept: bytes | None) -> None:
        text = self.module.text
        self._offset = offset
        self._block = text[block.start : block.end]
        self._kept = kept
        lo, hi = bisect_left(self._calls, block.start), bisect_left(self._calls, block.end)
        first = 1 + bool(block.prefix)
        self._marked = []
        line, at = first, block.start
        for mark in self._calls[lo:hi]:
            line += text.count(b"\n", at, mark)
            at = mark
            self._marked.append(line)
        self._texts = Texts(offset)
        self._guards = []
        self._path = list(block.classes)
        self._classes = list(block.classes)
        self._functions = []
        self._caught = frozenset()
        body = tree.body
        if block.prefix and isinstance(body[0], ast.ClassDef):
            body = body[0].body
        self._walk_body(body)

    # --- statements -------------------------------------------------------------------------

    def _walk_body(self, body: Sequence[ast.stmt]) -> None:
        depth = len(self._guards)
        in_function = bool(self._functions)  # what passed at module level says nothing here
        for node in body:
            self._statement(node)
            if in_function and type(node) in PASSABLE:
                self._guards += passed_by(node)
        del self._guards[depth:]

    def _statement(self, node: ast.stmt) -> None:
        kind = type(node)
        if kind is ast.Raise:
            self._raise(node)  # type: ignore[arg-type]  # type() narrows it, mypy does not see
        elif kind is ast.Assert:
            self._assert(node)  # type: ignore[arg-type]  # as above
        else:
            visit = _COMPOUND.get(kind)
            if visit is not None:
                visit(self, node)
            elif self._marked:
                self._look_into(node)

    def _guarded(self, body: Sequence[ast.stmt], *guards: Pending) -> None:
        if body:
            self._guards += guards
            self._walk_body(body)
            del self._guards[len(self._guards) - len(guards) :]

    def _if(self, node: ast.If) -> None:
        if self._marked:
            self._look_into(node.test)
        self._guarded(node.body, Pending("if", node.test, node.lineno))
        self._guarded(node.orelse, Pending("else", node.test, node.lineno))

    def _while(self, node: ast.While) -> None:
        self._look_into(node.test)
        self._guarded(node.body, Pending("loop", node.test, node.lineno, "while "))
        self._walk_body(node.orelse)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._look_into(node.iter)
        self._guarded(node.body, Pending("loop", node, node.lineno))
        self._walk_body(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self._look_into(item.context_expr)
        self._walk_body(node.body)

    def _try(self, node: ast.Try) -> None:
        self._walk_body(node.body)
        for handler in node.handlers:
            outer = self._caught
            if handler.name:
                self._caught = outer | {handler.name}
            self._guarded(handler.body, Pending("except", handler.type, handler.lineno))
            self._caught = outer
        self._walk_body(node.orelse)
        self._walk_body(node.finalbody)

    def _match(self, node: ast.Match) -> None:
        self._look_into(node.subject)
        for case in node.cases:
            self._guarded(case.body, Pending("match", node.subject, node.lineno, case=case))

    def _class(self, node: ast.ClassDef) -> None:
        outer, self._guards = self._guards, []
        self._path.append(node.name)
        self._classes.append(node.name)
        self._walk_body(node.body)
        self._classes.pop()
        self._path.pop()
        self._guards = outer

    def _function(self, node: Function) -> None:
        outer, self._guards = self._guards, []
        self._path.append(node.name)
        self._functions.append(node)
        self._walk_body(node.body)
        self._functions.pop()
        self._path.pop()
        self._guards = outer

    # --- sites ------------------------------------------------------------------------------

    def _scope(self, line: int) -> Scope:
        return Scope(
            module=self.module,
            library=self._library,
            text=self._block,
            kept=self._kept,
            function=self._functions[-1] if self._functions else None,
            class_name=self._classes[-1] if self._classes else "",
            line=line,
            caught=self._caught,
        )

    def _raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            self.reraised += 1
            return
        scope = self._scope(node.lineno)
        if isinstance(node.exc, ast.Call) and last_name(node.exc.func) in self._facts.http:
            shown = shown_by(node.exc, scope, self._facts)
            if shown is not None:
                self._show(shown, node)
                return
        raised = what_is_raised(node.exc, scope)
        if raised is None:
            self.reraised += 1
            return
        self._add("raise", raised.error_class, raised.variants, raised.form, node)

    def _assert(self, node: ast.Assert) -> None:
        scope = self._scope(node.lineno)
        variants = read(node.msg, scope) if node.msg is not None else []
        check = Guard(text_of(node.test), "assert", node.lineno + self._offset)
        self._add("assert", "AssertionError", variants, form_of(node.msg), node, check=check)

    def _look_into(self, node: ast.expr | ast.stmt) -> None:
        """Find the calls of interest in a statement or expression that has a marker."""
        at = bisect_left(self._marked, node.lineno)
        if at == len(self._marked) or self._marked[at] > (node.end_lineno or node.lineno):
            return
        field = ""
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            field = node.target.id
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                alone = isinstance(node, ast.Expr) and node.value is inner
                shown = shown_by(
                    inner, self._scope(inner.lineno), self._facts, field=field, statement=alone
                )
                if shown is not None:
                    self._show(shown, inner)

    def _show(self, shown: Shown, node: ast.AST) -> None:
        check = shown.check
        if check is not None:
            check = check._replace(line=check.line + self._offset)
        self._add(
            shown.kind,
            shown.error_class,
            shown.variants,
            shown.form,
            node,
            status=shown.status,
            check=check,
        )

    def _add(
        self,
        kind: str,
        error_class: str,
        variants: list[Variant],
        form: str,
        node: ast.AST,
        *,
        status: int | None = None,
        check: Guard | None = None,
    ) -> None:
        """One site for each message that the statement can give."""
        guards = tuple(self._texts.of(g) for g in self._guards)
        if check is not None:
            guards = (*guards, check)
        line: int = node.lineno  # type: ignore[attr-defined]  # all are statements or expressions
        end: int = node.end_lineno or line  # type: ignore[attr-defined]  # as above
        spot = Spot(self.module.path, ".".join(self._path), line + self._offset, end + self._offset)
        for variant in best_first(variants) or [[]]:
            self.sites.append(
                self._finish.site(
                    kind, error_class, variant, form, spot, guards=guards, status=status
                )
            )


_COMPOUND: Final[dict[type[ast.stmt], Callable[..., None]]] = {
    ast.If: Walker._if,  # noqa: SLF001  # the table is a part of the class
    ast.While: Walker._while,  # noqa: SLF001  # as above
    ast.For: Walker._for,  # noqa: SLF001  # as above
    ast.AsyncFor: Walker._for,  # noqa: SLF001  # as above
    ast.With: Walker._with,  # noqa: SLF001  # as above
    ast.AsyncWith: Walker._with,  # noqa: SLF001  # as above
    ast.Try: Walker._try,  # noqa: SLF001  # as above
    ast.TryStar: Walker._try,  # noqa: SLF001  # as above
    ast.Match: Walker._match,  # noqa: SLF001  # as above
    ast.ClassDef: Walker._class,  # noqa: SLF001  # as above
    ast.FunctionDef: Walker._function,  # noqa: SLF001  # as above
    ast.AsyncFunctionDef: Walker._function,  # noqa: SLF001  # as above
}
