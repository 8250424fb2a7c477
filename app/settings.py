"""Settings, read from the environment once, with the prefix REPROBASE_.

| variable | meaning | default |
|---|---|---|
| DATABASE_URL | where the catalog and the runs are kept | SQLite in the user's data folder |
| CACHE_DIR | wheels, unpacked wheels, compiled indexes | the user's cache folder |
| ALLOW_RUNS | `auto`: runs from the web only for loopback; `always`; `never` | auto |
| HOSTS | names the site is asked by, beside loopback and addresses; see `app.http.hosts` | none |
| PROXIES | addresses or networks whose X-Forwarded-For tells clients apart | none is believed |
| RATE_LIMITS | `on`, `off`: how often a client may ask for what costs; see `app.http.rates` | on |
| SITE_URL | the address that canonical links begin with | links stay relative |
| REPOSITORY_URL | where "edit this page" and "report an issue" lead | they name the file |
| LOG_FORMAT | how `serve` logs: `text`, or `json`, one object a line with every request | text |
| RAY_ADDRESS | a Ray cluster that does long work (`auto`, `ray://HOST:10001`) | this machine |
| DEFAULT_RELEASE | what `serve` scans on first start | sglang==0.5.23 |

Standard library only: the command line must answer before pydantic could be imported.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from app.exceptions import BadInputError

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

Network: TypeAlias = "IPv4Network | IPv6Network"
PREFIX = "REPROBASE_"
PROJECT_ROOT = Path(__file__).resolve().parent.parent
DATA_DIR = PROJECT_ROOT / "data"
TEMPLATES_DIR = PROJECT_ROOT / "templates"

AllowRuns = Literal["auto", "always", "never"]
LogFormat = Literal["text", "json"]
_HOST = re.compile(r"\*|\.?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:]+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment decides; see the module's table."""

    database_url: str
    cache_dir: Path
    allow_runs: AllowRuns
    default_release: str
    site_url: str | None = None
    repository_url: str | None = None
    log_format: LogFormat = "text"
    ray_address: str | None = None
    hosts: tuple[str, ...] = ()
    proxies: tuple[Network, ...] = ()
    rate_limits: bool = True

    @property
    def wheels_dir(self) -> Path:
        """Where fetched wheels lie, one folder a package."""
        return self.cache_dir / "wheels"

    @property
    def unpacked_dir(self) -> Path:
        """Where wheels are unpacked for execution, one folder a sha256."""
        return self.cache_dir / "unpacked"

    @property
    def scan_state_file(self) -> Path:
        """What says how far a scan behind a site is; see `app.services.scanning`."""
        return self.cache_dir / "state" / "scan.json"

    @property
    def index_dir(self) -> Path:
        """Where compiled matcher and search indexes lie; they can be dropped at any time."""
        return self.cache_dir / "index"


def _user_dir(kind: Literal["cache", "data"], env: Mapping[str, str]) -> Path:
    """The platform's folder for caches or data, without a dependency (XDG, macOS, Windows)."""
    home = Path(env.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / ("Caches" if kind == "cache" else "Application Support")
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA", home / "AppData" / "Local"))
    variable, fallback = {
        "cache": ("XDG_CACHE_HOME", home / ".cache"),
        "data": ("XDG_DATA_HOME", home / ".local" / "share"),
    }[kind]
    return Path(env.get(variable) or fallback)


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings.

    Args:
        environ: the environment to read; the process's own by default.

    Raises:
        BadInputError: a variable has a value it cannot have.
    """
    env = os.environ if environ is None else environ
    allow = (env.get(PREFIX + "ALLOW_RUNS") or "auto").lower()
    allow = {"1": "always", "true": "always", "0": "never", "false": "never"}.get(allow, allow)
    if allow not in ("auto", "always", "never"):
        raise BadInputError(
            f"{PREFIX}ALLOW_RUNS is {allow!r}; it takes 'auto', 'always' or 'never'."
        )
    log_format = (env.get(PREFIX + "LOG_FORMAT") or "text").lower()
    if log_format not in ("text", "json"):
        raise BadInputError(f"{PREFIX}LOG_FORMAT is {log_format!r}; it takes 'text' or 'json'.")
    limits = (env.get(PREFIX + "RATE_LIMITS") or "on").lower()
    if limits not in ("on", "off"):
        raise BadInputError(f"{PREFIX}RATE_LIMITS is {limits!r}; it takes 'on' or 'off'.")
    cache = env.get(PREFIX + "CACHE_DIR")
    data = _user_dir("data", env) / "reprobase"
    return Settings(
        database_url=env.get(PREFIX + "DATABASE_URL") or f"sqlite:///{data / 'reprobase.db'}",
        cache_dir=Path(cache).expanduser().absolute()
        if cache
        else _user_dir("cache", env) / "reprobase",
        allow_runs=allow,  # type: ignore[arg-type]  # narrowed by the check above
        default_release=env.get(PREFIX + "DEFAULT_RELEASE") or "sglang==0.5.23",
        site_url=(env.get(PREFIX + "SITE_URL") or "").rstrip("/") or None,
        repository_url=(env.get(PREFIX + "REPOSITORY_URL") or "").rstrip("/") or None,
        log_format=log_format,  # type: ignore[arg-type]  # narrowed by the check above
        ray_address=env.get(PREFIX + "RAY_ADDRESS") or None,
        hosts=_hosts(env.get(PREFIX + "HOSTS") or ""),
        proxies=_proxies(env.get(PREFIX + "PROXIES") or ""),
        rate_limits=limits == "on",
    )


def _hosts(given: str) -> tuple[str, ...]:
    found = tuple(name.strip("[]") for name in given.lower().replace(",", " ").split())
    for name in found:
        if not _HOST.fullmatch(name):
            raise BadInputError(
                f"{PREFIX}HOSTS names {name!r}; it takes names without scheme and port, such as "
                "'kb.example.org', or '.example.org' for all below it."
            )
    return found


def _proxies(given: str) -> tuple[Network, ...]:
    from ipaddress import ip_network  # noqa: PLC0415  # few need it, and it takes milliseconds

    found: list[Network] = []
    for name in given.replace(",", " ").split():
        try:
            found.append(ip_network(name, strict=False))
        except ValueError:
            raise BadInputError(
                f"{PREFIX}PROXIES names {name!r}; it takes addresses and networks, such as "
                "'127.0.0.1 10.0.0.0/8'."
            ) from None
    return tuple(found)
