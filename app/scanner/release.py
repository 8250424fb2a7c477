"""A wheel → everything it can raise, answer or log: `scan_wheel`.

Files are read in child processes, as many as there are processors; a wheel with little in it is
read right here. The result does not depend on how many.
"""

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

from packaging.version import Version

from app.scanner.finish import learn_families, set_families
from app.scanner.identity import site_id
from app.scanner.native import SUFFIXES
from app.scanner.packages import package_facts
from app.scanner.pool import Reading, Reads
from app.scanner.reading import Part
from app.scanner.records import ScannedRelease, ScannedSite
from app.settings import DATA_DIR
from app.wheels import Wheel

Progress = Callable[[int, int], None]
"""Called with (bytes read so far, bytes in all)."""


def ordinal(version: str) -> int:
    """A number that orders the releases of a package as their versions are ordered.

    Development and pre-releases come before, post-releases after the release that they belong to,
    a local version (`+cu121`) right after its public one. Four parts of the version count, each up
    to 999; the number of a pre- or post-release up to 99, of its development release up to 97.

    Raises:
        packaging.version.InvalidVersion: not a version.
    """
    v = Version(version)
    parts = [*v.release, 0, 0, 0, 0][:4]
    number = min(v.epoch, 9)
    for part in parts:
        number = number * 1000 + min(part, 999)
    return (number * 100_000 + _stage(v)) * 2 + bool(v.local)


def _stage(v: Version) -> int:
    """Where a version stands among those with the same numbers: 0 to 99,999."""
    within = 98 if v.dev is None else min(v.dev, 97)
    if v.pre is not None:
        letter, number = v.pre
        return {"a": 10_000, "b": 20_000, "rc": 30_000}[letter] + min(number, 99) * 100 + within
    if v.post is not None:
        return 60_000 + min(v.post, 99) * 100 + within
    return 50_000 if v.dev is None else min(v.dev, 9_999)


@cache
def scanner_digest() -> str:
    """A digest of everything that decides what a scan gives: this package and its tables."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    tables = [DATA_DIR / "packages.toml", DATA_DIR / "families" / "weights.tsv"]
    for path in sorted([*here.rglob("*.py"), *tables]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def scan_wheel(
    wheel: Wheel, on_progress: Progress | None = None, *, processes: int | None = None
) -> ScannedRelease:
    """Read all error sites of a wheel.

    Args:
        wheel: an opened wheel.
        on_progress: told about the bytes read.
        processes: how many children read; 0 reads in this process. As many as there are
            processors by default, none for a small wheel.

    Raises:
        BadWheelError: a file in the wheel is damaged.
        UnavailableError: a child process died.
    """
    return Scan(wheel, processes=processes).finish(on_progress)


class Scan:
    """A scan that is going on: begun by making it, so that other things can be done meanwhile."""

    def __init__(
        self,
        wheel: Wheel,
        *,
        processes: int | None = None,
        cache: Path | None = None,
        reader: "Callable[[Wheel, Part], Reads] | None" = None,
    ) -> None:
        """Begin; see `scan_wheel`. What can be kept for the next release is kept in `cache`.

        With a `reader` that one reads, in place of children on this machine.
        """
        self._cache = cache
        self._started = time.perf_counter()
        facts = package_facts(wheel.package)
        part = Part(wheel.package, str(wheel.path), _python(wheel, facts.exclude), [])
        if facts.native:
            part.native += [
                name
                for name in wheel.names()
                if name.endswith(SUFFIXES) and not name.startswith(facts.exclude or ("\0",))
            ]
        self._release = ScannedRelease(
            package=wheel.package,
            version=wheel.version,
            sha256=wheel.sha256,
            wheel=wheel.path.name,
            license=wheel.license,
            files=len(part.python) + len(part.native),
        )
        self._reading: Reads = (
            reader(wheel, part) if reader is not None else Reading(wheel, part, processes)
        )

    def cancel(self) -> None:
        """Leave it."""
        self._reading.stop()

    def finish(self, on_progress: Progress | None = None) -> ScannedRelease:
        """Wait for the end.

        Raises:
            BadWheelError: a file in the wheel is damaged.
            UnavailableError: a child process died.
        """
        from app.scanner.family_memory import FamilyMemory  # noqa: PLC0415  # while children read

        release = self._release
        kept = self._cache / "families" / release.package if self._cache else None
        memory = FamilyMemory(kept, scanner_digest())
        for answer in self._reading.answers(on_progress):
            if answer.has_families:
                learn_families(answer.sites, memory)
            else:
                set_families(answer.sites, memory)
            release.sites += answer.sites
            release.unparsed += answer.unparsed
            release.failed_patterns += answer.failed_patterns
            release.reraised += answer.reraised
        release.sites.sort(key=lambda s: (s.file, s.line, s.end_line))
        release.unparsed.sort(key=lambda u: str(u["file"]))
        number_sites(release.sites)
        memory.keep()
        release.seconds = round(time.perf_counter() - self._started, 3)
        return release


def _python(wheel: Wheel, exclude: tuple[str, ...]) -> list[str]:
    return [
        name
        for name in wheel.names()
        if name.endswith(".py") and not (exclude and name.startswith(exclude))
    ]


def number_sites(sites: list[ScannedSite]) -> None:
    """Give the sites, in reading order, their ids: entry, function leaf, number among equals."""
    seen: defaultdict[tuple[str, str], int] = defaultdict(int)
    for site in sites:
        leaf = site.function.rpartition(".")[2]
        key = (site.entry_id, leaf)
        site.site_id = site_id(site.entry_id, leaf, seen[key])
        seen[key] += 1
