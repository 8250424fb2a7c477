"""What was found by the program: looked for, kept, made evidence, shown and run again."""

import fnmatch
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from packaging.version import Version

from app.runs.found import Found, found_releases, keep_found, read_found
from app.runs.synthesizing import (
    confirm_lines,
    line_digest,
    program_digest,
    site_payload,
    synthesize,
)
from app.scanner.records import ScannedSite
from app.scanner.release import scan_wheel
from app.settings import Settings
from app.spread import Spread, spread_of
from app.wheels import Wheel

Progress = Callable[[int, int, int], None]
"""Called with (sites done, sites in all, of those with trigger and fix)."""
_KEPT_AT_ONCE: Final = 25
_KINDS: Final = ("raise", "assert")


@dataclass(frozen=True, slots=True)
class Wish:
    """Which sites are to be looked at."""

    paths: tuple[str, ...] = ()
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    again: bool = False
    """Also those of which something is known already."""

    def chosen(self, sites: Sequence[ScannedSite]) -> list[ScannedSite]:
        """The sites of a release that it means, in reading order."""
        found = [s for s in sites if s.kind in _KINDS and self._wants(s.file)]
        found.sort(key=lambda s: (s.file, s.line, s.site_id))
        if self.sample is not None and self.sample < len(found):
            found = random.Random(self.seed).sample(found, self.sample)  # noqa: S311  # a sample
            found.sort(key=lambda s: (s.file, s.line, s.site_id))
        return found[: self.limit] if self.limit is not None else found

    def _wants(self, file: str) -> bool:
        return not self.paths or any(_fits(file, p) for p in self.paths)


def _fits(file: str, pattern: str) -> bool:
    """Whether a file is meant; `srt/` stands for `sglang/srt/`, a folder for all in it."""
    for one in (pattern, f"*/{pattern}"):
        if fnmatch.fnmatchcase(file, one) or fnmatch.fnmatchcase(file, f"{one.rstrip('/')}/*"):
            return True
    return False


def synthesize_release(
    wheel: Wheel,
    wish: Wish,
    settings: Settings,
    *,
    jobs: int = 2,
    on_progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Look at sites of a release; what is known already is not looked at again.

    Args:
        wheel: the release.
        wish: which sites.
        settings: where the caches and the database lie.
        jobs: how many sandboxes at a time on this machine; a cluster has one a processor.
        on_progress: told how far it is.

    Returns:
        The result of each site, failures included; see `reprobase synthesize` in the contract.

    Raises:
        UnavailableError: nothing can be executed, or the results cannot be kept.
        BadWheelError: the wheel is damaged.
    """
    every = scan_wheel(wheel).sites
    return synthesize_sites(
        wheel, wish.chosen(every), wish, settings, every=every, jobs=jobs, on_progress=on_progress
    )


def synthesize_sites(  # the parts of one question
    wheel: Wheel,
    sites: Sequence[ScannedSite],
    wish: Wish,
    settings: Settings,
    *,
    every: Sequence[ScannedSite] = (),
    jobs: int = 2,
    on_progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Look at these sites of a release; see `synthesize_release`.

    Args:
        wheel: the release.
        sites: in the order of files.
        wish: whether what is known is looked at again, and the seed.
        settings: where the caches and the database lie.
        every: all sites of the release: which texts a line can have.
        jobs: how many sandboxes at a time on this machine; a cluster has one a processor.
        on_progress: told how far it is.
    """
    program = program_digest()
    known = {} if wish.again else read_found(settings, wheel.package, wheel.version, program)
    earlier = _earlier(wheel, settings)
    own: set[str] = set()
    for site_id, result in read_found(settings, wheel.package, wheel.version).items():
        if result.get("fix"):  # found by an older program: shown again, if it still is so
            earlier[site_id] = result
            own.add(site_id)
    texts = _texts([*every, *sites])
    todo = [
        site_payload(s, earlier.get(s.site_id), sorted(texts[s.file, s.line] - {s.pattern}))
        for s in sites
        if s.site_id not in known
    ]
    results = {s.site_id: known[s.site_id] for s in sites if s.site_id in known}
    tell = on_progress or (lambda _done, _total, _found: None)
    pending: list[Found] = []
    good = sum(bool(r.get("fix")) for r in results.values())

    def flush() -> None:
        kept = pending[:]  # threads that are being ended may still add some
        keep_found(settings, wheel.package, wheel.version, program, kept)
        del pending[: len(kept)]

    def take(site: dict[str, Any], found: Found) -> None:
        nonlocal good
        facts = {k: v for k, v in site.items() if k not in ("before", "pattern", "others")}
        result = {**facts, "detail": "", **found}
        line = (site.get("before") or {}).get("launch")
        if line and found.get("reused") and site["siteId"] in own:
            result["launch"] = line
            result["level"] = "launch" if line["confirmed"] else result["level"]
        results[str(site["siteId"])] = result
        good += bool(result.get("fix"))
        pending.append(result)
        if len(pending) >= _KEPT_AT_ONCE:
            flush()
        tell(len(results), len(sites), good)

    tell(len(results), len(sites), good)
    spread = spread_of(settings, max(1, jobs))
    try:
        if todo:
            synthesize(wheel, todo, settings, take, spread=spread, seed=wish.seed)
        flush()
        looked = [results[s.site_id] for s in sites if s.site_id in results]
        _confirm(wheel, looked, settings, spread)
    finally:
        spread.close()
        flush()
    return [results[s.site_id] for s in sites if s.site_id in results]


def _texts(sites: Iterable[ScannedSite]) -> dict[tuple[str, int], set[str]]:
    """The patterns of all texts that the message of a line can have."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for site in sites:
        if not site.condition:
            found[site.file, site.line].add(site.pattern)
    return found


def _confirm(wheel: Wheel, results: list[Found], settings: Settings, spread: Spread) -> None:
    """Launch lines for the argument checks of which a trigger is known and no line was tried."""
    todo = [
        r
        for r in results
        if r.get("trigger") and is_argument_check(str(r["file"])) and _line_open(r)
    ]
    if not todo:
        return
    program = program_digest()

    def take(result: Found, line: dict[str, Any]) -> None:
        result["launch"] = line | {"program": line_digest()}
        if line.get("confirmed"):
            result["level"] = "launch"
        keep_found(settings, wheel.package, wheel.version, program, [result])

    confirm_lines(wheel, todo, settings, take, spread=spread)


def _line_open(result: Found) -> bool:
    """Whether a line is to be looked for: none was, or another program looked in vain."""
    line = result.get("launch")
    if line is None:
        return True
    return not line["confirmed"] and line.get("program") != line_digest()


def is_argument_check(file: str) -> bool:
    """Whether the checks of a file are about the options of a launch."""
    return "/srt/arg_groups/" in file or file.endswith("/srt/server_args.py")


def _earlier(wheel: Wheel, settings: Settings) -> dict[str, Found]:
    """What was found of the nearest other release: where a search begins."""
    others = [v for p, v in found_releases(settings) if p == wheel.package and v != wheel.version]
    if not others:
        return {}
    own = Version(wheel.version)
    older = [v for v in others if Version(v) < own]
    nearest = max(older, key=Version) if older else min(others, key=Version)
    return read_found(settings, wheel.package, nearest)
