"""Work in pieces, spread over this machine or over a Ray cluster, behind one small interface.

A piece is a function of a module and what it is given; it must not depend on where it runs, and may
run twice (a node or a process that is lost takes its pieces with it, and they are begun anew on
another one), but its answer is given once. Answers come as they are done. `spread_of` decides by
`REPROBASE_RAY_ADDRESS`; with Ray every node needs this version of Reprobase installed, and what a
piece reads is given to it, not found there.
"""

from app.settings import Settings
from app.spread.cluster import RaySpread
from app.spread.interface import TRIES, Spread
from app.spread.processes import ProcessSpread
from app.spread.threads import LocalSpread

__all__ = ["TRIES", "LocalSpread", "ProcessSpread", "RaySpread", "Spread", "spread_of"]


_clusters: dict[str, RaySpread] = {}


def _cluster(address: str) -> Spread:
    known = _clusters.get(address)
    if known is None or known.closed:
        known = _clusters[address] = RaySpread(address)
    return known


def spread_of(settings: Settings, slots: int | None = None, *, processes: bool = False) -> Spread:
    """Where the settings say that work is done; one connection to a cluster serves a process.

    Args:
        settings: `ray_address` decides.
        slots: pieces at once on this machine; a cluster has as many as it has processors.
        processes: whether pieces on this machine need a process each: those that compute do, those
            that start one themselves do not.

    Raises:
        BadInputError: Ray is wanted and not installed.
        UnavailableError: there is no cluster at the address.
    """
    if settings.ray_address:
        return _cluster(settings.ray_address)
    return ProcessSpread(slots) if processes else LocalSpread(slots)
