"""Identity of an error: what stays the same when its code moves.

An entry is a class and a template of a package: neither file, function nor line, so that an error
that moves keeps its page. Holes are emptied, because `{self.x}` and `{x}` print the same. Where
the source gives no words of its own (`assert n == m`, `raise ValueError(e)`), the condition under
which it is raised stands in for them, marked so that it cannot meet a template of the same text.
"""

import hashlib

from app.scanner.templates import Parts, skeleton

_FOLDED_MARK = "\1"


def bare_class(error_class: str) -> str:
    """`torch.OutOfMemoryError` → `OutOfMemoryError`, `std::runtime_error` → `runtime_error`."""
    return error_class.rpartition(".")[2].rpartition("::")[2]


def entry_id(package: str, error_class: str, template: str | Parts, *, condition: str = "") -> str:
    """The id of an entry, 16 hex digits.

    Args:
        package: canonical name, `sglang`.
        error_class: the class name as written at the raise; its last part counts.
        template: the message with its holes as `{expr}`, braces of its own doubled.
        condition: stands in for a message that has no words of its own; empty if it has.
    """
    words = _FOLDED_MARK + " ".join(condition.split()) if condition else skeleton(template)
    return _digest("v1", package, bare_class(error_class), words)


def site_id(entry: str, function_leaf: str, ordinal: int) -> str:
    """The id of one place of an entry, stable over releases.

    Args:
        entry: the entry's id.
        function_leaf: last part of the function's qualified name.
        ordinal: the place's number among equals in reading order, from 0.
    """
    return _digest(entry, function_leaf, str(ordinal))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
