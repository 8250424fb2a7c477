"""Where the catalog has a message: in the log's release, and where it stands today."""

from typing import Any, NamedTuple

from app.diagnosis.index import Index, TemplateRecord
from app.diagnosis.judging import nearness
from app.diagnosis.places import MODULE, leaf
from app.diagnosis.result import CatalogSite


class Seen(NamedTuple):
    """Where the log says that it was raised; all None if it does not."""

    file: str | None = None
    function: str | None = None
    line: int | None = None


def site_of(
    index: Index,
    record: TemplateRecord,
    release: int | None,
    seen: Seen,
    later: TemplateRecord | None = None,
) -> CatalogSite | None:
    """The place of a message.

    Args:
        index: the catalog.
        later: of a message that is gone, the wording of a later release that it also fits.
        record: the template.
        release: number of the log's release, None if not known.
        seen: the log's innermost frame, to choose among several places.
    """
    if not record.sites or record.raised_by:
        return None
    wanted = release if release is not None and _in(record, release) else None
    if wanted is None:
        wanted = _nearest(record, release, seen)
    site = _choose(record, wanted, seen)
    if not any(part.strip() for part in record.parts):
        # without words of its own the place is all that tells it from others of its class
        seen = Seen(site[0], leaf(site[1]), seen.line)
    lines = site[2][str(wanted)]
    today, status = _today(index, record, later, site, seen)
    return CatalogSite(
        file=site[0],
        function=site[1] or MODULE,
        release=_name(index, wanted),
        line=lines[0],
        today=today,
        status=status,
        last_release=None if today else _last(index, record, later),
    )


def _last(index: Index, record: TemplateRecord, later: TemplateRecord | None) -> str | None:
    """The last release that has the message or its later wording, if that is not the newest."""
    last = max(max(map(int, r.sites[0][2])) for r in (record, later) if r)
    return _name(index, last) if last < index.newest[record.package] else None


def gone(index: Index, record: TemplateRecord) -> bool:
    """Whether the newest release has neither the message nor what it is known to have become."""
    newest = index.newest.get(record.package)
    if newest is None or not record.sites or record.raised_by or _in(record, newest):
        return False
    after = index.by_id(record.becomes) if record.becomes else None
    return after is None or not _in(after, newest)


def newest_of(record: TemplateRecord) -> int:
    """Number of the newest release that has a record; -1 for none."""
    return max((int(r) for site in record.sites for r in site[2]), default=-1)


def _name(index: Index, release: int) -> str:
    package, version = index.releases[release]
    return f"{package}=={version}"


def _releases(record: TemplateRecord) -> set[int]:
    return {int(r) for site in record.sites for r in site[2]}


def _in(record: TemplateRecord, release: int) -> bool:
    return any(str(release) in site[2] for site in record.sites)


def _nearest(record: TemplateRecord, release: int | None, seen: Seen) -> int:
    """The release nearest to the log's that has the message.

    If the log's is unknown: the newest that has it at the line of the frame, in its function, or
    anywhere.
    """
    if release is not None:
        return min(_releases(record), key=lambda r: (abs(r - release), -r))
    if seen.file is not None:
        share, number = nearness(record, seen.file, seen.line, None)
        if share:
            return number
    inside = [s for s in record.sites if s[0] == seen.file and leaf(s[1]) == seen.function]
    # the newest place stands first
    return max(int(r) for s in inside or record.sites[:1] for r in s[2])


def _choose(record: TemplateRecord, release: int, seen: Seen) -> list[Any]:
    """Of the places a release has, the one the log's frame is in, else the first."""
    if len(record.sites) == 1:
        return record.sites[0]
    here = [s for s in record.sites if str(release) in s[2]]
    return min(here, key=lambda s: (s[0] != seen.file, leaf(s[1]) != seen.function))


def _today(
    index: Index,
    record: TemplateRecord,
    fits: TemplateRecord | None,
    site: list[Any],
    seen: Seen,
) -> tuple[dict[str, Any] | None, str]:
    """Where the newest scanned release has it, and what became of it."""
    newest = index.newest[record.package]
    status, later = "same", record
    if not _in(record, newest):
        successor = index.by_id(record.becomes) if record.becomes else fits
        if successor is None or not _in(successor, newest):
            return None, "gone"
        wordless = not any(part.strip() for part in record.parts)
        status, later = "moved" if wordless else "reworded", successor
    now = _choose(later, newest, seen)
    wordless = not any(part.strip() for part in later.parts)
    if wordless and later is record and (now[0], leaf(now[1])) != (site[0], leaf(site[1])):
        return None, "gone"
    if status == "same" and _moved(site, now, seen):
        status = "moved"
    return {
        "file": now[0],
        "function": now[1] or MODULE,
        "line": now[2][str(newest)][0],
        "release": _name(index, newest),
        "template": later.template,
    }, status


def _moved(site: list[Any], now: list[Any], seen: Seen) -> bool:
    """Whether a message stands elsewhere today than in its release, or than in the log's frame."""
    if (now[0], now[1]) != (site[0], site[1]):
        return True
    package = now[0].split("/", 1)[0]
    in_frame = seen.file is not None and seen.file.startswith(f"{package}/")
    return in_frame and (seen.file != now[0] or leaf(now[1]) != seen.function)
