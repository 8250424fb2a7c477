"""What was perhaps meant by a word that is not known."""

import difflib
from collections.abc import Iterable

NEAR = 5
_CUTOFF = 0.55


def near_words(word: str, known: Iterable[str]) -> list[str]:
    """Up to five known words spelt like one, best first; then those that share parts with it."""
    known = list(known)
    near = difflib.get_close_matches(word, known, NEAR, _CUTOFF)
    parts = set(word.split("-")) - {""}
    shared = [(len(parts & set(other.split("-"))), other) for other in known if other not in near]
    near += [other for count, other in sorted(shared, key=lambda s: (-s[0], s[1])) if count > 1]
    return near[:NEAR]
