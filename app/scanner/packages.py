"""The packages the scanner knows: `data/packages.toml`, read once.

A package that is not listed can be scanned all the same; it then has no links to its source.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from app.exceptions import BadInputError
from app.settings import DATA_DIR

_KEYS: Final = frozenset(
    {"repository", "prefix", "tag", "exclude", "native", "skip", "http", "raises"}
)
_HTTP_KEYS: Final = frozenset({"message", "status", "needs_status"})


@dataclass(frozen=True, slots=True)
class HttpFunction:
    """A function or class that answers a request with an error."""

    message: int | None = None
    """Position of the message among the arguments."""
    default: int | None = None
    """Status where the call names none."""
    needs_status: bool = False
    """An ordinary response unless its status is 400 or more."""


@dataclass(frozen=True, slots=True)
class RaisingFunction:
    """A function that raises, too long to be read as one."""

    error_class: str
    message: str
    """Its template; holes that are named like a parameter are filled from the call."""


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """What a wheel does not tell about itself."""

    name: str
    repository: str | None = None
    prefix: str = ""
    tag: str = "v{version}"
    exclude: tuple[str, ...] = ()
    native: bool = False
    skip: tuple[str, ...] = ()
    http: Mapping[str, HttpFunction] = field(default_factory=dict)
    raises: Mapping[str, RaisingFunction] = field(default_factory=dict)

    def repository_path(self, file: str) -> str:
        """`sglang/srt/x.py` → `python/sglang/srt/x.py`: where the file is in the repository."""
        return self.prefix + file

    def source_link(
        self, version: str, file: str, start: int, end: int | None = None
    ) -> str | None:
        """A link to lines of a file, pinned to the release's tag; `None` without a repository."""
        if self.repository is None:
            return None
        lines = f"#L{start}" + (f"-L{end}" if end and end != start else "")
        tag = self.tag.format(version=version)
        return f"{self.repository}/blob/{tag}/{self.repository_path(file)}{lines}"


@cache
def known_packages(path: Path = DATA_DIR / "packages.toml") -> Mapping[str, PackageFacts]:
    """All packages of the file, by canonical name.

    Raises:
        BadInputError: the file is not TOML or has keys it cannot have.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as e:
        raise BadInputError(f"{path} cannot be read: {e}") from e
    common = _http(path, "common", raw.pop("common", {}).get("http", {}))
    return {name: _facts(path, name, facts, common) for name, facts in raw.items()}


def package_facts(name: str) -> PackageFacts:
    """The facts of one package; only what is common to all for one that is not listed."""
    known = known_packages()
    return known.get(name) or PackageFacts(name, http=known["sglang"].http)


def _facts(
    path: Path, name: str, raw: Mapping[str, Any], common: Mapping[str, HttpFunction]
) -> PackageFacts:
    unknown = set(raw) - _KEYS
    if unknown:
        raise BadInputError(f"{path}: [{name}] has the unknown key {min(unknown)!r}.")
    return PackageFacts(
        name=name,
        repository=raw.get("repository"),
        prefix=raw.get("prefix", ""),
        tag=raw.get("tag", "v{version}"),
        exclude=tuple(raw.get("exclude", ())),
        native=raw.get("native", False),
        skip=tuple(raw.get("skip", ())),
        http={**common, **_http(path, name, raw.get("http", {}))},
        raises=_raises(path, name, raw.get("raises", {})),
    )


def _http(path: Path, name: str, raw: Mapping[str, Any]) -> dict[str, HttpFunction]:
    out = {}
    for function, facts in raw.items():
        unknown = set(facts) - _HTTP_KEYS
        if unknown:
            raise BadInputError(f"{path}: [{name}] http.{function} has {min(unknown)!r}.")
        out[function] = HttpFunction(
            facts.get("message"), facts.get("status"), facts.get("needs_status", False)
        )
    return out


def _raises(path: Path, name: str, raw: Mapping[str, Any]) -> dict[str, RaisingFunction]:
    out = {}
    for function, facts in raw.items():
        if set(facts) != {"class", "message"}:
            raise BadInputError(f"{path}: [{name}] raises.{function} needs a class and a message.")
        out[function] = RaisingFunction(facts["class"], facts["message"])
    return out
