"""Values of engine code as plain JSON, short enough to show."""

import enum
import math
from collections.abc import Mapping
from typing import Any, Final

MAX_ITEMS: Final = 64
MAX_TEXT: Final = 2000
MAX_DEPTH: Final = 6


def plain(value: Any, depth: int = 0) -> Any:  # noqa: PLR0911  # one a kind of value
    """A JSON value that says the same.

    Tensors and arrays of up to 64 elements become nested lists, larger ones their shape and dtype;
    floats that JSON does not have, enums, dtypes and anything else become text.
    """
    if value is None or isinstance(value, (bool, int)):
        return value.name if isinstance(value, enum.Enum) else value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, str):
        return str(value)[:MAX_TEXT]
    if depth >= MAX_DEPTH:
        return _text(value)
    if isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return {str(k): plain(v, depth + 1) for k, v in items}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(v, depth + 1) for v in list(value)[:MAX_ITEMS]]
    if hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "tolist"):
        size = math.prod(int(n) for n in value.shape)
        if size <= MAX_ITEMS:
            return plain(value.tolist(), depth + 1)
        return f"{type(value).__name__}{list(value.shape)} {value.dtype}"
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"[:MAX_TEXT]
    if isinstance(value, type):
        return value.__qualname__
    try:
        return repr(value)[:MAX_TEXT]
    except Exception as e:  # noqa: BLE001  # a foreign repr may raise anything
        return f"<{type(value).__name__} whose repr raised {type(e).__name__}>"
