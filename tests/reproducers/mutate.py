"""Copies of a release with one thing changed: what a reproducer is proved on.

With the guard taken out the trigger must return; with the message altered it must not match. The
edit is made on the syntax tree's positions, on the site's own line, and changes no other line.
"""

import ast
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from reproducers.protocol import Request

Edit = Callable[[str, ast.stmt], str]


def mutated(request: Request, folder: Path, edit: Edit, *, line: int | None = None) -> Request:
    """The same request on a copy of its release in which one statement is another.

    Args:
        request: on a release; its sites say where.
        folder: where the copy is made; files that stay are linked, so it is cheap.
        edit: `taken_out` or `with_other_words`.
        line: the statement's line where the sites do not know it (a library raises).

    Raises:
        LookupError: no statement is at the site's line.
    """
    root = Path(str(request.subject.root))
    folder.mkdir(exist_ok=True)
    copy = folder / "copy"
    shutil.copytree(root, copy, copy_function=_link)
    for site in request.sites:
        path = copy / str(site["file"])
        source = path.read_text(encoding="utf-8")
        path.unlink()  # a link: the release itself must stay as it is
        path.write_text(_edited(source, int(line or site["line"]), edit), encoding="utf-8")
    return replace(request, subject=replace(request.subject, root=str(copy)))


def taken_out(source: str, statement: ast.stmt) -> str:
    """The statement that raises is `pass`: the guard decides nothing any more."""
    del source, statement
    return "pass"


def with_other_words(source: str, statement: ast.stmt) -> str:
    """The statement raises the same class with a word put before its message.

    Raises:
        LookupError: it raises nothing that has a message.
    """
    if isinstance(statement, ast.Raise) and isinstance(statement.exc, ast.Call):
        call = statement.exc
        name = ast.get_source_segment(source, call.func)
        cause = ast.get_source_segment(source, statement.cause) if statement.cause else None
        others = [ast.get_source_segment(source, a) for a in call.args[1:]]
        others += [f"{k.arg}={ast.get_source_segment(source, k.value)}" for k in call.keywords]
        if call.args:
            words = f"'altered ' + str({ast.get_source_segment(source, call.args[0])})"
            arguments = ", ".join([words, *map(str, others)])
            return f"raise {name}({arguments})" + (f" from {cause}" if cause else "")
    if isinstance(statement, ast.Assert):
        test = ast.get_source_segment(source, statement.test)
        said = ast.get_source_segment(source, statement.msg) if statement.msg else "''"
        return f"assert ({test}), 'altered ' + str({said})"
    raise LookupError(f"no message in {ast.unparse(statement)}")


def _edited(source: str, line: int, edit: Edit) -> str:
    """The source with the statement at `line` replaced, all other lines where they were."""
    statement = _statement_at(source, line)
    lines = source.splitlines(keepends=True)
    first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    new = indent + edit(source, statement) + "\n"
    height = last - first
    if new.count("\n") > height:
        raise LookupError("the new statement is longer than the old one")
    new += "\n" * (height - new.count("\n"))
    return "".join([*lines[:first], new, *lines[last:]])


def _statement_at(source: str, line: int) -> ast.stmt:
    """The innermost statement that a line belongs to."""
    found = None
    for node in ast.walk(ast.parse(source)):
        inside = isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        if inside and (found is None or node.lineno >= found.lineno):
            found = node
    if found is None:
        raise LookupError(f"no statement is at line {line}")
    return found


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
