"""Where the catalog has a message: in the log's release, and where it stands today."""

from typing import Any

from app.diagnosis.index import Index, TemplateRecord
from app.diagnosis.places import leaf
from app.diagnosis.result import CatalogSite


def site_of(
    index: Index,
    record: TemplateRecord,
    release: int | None,
    file: str | None,
    function: str | None,
) -> CatalogSite | None:
    """The place of a message.

    Args:
        index: the catalog.
        record: the template.
        release: number of the log's release, None if not known.
        file: where the log's innermost frame is, to choose among several places.
        function: its name.
    """
    if not record.sites or record.raised_by:
        return None
    newest = max(i for i, (package, _) in enumerate(index.releases) if package == record.package)
    wanted = release if release is not None and _in(record, release) else None
    if wanted is None:
        wanted = _nearest(record, release)
    site = _choose(record, wanted, file, function)
    if not any(part.strip() for part in record.parts):
        # without words of its own the place is all that tells it from others of its class
        file, function = site[0], leaf(site[1])
    lines = site[2][str(wanted)]
    last = max(_releases(record))
    today, status = _today(index, record, newest, site, (file, function))
    return CatalogSite(
        file=site[0],
        function=site[1],
        release=_name(index, wanted),
        line=lines[0],
        today=today,
        status=status,
        last_release=_name(index, last) if not today and last < newest else None,
    )


def _name(index: Index, release: int) -> str:
    package, version = index.releases[release]
    return f"{package}=={version}"


def _releases(record: TemplateRecord) -> set[int]:
    return {int(r) for site in record.sites for r in site[2]}


def _in(record: TemplateRecord, release: int) -> bool:
    return any(str(release) in site[2] for site in record.sites)


def _nearest(record: TemplateRecord, release: int | None) -> int:
    """The release nearest to the log's that has the message; the newest if the log's is unknown."""
    have = sorted(_releases(record))
    if release is None:
        return have[-1]
    return min(have, key=lambda r: (abs(r - release), -r))


def _choose(
    record: TemplateRecord, release: int, file: str | None, function: str | None
) -> list[Any]:
    """Of the places a release has, the one the log's frame is in, else the first."""
    here = [s for s in record.sites if str(release) in s[2]]
    return min(here, key=lambda s: (s[0] != file, leaf(s[1]) != function))


def _today(
    index: Index,
    record: TemplateRecord,
    newest: int,
    site: list[Any],
    frame: tuple[str | None, str | None],
) -> tuple[dict[str, Any] | None, str]:
    """Where the newest scanned release has it, and what became of it."""
    file, function = frame
    status, later = "same", record
    if not _in(record, newest):
        successor = index.by_id(record.becomes) if record.becomes else None
        if successor is None or not _in(successor, newest):
            return None, "gone"
        status, later = "reworded", successor
    now = _choose(later, newest, file, function)
    wordless = not any(part.strip() for part in later.parts)
    if wordless and (now[0], leaf(now[1])) != (site[0], leaf(site[1])):
        return None, "gone"
    if status == "same" and _moved(site, now, file, function):
        status = "moved"
    return {
        "file": now[0],
        "function": now[1],
        "line": now[2][str(newest)][0],
        "release": _name(index, newest),
        "template": later.template,
    }, status


def _moved(site: list[Any], now: list[Any], file: str | None, function: str | None) -> bool:
    """Whether a message stands elsewhere today than in its release, or than in the log's frame."""
    if (now[0], now[1]) != (site[0], site[1]):
        return True
    package = now[0].split("/", 1)[0]
    in_frame = file is not None and file.startswith(f"{package}/")
    return in_frame and (file != now[0] or leaf(now[1]) != function)
