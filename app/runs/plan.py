"""From an entry of the catalog to the request that runs its reproducer on one subject."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from packaging.version import Version
from sqlmodel import Session, col, or_, select

from app.exceptions import NotFoundError
from app.knowledge.entry_file import EntryFile
from app.models import Alias, Entry, Explanation, Release, Site
from app.runs.places import NO_WORDS, Places, Wording, functions_in, places_in
from app.runs.reference_places import reference_places
from app.runs.requests import place_values, release_request, site_values
from app.runs.subjects import REFERENCE
from app.settings import Settings
from app.wheels import Wheel, cached_versions, fetch, parse_release
from reproducers.protocol import Device, Request, Step, Subject

Progress = Callable[[str], None]


class NoSiteError(NotFoundError):
    """The release is there, but none of its code raises the error."""


@dataclass(frozen=True, slots=True)
class Runnable:
    """What is known of an entry that matters for running it; outlives the database session."""

    entry_id: str
    slug: str
    package: str
    error_type: str
    wording: Wording
    places: tuple[str, ...] = ()
    """Where a library raises it: `file::function` of the innermost engine frame."""
    snippets: Mapping[str, str] = field(default_factory=dict)
    scanned: Mapping[str, Places] = field(default_factory=dict)
    """What the catalog knows, by version."""

    @property
    def silent(self) -> bool:
        """Whether it is an error without an exception."""
        return self.error_type == "silent"


def runnable(db: Session, entry: Entry) -> Runnable:
    """Gather what is known of an explained entry.

    Raises:
        NotFoundError: the entry has no slug, so that no reproducer can bear its name.
    """
    if entry.slug is None:
        raise NotFoundError(f"The error {entry.id} has no reproducer written by hand.")
    row = db.get(Explanation, entry.slug)
    text = EntryFile.model_validate(row.content) if row else None
    return Runnable(
        entry_id=entry.id,
        slug=entry.slug,
        package=entry.package,
        error_type=entry.error_type,
        wording=Wording(entry.error_class, entry.template, entry.pattern, entry.condition),
        places=tuple(text.facts.places) if text else (),
        snippets=text.snippets() if text else {},
        scanned=_scanned(db, entry),
    )


def _scanned(db: Session, entry: Entry) -> dict[str, Places]:
    """The entry's places in the scanned releases, older wordings included."""
    older = select(Alias.alias).where(
        Alias.entry_id == entry.id, or_(*(Alias.kind == k for k in ("reworded", "class-changed")))
    )
    ids = [entry.id, *db.exec(older)]
    entries = {e.id: e for e in db.exec(select(Entry).where(col(Entry.id).in_(ids)))}
    rows = db.exec(
        select(Site, Release)
        .where(Site.release_id == Release.id, col(Site.entry_id).in_(ids))
        .order_by(col(Site.file), col(Site.line))
    )
    sites: dict[str, list[Site]] = {}
    for site, release in rows:
        sites.setdefault(release.version, []).append(site)
    found = {}
    for version, here in sites.items():
        first = next((s for s in here if s.entry_id == entry.id), here[0])  # today's own wording
        same = [s for s in here if s.entry_id == first.entry_id]
        known = entries.get(first.entry_id)
        pattern = known.pattern if known else ""
        if known and known.condition and not known.template:
            pattern = NO_WORDS
        if pattern:
            values = site_values(same)
            found[version] = Places(first.error_class, first.template, pattern, values)
    return found


def plan(
    entry: Runnable,
    subject: str,
    step: Step,
    settings: Settings,
    *,
    device: Device = "cpu",
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Request:
    """The request for one step on one subject; the wheel is fetched and unpacked if need be.

    Args:
        entry: see `runnable`.
        subject: `sglang==0.5.18`, or `reference`.
        step: `trigger` or `fix`.
        settings: where the caches lie.
        device: where tensors live.
        seed: of torch's random numbers.
        on_progress: told about a wheel that has to be fetched.

    Raises:
        BadInputError: the subject is not a release.
        NotFoundError: there is no such release.
        NoSiteError: it does not have the error.
        UnavailableError: the wheel cannot be fetched.
        BadWheelError: the wheel is damaged.
    """
    if subject == REFERENCE:
        return _reference(entry, step, device, seed)
    package, version = parse_release(subject)
    if package != entry.package:
        raise NotFoundError(f"{entry.slug} is an error of {entry.package}, not of {package}.")
    wheel = fetch(package, version, settings, on_progress=on_progress)
    found = _places(entry, wheel, settings)
    if not found.sites:
        said = (
            f"it has no {' and no '.join(p.rpartition('::')[2] for p in entry.places)}"
            if entry.places
            else f"none of its code says {entry.wording.template or entry.wording.condition!r}"
        )
        raise NoSiteError(f"{subject} does not have this error: {said}.")
    return release_request(
        wheel,
        settings,
        slug=entry.slug,
        step=step,
        template=found.template,
        pattern=found.pattern,
        error_class=found.error_class,
        sites=found.sites,
        snippets=entry.snippets,
        device=device,
        seed=seed,
    )


def _places(entry: Runnable, wheel: Wheel, settings: Settings) -> Places:
    wording = entry.wording
    if entry.places:
        here = place_values(functions_in(wheel, entry.places))
        return Places(wording.error_class, wording.template, wording.pattern, here)
    if wheel.version in entry.scanned:
        return entry.scanned[wheel.version]
    return places_in(wheel, wording, _neighbours(wheel, settings))


def _neighbours(wheel: Wheel, settings: Settings) -> Iterator[Wheel]:
    """Other cached releases of the package: newer ones, nearest first, then older ones."""
    versions = [Version(v) for v in cached_versions(wheel.package, settings)]
    own = Version(wheel.version)
    newer = [v for v in versions if v > own]
    older = [v for v in reversed(versions) if v < own]
    for version in (*newer, *older):
        yield fetch(wheel.package, str(version), settings)


def _reference(entry: Runnable, step: Step, device: Device, seed: int) -> Request:
    wording = entry.wording
    sites = reference_places(wording.error_class, wording.template, entry.places)
    if not sites:
        raise NotFoundError(f"The reference has no guard that says {wording.template!r}.")
    return Request(
        kind="reproducer",
        subject=Subject(name=REFERENCE),
        scratch="",
        slug=entry.slug,
        step=step,
        device=device,
        seed=seed,
        template=wording.template,
        pattern=wording.pattern,
        error_class=wording.error_class,
        sites=sites,
        snippets=dict(entry.snippets),
    )


def steps_of(choice: str) -> tuple[Step, ...]:
    """`both` → trigger and fix."""
    return ("trigger", "fix") if choice == "both" else (cast("Step", choice),)
