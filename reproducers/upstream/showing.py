"""The code of what stands in place of something of an engine, as a page shows it."""

import inspect
import textwrap
import types
from typing import Any

from reproducers.upstream.plain import plain

MAX_SOURCE = 20_000


def source_of(new: Any) -> str | None:
    """The code of a function or class, or of the class of an object; None if it has none."""
    for candidate in (new, type(new)):
        try:
            return textwrap.dedent(inspect.getsource(candidate)).rstrip()[:MAX_SOURCE]
        except (OSError, TypeError):
            continue
    return None


def shown(new: Any) -> str:
    """The code of a class or object; of a bare namespace what it holds, functions by their code.

    Nothing in it differs between two runs: an object without code is named by its class.
    """
    if not isinstance(new, types.SimpleNamespace):
        return source_of(new) or type(new).__qualname__
    lines: list[str] = []
    functions: list[str] = []
    for key, value in vars(new).items():
        code = source_of(value) if inspect.isfunction(value) else None
        if code is None:
            lines.append(f"{key} = {_held(value)}")
        elif code not in functions:
            functions.append(code)
    return "\n".join([*lines, *functions])[:MAX_SOURCE]


def _held(value: Any) -> str:
    """A value in a namespace, in one line."""
    if isinstance(value, types.SimpleNamespace):
        return "(" + ", ".join(f"{k}={_held(v)}" for k, v in vars(value).items()) + ")"
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, (bool, int, float, str, list, tuple, dict, type(None))):
        return repr(plain(value))
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{type(value).__name__}{list(value.shape)} {value.dtype}"
    return type(value).__qualname__
