"""What the path of an input says: what goes on from it, and what its name promises."""

import re
from collections.abc import Iterable
from typing import Any, Final

from reproducers.synthesis.specs import Tensor

_COUNTS: Final = re.compile(
    r"^(?:num|n|max|min|total)_|_(?:size|heads|len|length|dim|count|layers|rank|tokens|experts|num|"
    r"ratio|seqs|steps|degree|width|world|topk)$|^(?:size|rank|length|count|dim|top_?k|world_size)$"
)
_ROWS_NAMED: Final = re.compile(r"(?:_list|_ids|_cpus|_names|_paths|_sizes|_keys|items|_shapes)$")
_FLAGS: Final = re.compile(
    r"^_?(?:is|has|use|enable|disable|should|can|need|needs|allow|return|with|do|skip|force|no)_|"
    r"_(?:enabled|only|initialized|ready|done|finished)$"
)


def leaves(paths: Iterable[str]) -> list[str]:
    """Those paths that no other goes on from: what is looked at in the end."""
    known = list(paths)
    return [
        p for p in known
        if not any(o != p and o.startswith((f"{p}.", f"{p}[", f"{p}(")) for o in known)
    ]  # fmt: skip


def counts(path: str) -> bool:
    """Whether the name says that it is a number of things or a size."""
    return bool(_COUNTS.search(path.rpartition(".")[2]))


def odd(path: str, value: Any) -> bool:
    """Whether no person would give it: counts below zero, tensors with nothing in them."""
    if isinstance(value, Tensor):
        return 0 in value.shape
    if not isinstance(value, int | float) or value >= 0:
        return False
    return counts(path)


def likely(leaf: str) -> tuple[type, ...]:
    """What an input of this name mostly is, where nothing else says so."""
    if _COUNTS.search(leaf):
        return (int, float)
    if _FLAGS.search(leaf):
        return (bool,)
    if _ROWS_NAMED.search(leaf):
        return (list, tuple, Tensor)
    if re.search(r"(?:_name|_path|_dir|_mode|_backend|_type|_format|_key)$", leaf):
        return (str,)
    return (object,)
