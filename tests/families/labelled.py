"""Sites that readers labelled, found again in the release they were taken from.

`labels/*.tsv` holds a line for each site: file, line, kind, the beginning of the SHA-1 of its
template, then the families that each reader would accept, the best first. What a site says and
checks is not kept: it is read from the wheel.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from app.scanner.records import ScannedSite

RELEASE = "sglang==0.5.23"
FOLDER = Path(__file__).parent / "labels"

Key = tuple[str, int, str, str]


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled site."""

    key: Key
    readers: tuple[tuple[str, ...], ...]
    """The families that each reader accepts."""

    @property
    def accepted(self) -> list[str]:
        """What any of the readers accepts, the best first."""
        return list(dict.fromkeys(tag for tags in self.readers for tag in tags))


def labelled(name: str) -> list[Labelled]:
    """The lines of a file of labels."""
    found = []
    for line in (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        file, number, kind, digest, *readers = line.split("\t")
        tags = tuple(tuple(reader.split()) for reader in readers)
        found.append(Labelled((file, int(number), kind, digest), tags))
    return found


def key_of(site: ScannedSite) -> Key:
    """What a line of labels knows a site by."""
    digest = hashlib.sha1(site.template.encode(), usedforsecurity=False).hexdigest()[:8]
    return site.file, site.line, site.kind, digest


def found_in(
    sites: Iterable[ScannedSite], labels: Iterable[Labelled]
) -> list[tuple[ScannedSite, Labelled]]:
    """The labelled sites with their labels."""
    by_key = {key_of(site): site for site in sites}
    return [(by_key[label.key], label) for label in labels if label.key in by_key]
