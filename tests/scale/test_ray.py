"""A real Ray cluster of two nodes on this machine: scans, runs, a GPU's node, a lost node."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.commands.running import Target
from app.commands.verifying import Piece, executed
from app.exceptions import BadInputError, UnavailableError
from app.loading.spread_reading import SpreadReading
from app.runs.plan import Runnable, runnable
from app.scanner.release import Scan, scan_wheel
from app.services.reproducers import find_reproducer
from app.settings import load_settings
from app.spread import RaySpread
from app.wheels import open_wheel
from tests.scale.pieces import note, square, where
from tests.wheels.making import make_wheel

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]
EXPLAINED = "draft-step-exceeds-hash-key"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head, and a node that has a GPU as far as anybody can tell."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  # takes long to import

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 0})
    made.gpu_node = made.add_node(num_cpus=1, num_gpus=1)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def spread(cluster: Any) -> Iterator[RaySpread]:
    """Connected to the cluster."""
    made = RaySpread(cluster.address)
    yield made
    made.close()


def test_pieces_are_done_on_both_nodes(spread: RaySpread) -> None:
    assert spread.slots == 2
    found = dict(spread.each(where, range(8), 0.5))
    assert {item: square for item, (square, _) in found.items()} == {n: n * n for n in range(8)}
    assert len({node for _, node in found.values()}) == 2


def test_a_failure_is_the_pieces_own_error(spread: RaySpread) -> None:
    with pytest.raises(BadInputError, match="-3 is negative"):
        list(spread.each(square, [-3], spread.share(1)))


def test_a_piece_that_needs_a_gpu_goes_where_one_is(cluster: Any, spread: RaySpread) -> None:
    nodes = {node for _, (_, node) in spread.each(where, range(3), 0, gpus=1)}
    assert nodes == {cluster.gpu_node.node_id}
    with pytest.raises(UnavailableError, match="2 GPU"):
        list(spread.each(where, [1], 0, gpus=2))


def test_a_release_is_read_by_the_nodes_as_it_is_read_here(
    spread: RaySpread, tmp_path: Path
) -> None:
    code = "def f(x):\n    if x > {n}:\n        raise ValueError(f'{n} < {x}')\n"
    files = {f"sglang/srt/m{n}.py": code.replace("{n}", str(n)) for n in range(40)}
    wheel = open_wheel(make_wheel(tmp_path, files, package="sglang"))
    here = scan_wheel(wheel, processes=0)
    scan = Scan(wheel, reader=lambda w, part: SpreadReading(w, part, spread))
    wheel.path.unlink()  # the nodes were given its bytes
    there = scan.finish()
    assert len(there.sites) == 40
    assert there.sites == here.sites


def test_a_reproducer_is_run_behind_the_wall_of_a_node(spread: RaySpread) -> None:
    file = find_reproducer(EXPLAINED)
    assert file is not None
    piece = Piece(Target(_entry(), file), ("reference",), "cpu")
    [(_, runs)] = spread.each(executed, [piece])
    assert [(run["step"], run["outcome"], run["passed"]) for run in runs] == [
        ("trigger", "raised", True), ("fix", "returned", True),
    ]  # fmt: skip
    assert all(run["isolation"] for run in runs), "what the node enforced is on record"


def test_a_node_that_is_lost_costs_time_and_nothing_else(
    cluster: Any, spread: RaySpread, tmp_path: Path
) -> None:
    extra = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    items = [f"piece-{n}" for n in range(4)]
    found = spread.each(note, items, str(tmp_path))
    done = {}
    item, node = next(found)
    done[item] = node
    end = time.monotonic() + 30
    while not _begun_on(tmp_path, extra.node_id) - set(done) and time.monotonic() < end:
        time.sleep(0.1)
    lost = _begun_on(tmp_path, extra.node_id) - set(done)
    assert lost, "the node has something to lose"
    cluster.remove_node(extra, allow_graceful=False)
    done |= dict(found)
    assert sorted(done) == items
    for piece in lost:
        assert done[piece] != extra.node_id
        assert len((tmp_path / piece).read_text().splitlines()) >= 2, "it was begun anew"


def test_no_cluster_is_told() -> None:
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(UnavailableError, match="no Ray cluster at"):
        RaySpread("127.0.0.1:1")


def _begun_on(folder: Path, node: str) -> set[str]:
    return {p.name for p in folder.iterdir() if node in p.read_text()}


def _entry() -> Runnable:
    from app.commands.catalog import catalog  # noqa: PLC0415  # a database is made
    from app.services.resolve import resolve  # noqa: PLC0415  # as above

    with catalog(load_settings()) as db:
        return runnable(db, resolve(db, EXPLAINED).entry)
