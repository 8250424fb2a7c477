"""Is there a hand-written reproducer for an entry, and what does it say of itself?

The files are read, never imported: they belong to the other tower.
"""

import ast
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from app.python_source import parse_python
from app.settings import PROJECT_ROOT

FOLDER = PROJECT_ROOT / "reproducers" / "errors"


@dataclass(frozen=True, slots=True)
class ReproducerFile:
    """A hand-written reproducer as text."""

    slug: str
    about: str
    """Its module docstring."""
    releases: str | None
    """Its `RELEASES`, a specifier such as `sglang >=0.5.16,<=0.5.23`."""
    source: str
    trigger: str
    """Source of its `trigger`, without the docstring."""
    fix: str
    has_reference: bool
    """It says that it also runs on the reference runtime (`REFERENCE = True`)."""


def find_reproducer(slug: str | None, folder: Path = FOLDER) -> ReproducerFile | None:
    """The hand-written reproducer of a slug, or None."""
    if not slug or not slug.replace("-", "").isalnum():
        return None
    path = folder / f"{slug.replace('-', '_')}.py"
    try:
        return _read(slug, path, path.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=256)
def _read(slug: str, path: Path, _changed: int) -> ReproducerFile:
    source = path.read_text(encoding="utf-8")
    tree = parse_python(source)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    releases = constants.get("RELEASES")
    return ReproducerFile(
        slug=slug,
        about=ast.get_docstring(tree) or "",
        releases=releases if isinstance(releases, str) else None,
        source=source,
        trigger=_function(tree, source, "trigger"),
        fix=_function(tree, source, "fix"),
        has_reference=constants.get("REFERENCE") is True,
    )


def _function(tree: ast.Module, source: str, name: str) -> str:
    """The body of a top-level function as text; empty if there is none."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                lines = source.splitlines()[body[0].lineno - 1 : node.end_lineno]
                return textwrap.dedent("\n".join(lines))
    return ""
