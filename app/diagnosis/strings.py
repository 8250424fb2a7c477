"""An index and its fixed strings, ready to be searched for: all that the first pass needs."""

from app.diagnosis.index import Index
from app.diagnosis.literals import Literals


class Strings:
    """An index with its literal database.

    Args:
        index: the compiled index.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self.literals = Literals(
            index.literals, index.section("matcher"), index.section("sieve"), index.longest
        )
