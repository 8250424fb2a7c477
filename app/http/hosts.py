"""By which names may the site be asked? A page elsewhere must not reach it by a name of its own.

Whoever has a name server can let a name point at 127.0.0.1 and have a visitor's browser talk to the
site on that machine as if it were that page's own ("DNS rebinding"). So a request is answered
only by a name that can mean nobody else:

* `localhost`, loopback addresses, and 0.0.0.0, which leads a browser to its own machine;
* the address that the request came in by and, on a site that listens on the network, any address,
  since no name server decides where an address leads;
* the names of REPROBASE_HOSTS (`kb.example.org`; `.example.org` for all below it; `*` for any) and
  the name of REPROBASE_SITE_URL.
"""

from urllib.parse import urlsplit

from starlette.types import Scope

from app.exceptions import NotThisHostError
from app.http.peers import host_name, is_address, is_loopback
from app.settings import PREFIX, Settings

_SHOWN = 60
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  # compared with, not listened on


class Hosts:
    """The names of one site."""

    def __init__(self, settings: Settings) -> None:
        own = urlsplit(settings.site_url or "").hostname
        self._any = "*" in settings.hosts
        self._names = {*settings.hosts, *([own] if own else [])}
        self._below = tuple(name for name in self._names if name.startswith("."))

    def knows(self, scope: Scope) -> bool:
        """Whether a request asks for this site by one of its names."""
        if self._any:
            return True
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1:
            return False
        name = host_name(given[0].decode("latin-1"))
        if (
            is_loopback(name)
            or name in _EVERY_ADDRESS
            or name in self._names
            or name.endswith(self._below)
        ):
            return True
        local = str((scope.get("server") or ("",))[0]).lower()
        return bool(name) and (name == local or (is_address(name) and not is_loopback(local)))


def not_this_host(scope: Scope) -> NotThisHostError:
    """What to say to a request by another name."""
    given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    shown = repr(given[0][:_SHOWN]) if len(given) == 1 else f"{len(given)} Host headers"
    return NotThisHostError(
        f"This site is not known as {shown}. Open it by its address, or have its operator name "
        f"the host in {PREFIX}HOSTS."
    )
