"""What code compares with: the constants of a function, and those of a release."""

import ast
from collections.abc import Iterator
from typing import Any


class Constants:
    """The constants of a function, and those that a release compares an attribute with."""

    def __init__(self, function: ast.AST, of_leaf: dict[str, list[Any]]) -> None:
        self.of_leaf = of_leaf
        self.own = list(constants_of(function))


def constants_of(node: ast.AST) -> Iterator[Any]:
    """Numbers and words in a piece of code, each once."""
    seen = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, bool | int | str | float):
            value = each.value
            if isinstance(value, str) and (len(value) > 40 or " " in value):  # a sentence
                continue
            if repr(value) not in seen:
                seen.add(repr(value))
                yield value
