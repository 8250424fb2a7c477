"""What the weights of `app.scanner.family_weights` look at: the features of one error site.

A feature is a short name such as `w:divisible` (a word of the message) or `g:isinstance` (a name in
the condition). Names are plain so that a weight can be read, and so that the same words mean the
same in every package.
"""

import re
from itertools import pairwise
from typing import Final

WORDS: Final = ("w:", "g:")
"""Features that are a word of the message, or of the condition."""
RULED: Final = "r:"
"""Begins the feature that says what the rules say."""

_WORD: Final = re.compile(r"[a-z0-9]+|\{\w*\}")
_CODE: Final = re.compile(r"'[^']*'|[A-Za-z_]\w*|[<>=!]=|[<>%]|//|\b[01]\b")
_HOLE: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_]+")
_MOST: Final = 60
"""Words of a message, and of a condition, that are read."""
_STEM: Final = 5
_TELLING: Final = frozenset(
    {"isinstance", "len", "is", "none", "not", "in", "shape", "dtype", "device", "ndim", "dim"}
)


def features_of(text: str, template: str, guard: str, name: str, kind: str) -> set[str]:
    """The features of a site.

    Args:
        text: the message as `app.scanner.cues.normalise` makes it.
        template: the message as it is written.
        guard: the condition that decides, as `deciding_guards` words it; may be empty.
        name: the bare class.
        kind: `raise`, `assert`, `argparse`, `http`, `log` or `native`.
    """
    words = _WORD.findall(text)[:_MOST]
    found = {f"k:{kind}", f"c:{name}", f"kc:{kind} {name}", f"n:{min(len(words) // 4, 5)}"}
    found.update([f"{'o' if word[0] == '{' else 'w'}:{word}" for word in words])
    found.update([f"p:{word[:_STEM]}" for word in words if len(word) > _STEM])
    if words:
        found.update((f"first:{words[0]}", f"last:{words[-1]}"))
    if "{" in template:
        holes = _HOLE.findall(template)
        found.add(f"holes:{min(len(holes), 3)}")
        found.update([f"h:{word.lower()}" for hole in holes for word in _NAME.findall(hole)])
    if guard:
        found |= _of_guard(guard, kind)
    return found


def _of_guard(guard: str, kind: str) -> set[str]:
    tokens = [token.lower() for token in _CODE.findall(guard)[:_MOST]]
    found = {f"g:{token}" for token in tokens}
    found.update([f"gb:{a} {b}" for a, b in pairwise(tokens)])
    found.update([f"kg:{kind} {t}" for t in tokens if t in _TELLING or not t.isidentifier()])
    for token in tokens:
        if "_" in token:
            found.update([f"gp:{part}" for part in token.split("_") if len(part) > 2])  # noqa: PLR2004  # shorter parts say nothing
    if guard.startswith("except"):
        found.add("except")
    return found
