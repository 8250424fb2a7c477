"""What a release asserts of the parallel sizes only once it builds the model: read, not executed.

A launch's checks pass `--tp 3` for a model of 64 heads; the model's own class refuses it when the
weights are loaded. Its assertions are found in the file of the class that the config.json names.
"""

import ast
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from reproducers.launch.once import Line
from reproducers.launch.options import Options
from reproducers.launch.words import pieces

_MODELS: Final = "sglang/srt/models"
_CLASS: Final = re.compile(r"^class (\w+)\b", re.MULTILINE)
_SIZE: Final = re.compile(
    r"\b(?:attn_)?(?:tp|tensor_parallel|tensor_model_parallel(?:_world)?)_size\b"
)
_MOST: Final = 3


def asserted_later(root: Path, line: Line, options: Options) -> list[dict[str, Any]]:
    """Assertions about the tensor parallel size in the model's file, if the line sets one.

    Args:
        root: folder that holds the wheel's packages.
        line: a line that passed its checks.
        options: the parser's flags.

    Returns:
        `{"text", "file", "line", "function"}` of each, the first few of a file.
    """
    sizes = [p for p in pieces(line.argv, options) if p.option and p.option.dest == "tp_size"]
    if not sizes or sizes[-1].values in ((), ("1",)):
        return []
    found: list[dict[str, Any]] = []
    for architecture in _architectures(line):
        name = _files(root).get(architecture)
        if name is not None:
            found += [a for a in _assertions(root, name) if a not in found]
    return found


def _architectures(line: Line) -> list[str]:
    named: list[str] = []
    for text in line.configs.values():
        config = json.loads(text)
        listed = config.get("architectures") if isinstance(config, dict) else None
        named += [a for a in listed or () if isinstance(a, str)]
    return list(dict.fromkeys(named))


@functools.lru_cache(maxsize=2)
def _files(root: Path) -> dict[str, str]:
    """For each class of the models' folder the file that defines it."""
    found: dict[str, str] = {}
    for path in sorted((root / _MODELS).glob("*.py")):
        for name in _CLASS.findall(path.read_text(encoding="utf-8", errors="replace")):
            found.setdefault(name, f"{_MODELS}/{path.name}")
    return found


@functools.lru_cache(maxsize=32)
def _assertions(root: Path, name: str) -> tuple[dict[str, Any], ...]:
    try:
        tree = ast.parse((root / name).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    found: dict[str, dict[str, Any]] = {}
    for function, node in _asserts(tree, ""):
        text = " ".join(ast.unparse(node.test).split())
        if "%" in text and _SIZE.search(text):
            place = {"file": name, "line": node.lineno, "function": function}
            found.setdefault(text, {"text": f"assert {text}", **place})
    return tuple(list(found.values())[:_MOST])


def _asserts(node: ast.AST, inside: str) -> Iterator[tuple[str, ast.Assert]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assert):
            yield inside, child
        elif isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _asserts(child, f"{inside}.{child.name}".lstrip("."))
        else:
            yield from _asserts(child, inside)
