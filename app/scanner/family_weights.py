"""Weights of features, learned from labelled sites: which family a site most likely belongs to.

`data/families/weights.tsv` holds a line for each feature: its name, then `column:weight` pairs. Its
head names the families (the columns), their biases, the confidence below which no family is given
(a family that is a guess would send a reader to the wrong page), and a digest of what it was
learned from. `python -m tests.families.train` makes the file from the labels in `tests/families`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from app.settings import DATA_DIR

WEIGHTS: Final = DATA_DIR / "families" / "weights.tsv"
SCALE: Final = 50
"""Weights are kept as whole numbers of fiftieths."""

Row = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """A linear model over features; a site's features count alike, by the root of their number."""

    tags: tuple[str, ...]
    biases: tuple[int, ...]
    least: float
    """Least confidence, between 0 and 1, with which a family is given."""
    rows: dict[str, Row]
    learned_from: str = ""
    """A digest of the labels, rules and features; see `tests.families.train`."""

    def likeliest(self, features: Iterable[str]) -> tuple[str, float]:
        """The likeliest family and how likely it is, between 0 and 1."""
        known = [row for name in features if (row := self.rows.get(name)) is not None]
        sums = [0] * len(self.tags)
        for row in known:
            for column, weight in row:
                sums[column] += weight
        root = math.sqrt(len(known) or 1)
        scores = [(b + s / root) / SCALE for b, s in zip(self.biases, sums, strict=True)]
        best = max(range(len(scores)), key=scores.__getitem__)
        top = scores[best]
        return self.tags[best], 1 / sum(math.exp(score - top) for score in scores)

    def family(self, features: Iterable[str]) -> str | None:
        """The likeliest family, or None if it would be a guess."""
        tag, confidence = self.likeliest(features)
        return tag if confidence >= self.least else None

    def text(self) -> str:
        """The file that `read` reads."""
        head = [
            "\t".join(("families", *self.tags)),
            "\t".join(("biases", *map(str, self.biases))),
            f"least\t{self.least}",
            f"from\t{self.learned_from}",
        ]
        body = [
            "\t".join((name, *(f"{column}:{weight}" for column, weight in row)))
            for name, row in sorted(self.rows.items())
        ]
        return "\n".join([*head, *body]) + "\n"


def read(path: Path) -> Weights:
    """Read a file of weights.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not such a file.
    """
    tags, biases, least, digest, *lines = path.read_text(encoding="utf-8").splitlines()
    rows: dict[str, Row] = {}
    for line in lines:
        name, *pairs = line.split("\t")
        rows[name] = tuple((int(c), int(w)) for c, _, w in (p.partition(":") for p in pairs))
    return Weights(
        tags=tuple(tags.split("\t")[1:]),
        biases=tuple(map(int, biases.split("\t")[1:])),
        least=float(least.split("\t")[1]),
        rows=rows,
        learned_from=digest.split("\t")[1],
    )


@cache
def weights() -> Weights:
    """The project's own weights, read when first asked for."""
    return read(WEIGHTS)
