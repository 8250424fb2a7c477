"""By what a search can be narrowed, and the marks in the index that stand for it."""

from collections.abc import Collection
from dataclasses import dataclass

CHANGES = ("new", "same", "moved", "reworded", "classChanged", "gone")


@dataclass(frozen=True, slots=True)
class Filters:
    """All that are set must hold at once."""

    package: str = ""
    release: str = ""
    """`package==version`: the entry is in it; with a status of a release, the release meant."""
    error_class: str = ""
    family: str = ""
    status: str = ""
    """`new`, `same`, `moved`, `reworded`, `classChanged`, `gone` in `release`; or `explained`."""
    ids: Collection[str] | None = None
    """Only these entries: for what changes with every run, such as evidence."""

    def marks(self) -> list[str]:
        """The marks that an entry must have."""
        wanted = []
        if self.package:
            wanted.append(f"package:{self.package}")
        if self.error_class:
            wanted.append(f"class:{self.error_class}")
        if self.family:
            wanted.append(f"family:{self.family}")
        if self.status in CHANGES:
            wanted.append(f"status:{self.release}:{self.status}")
        elif self.release:
            wanted.append(f"release:{self.release}")
        if self.status and self.status not in CHANGES:
            wanted.append(f"status:{self.status}")
        return wanted


def marks_of(
    *,
    package: str,
    error_class: str,
    family: str | None,
    explained: bool,
    statuses: dict[str, str],
) -> list[str]:
    """The marks of an entry.

    Args:
        package: its package.
        error_class: its bare class.
        family: its family, if it has one.
        explained: there is a hand-written page.
        statuses: release → what happened to it there (`gone`: it is no longer in it).
    """
    marks = [f"package:{package}", f"class:{error_class}"]
    if family:
        marks.append(f"family:{family}")
    if explained:
        marks.append("status:explained")
    for release, status in statuses.items():
        marks.append(f"status:{release}:{status}")
        if status != "gone":
            marks.append(f"release:{release}")
    return marks
