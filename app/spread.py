"""Work in pieces, spread over this machine or over a Ray cluster, behind one small interface.

A piece is a function of a module and what it is given; it must not depend on where it runs, and may
run twice (a node that is lost takes its pieces with it, and they are begun anew on another one).
Answers come as they are done. `spread_of` decides by `REPROBASE_RAY_ADDRESS`; with Ray every node
needs this version of Reprobase installed, and what a piece reads is given to it, not found there.
"""

import contextlib
import importlib.util
import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Protocol, TypeVar

from app.exceptions import BadInputError, UnavailableError
from app.settings import PROJECT_ROOT, Settings

Item = TypeVar("Item")
Result = TypeVar("Result")
_PATIENCE = 5.0
"""Seconds until somebody must have answered at a cluster's address."""
TRIES = 3
"""How often a piece is begun anew when its node is lost."""


class Spread(Protocol):
    """Where pieces of work are done."""

    @property
    def slots(self) -> int:
        """How many pieces can go on at once."""

    def share(self, value: Any) -> Any:
        """Something large that many pieces need; give what this gives as `shared`."""

    def each(
        self,
        function: Callable[[Item, Any], Result],
        items: Iterable[Item],
        shared: Any = None,
        *,
        gpus: int = 0,
    ) -> Iterator[tuple[Item, Result]]:
        """Do all pieces; give each item with its result, as they are done.

        Closing the iterator ends what is going on.

        Args:
            function: what is done with an item and with what is shared.
            items: the pieces.
            shared: what `share` gave, or something small.
            gpus: GPUs that a piece needs; it waits for a node that has them.

        Raises:
            UnavailableError: a node was lost again and again, or none has so many GPUs.
        """

    def close(self) -> None:
        """End everything."""


class LocalSpread:
    """Threads of this process, for pieces that start processes of their own."""

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._slots, thread_name_prefix="spread")

    @property
    def slots(self) -> int:
        """One a processor, if not said otherwise."""
        return self._slots

    def share(self, value: Any) -> Any:
        """The value itself."""
        return value

    def each(
        self,
        function: Callable[[Item, Any], Result],
        items: Iterable[Item],
        shared: Any = None,
        *,
        gpus: int = 0,  # noqa: ARG002  # this machine has them or not: the piece will tell
    ) -> Iterator[tuple[Item, Result]]:
        """See `Spread.each`."""
        waiting: dict[Future[Result], Item] = {
            self._pool.submit(function, item, shared): item for item in items
        }
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Drop what waits; what goes on is its own to end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class RaySpread:
    """The nodes of a Ray cluster."""

    def __init__(self, address: str) -> None:
        """Connect.

        Raises:
            BadInputError: Ray is not installed here.
            UnavailableError: there is no cluster at the address.
        """
        if importlib.util.find_spec("ray") is None:
            raise BadInputError(
                "REPROBASE_RAY_ADDRESS is set, but Ray is not installed: `pip install -e '.[ray]'`."
            )
        import ray  # noqa: PLC0415  # only where it is asked for

        self._ray: Any = ray
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        self._ours = not ray.is_initialized()
        if not self._ours:
            return
        _check_there(address)
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"PYTHONPATH": str(PROJECT_ROOT)}},
            )
        except (ConnectionError, OSError, RuntimeError, ValueError) as e:
            raise UnavailableError(f"There is no Ray cluster at {address!r}: {e}") from e

    @property
    def slots(self) -> int:
        """The processors of all nodes."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def share(self, value: Any) -> Any:
        """Put into the cluster's store, from where each node fetches it once."""
        return self._ray.put(value)

    def each(
        self,
        function: Callable[[Item, Any], Result],
        items: Iterable[Item],
        shared: Any = None,
        *,
        gpus: int = 0,
    ) -> Iterator[tuple[Item, Result]]:
        """See `Spread.each`."""
        ray = self._ray
        if gpus and ray.cluster_resources().get("GPU", 0) < gpus:
            raise UnavailableError(f"No node of the Ray cluster has {gpus} GPU.")
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=TRIES)(function)
        waiting = {task.remote(item, shared): item for item in items}
        try:
            while waiting:
                [done, *_], _ = ray.wait(list(waiting))
                item = waiting.pop(done)
                yield item, self._result(done)
        finally:
            for left in waiting:
                with contextlib.suppress(Exception):  # it may be done by now
                    ray.cancel(left, force=True)

    def _result(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as e:
            raise e.cause from None
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError) as e:
            raise UnavailableError(
                f"A node of the Ray cluster was lost {TRIES + 1} times over the same work: {e}"
            ) from e

    def close(self) -> None:
        """Leave the cluster, if this entered it."""
        if self._ours:
            self._ray.shutdown()


def _check_there(address: str) -> None:
    """Ray itself would try for minutes to reach an address where nobody listens.

    Raises:
        UnavailableError: nobody listens there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return  # `auto`, or a name that Ray resolves
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as e:
        raise UnavailableError(f"There is no Ray cluster at {address!r}: {e}") from e


@cache
def _cluster(address: str) -> Spread:
    return RaySpread(address)


def spread_of(settings: Settings, slots: int | None = None) -> Spread:
    """Where the settings say that work is done; one connection to a cluster serves a process.

    Args:
        settings: `ray_address` decides.
        slots: pieces at once on this machine; a cluster has as many as it has processors.

    Raises:
        BadInputError: Ray is wanted and not installed.
        UnavailableError: there is no cluster at the address.
    """
    return _cluster(settings.ray_address) if settings.ray_address else LocalSpread(slots)
