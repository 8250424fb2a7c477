"""Parsing Python, one thread at a time.

Python 3.11 counts the depth of trees in one place for all threads: two that parse at the same time
can fail with a SystemError. Whoever parses in this process takes this lock.
"""

import ast
import threading
from typing import Final

PARSING: Final = threading.Lock()


def parse_python(text: str | bytes, name: str = "<text>") -> ast.Module:
    """The tree of some Python source; nothing of it is executed.

    Raises:
        SyntaxError: it is not Python of the version that runs this.
        ValueError: it holds characters that no source has.
    """
    with PARSING:
        tree = compile(text, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree
