"""Pieces done by the nodes of a Ray cluster. Ray is an extra: imported where it is asked for."""

import contextlib
import importlib.util
import itertools
import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from app.exceptions import BadInputError, UnavailableError
from app.settings import PROJECT_ROOT
from app.spread.interface import TRIES, Item, Result

_PATIENCE: Final = 5.0
"""Seconds until somebody must have answered at a cluster's address."""
_AHEAD: Final = 4
_LEAST_AHEAD: Final = 32
"""Pieces that are handed over before they can be done: a cluster grows by what waits for it."""


class RaySpread:
    """The nodes of a Ray cluster; see `app.spread.interface.Spread`."""

    here: Final = False

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
        self.closed = False
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
        task = ray.remote(
            num_cpus=1,
            num_gpus=gpus,
            max_retries=TRIES,
            scheduling_strategy="SPREAD",  # the usual way queues most pieces on the nearest node
        )(function)
        most = max(_LEAST_AHEAD, self.slots * _AHEAD)
        waiting: dict[Any, Item] = {}
        todo = iter(items)
        try:
            while True:
                for item in itertools.islice(todo, most - len(waiting)):
                    waiting[task.remote(item, shared)] = item
                if not waiting:
                    return
                [done, *_], _ = ray.wait(list(waiting))
                yield waiting.pop(done), self._result(done)
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
        except errors.RayError as e:
            raise UnavailableError(f"The Ray cluster gave up some work: {e}") from e

    def close(self) -> None:
        """Leave the cluster, if this entered it."""
        if self._ours:
            self._ray.shutdown()
        self.closed = True


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
