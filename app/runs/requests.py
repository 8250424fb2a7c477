"""From plain values to a request: what to run, on what, and by what it is recognised."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from app.runs.folders import whole_folder
from app.settings import Settings
from app.wheels import Wheel
from reproducers.protocol import Device, Limits, Request, Step, Subject

LIMITS: Final = Limits()
CUDA_LIMITS: Final = Limits(seconds=180, memory_bytes=24 << 30, processes=512)


class HasPlace(Protocol):
    """A site as the scanner or the database gives it."""

    @property
    def kind(self) -> str:
        """See `app.models.SiteBase`, here and below."""

    @property
    def file(self) -> str:
        """From the package's root."""

    @property
    def function(self) -> str:
        """Qualified name."""

    @property
    def line(self) -> int:
        """Where its statement begins."""

    @property
    def guards(self) -> Any:
        """The conditions on the way to it, as dicts or (text, kind, line)."""


def site_values(sites: Iterable[HasPlace]) -> tuple[dict[str, Any], ...]:
    """Sites as a request carries them: {"file", "function", "line", "guardLines"}."""
    return tuple(
        {
            "file": site.file,
            "function": site.function,
            "line": site.line,
            "guardLines": _guard_lines(site),
        }
        for site in sites
    )


def _guard_lines(site: HasPlace) -> list[int]:
    """The guard's own line: where the nearest condition begins; an assertion is its own guard."""
    if site.kind == "assert":
        return [site.line]
    # Assertions that held on the way do not decide whether this place is reached.
    deciding = [g for g in site.guards if _kind_of(g) != "assert"]
    return [_line_of(deciding[-1])] if deciding else []


def _kind_of(guard: Mapping[str, Any] | tuple[str, str, int]) -> str:
    return str(guard["kind"] if isinstance(guard, Mapping) else guard[1])


def place_values(places: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """Places `file::function` of an entry that a library raises; their lines come from runs."""
    return tuple(
        {"file": file, "function": function, "guardLines": []}
        for file, _, function in (p.partition("::") for p in places)
    )


def _line_of(guard: Mapping[str, Any] | tuple[str, str, int]) -> int:
    return int(guard["line"] if isinstance(guard, Mapping) else guard[2])


def release_request(
    wheel: Wheel,
    settings: Settings,
    *,
    slug: str,
    step: Step,
    template: str,
    pattern: str,
    error_class: str,
    sites: Iterable[Mapping[str, Any]],
    snippets: Mapping[str, str] | None = None,
    device: Device = "cpu",
    seed: int = 0,
    limits: Limits | None = None,
) -> Request:
    """A step of a hand-written reproducer on a release.

    Args:
        wheel: the release; unpacked if it is not yet.
        settings: where the caches lie.
        slug: names the reproducer.
        step: `trigger` or `fix`.
        template: the message as this release writes it.
        pattern: matches a message of the template in full.
        error_class: bare class name.
        sites: see `site_values`.
        snippets: curated code by its heading.
        device: where tensors live.
        seed: of torch's random numbers.
        limits: the usual ones of the device if None.

    Raises:
        BadWheelError: the wheel is damaged.
        UnavailableError: the disk is full.
    """
    return Request(
        kind="reproducer",
        subject=release_subject(wheel, settings),
        scratch="",
        slug=slug,
        step=step,
        device=device,
        seed=seed,
        template=template,
        pattern=pattern,
        error_class=error_class,
        sites=tuple(dict(s) for s in sites),
        snippets=dict(snippets or {}),
        bytecode=str(bytecode_dir(settings)),
        limits=limits or (CUDA_LIMITS if device == "cuda" else LIMITS),
    )


def release_subject(wheel: Wheel, settings: Settings) -> Subject:
    """A release as what a run runs on; its folder is unpacked anew if a file of it is damaged.

    Raises:
        BadWheelError: the wheel is damaged.
        UnavailableError: the disk is full, or the damaged folder cannot be replaced.
    """
    root = whole_folder(wheel, settings)
    return Subject(
        name=f"{wheel.package}=={wheel.version}",
        root=str(root),
        package=wheel.package,
        version=wheel.version,
        sha256=wheel.sha256,
    )


def bytecode_dir(settings: Settings) -> Path:
    """Where compiled modules of wheels are kept; can be dropped at any time."""
    folder = settings.cache_dir / "bytecode"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
