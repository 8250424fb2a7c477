"""What a run prints carries no source lines of an engine: messages, files and line numbers only."""

import sys
import threading
import traceback
import types
import warnings
from typing import Any


def hide_source_lines() -> None:
    """Make warnings and tracebacks of this process name their place without quoting it."""
    warnings.formatwarning = _format_warning  # type: ignore[assignment]  # same call, fewer words
    traceback.FrameSummary.line = property(lambda _self: "")  # type: ignore[assignment,method-assign]  # a property there too
    sys.excepthook = _print
    threading.excepthook = lambda args: _print(args.exc_type, args.exc_value, args.exc_traceback)


def _format_warning(
    message: Warning | str, category: type[Warning], file: str, line: int, *_: Any
) -> str:
    return f"{file}:{line}: {category.__name__}: {message}\n"


def _print(
    kind: type[BaseException], error: BaseException | None, where: types.TracebackType | None
) -> None:
    # The interpreter's own printer reads the source files itself; this one asks FrameSummary.
    traceback.print_exception(kind, error, where)
