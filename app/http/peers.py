"""Who asks, and by which name: the peer, the proxies that may speak for others, the Host.

No header is believed by itself. `X-Forwarded-For` counts only where the peer is a proxy that the
settings name (REPROBASE_PROXIES), and then only to tell clients apart (`app.http.rates`); it never
makes anybody the machine itself (`app.http.permission`).
"""

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import Scope

from app.settings import Network

FORWARDING = (
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    "x-forwarded-port", "x-forwarded-server", "x-real-ip", "x-client-ip", "x-original-host",
    "cf-connecting-ip", "true-client-ip", "x-envoy-external-address",
)  # fmt: skip
"""What a proxy adds; one of them says that somebody else asks."""
_SAME_CLIENT_V6 = 64
"""Bits of an IPv6 address that tell clients apart: one line has a whole /64."""


def peer_of(scope: Scope) -> str:
    """The address of who is connected; empty where there is none."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in small letters."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return (host.rpartition(":")[0] if ":" in host else host).lower()


def is_address(name: str) -> bool:
    """Whether a name is an IP address, which no foreign name server can point elsewhere."""
    return _address(name) is not None


def is_loopback(name: str) -> bool:
    """Whether a name or an address means this machine and nothing else."""
    found = _address(name)
    return name == "localhost" if found is None else found.is_loopback


def is_forwarded(headers: Headers) -> bool:
    """Whether something says that a proxy stands in between."""
    return any(header in headers for header in FORWARDING)


def is_this_machine(scope: Scope, headers: Headers) -> bool:
    """Whether a program on this machine asks for itself, not for somebody else."""
    return is_loopback(peer_of(scope)) and not is_forwarded(headers)


def client_of(scope: Scope, headers: Headers, proxies: Iterable[Network]) -> str:
    """Whom a request is counted for: an address, of IPv6 its /64.

    Behind a proxy that is not named all clients are one, since what it says is not believed.

    Args:
        scope: the request.
        headers: its headers.
        proxies: addresses that may say for whom they ask.
    """
    named = list(proxies)
    client = peer_of(scope)
    hops = ",".join(headers.getlist("x-forwarded-for")).split(",")
    while _is_in(client, named) and hops:
        before = hops.pop().strip()
        if not is_address(before):
            break
        client = before
    found = _address(client)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, _SAME_CLIENT_V6), strict=False))
    return client


def _is_in(name: str, networks: list[Network]) -> bool:
    found = _address(name)
    return found is not None and any(found in network for network in networks)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(name)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
