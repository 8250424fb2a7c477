"""A real Ray cluster of two nodes on this machine: every kind of work, a GPU's node, lost nodes.

The nodes share this machine's processors and nothing else of it: their cache is another folder, so
that wheels, indexes and logs have to be sent. The second node declares a GPU; there is none.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.commands.running import Target
from app.commands.verifying import Piece, executed
from app.diagnosis.result import Diagnosis
from app.exceptions import BadInputError, UnavailableError
from app.loading.index import build, save
from app.loading.spread_reading import SpreadReading
from app.runs.found import read_found
from app.runs.plan import Runnable, runnable
from app.scanner.release import Scan, scan_wheel
from app.services.many_logs import answers_of
from app.services.reproducers import find_reproducer
from app.services.synthesizing import Wish, synthesize_release
from app.settings import Settings, load_settings
from app.spread import RaySpread
from app.wheels import Wheel, open_wheel
from tests.diagnosis.engines import ENGINE
from tests.diagnosis.test_many import CLEAN, KNOWN, LOGS, folder, tar
from tests.scale.pieces import executed_where, note, square, where
from tests.synthesis.engine import CHECKS
from tests.wheels.making import make_wheel

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]
SAME = ("siteId", "level", "reason", "trigger", "fix")
EXPLAINED = "draft-step-exceeds-hash-key"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A head, and a node that has a GPU as far as anybody can tell."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  # takes long to import

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # On a busy machine the usual 15 waits for minutes.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  # Ray's own name
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPROBASE_CACHE_DIR", str(tmp_path_factory.mktemp("node")))
        yield from _cluster(Cluster)


def _cluster(kind: Any) -> Iterator[Any]:
    made = _patiently(
        lambda: kind(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 0})
    )
    made.gpu_node = _patiently(lambda: made.add_node(num_cpus=1, num_gpus=1))
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def _patiently(start: Callable[[], Any]) -> Any:
    """Ray gives a node thirty seconds to start, which is little where others compute."""
    for _ in range(2):
        with contextlib.suppress(Exception):  # it is nothing else
            return start()
    return start()


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
    extra = _patiently(lambda: cluster.add_node(num_cpus=1))
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


def test_a_reproducer_that_needs_a_gpu_is_run_where_one_is(cluster: Any, spread: RaySpread) -> None:
    """The node declares a GPU and has none: the run gets there, and says so."""
    file = find_reproducer(EXPLAINED)
    assert file is not None
    piece = Piece(Target(_entry(), file), ("reference",), "cuda")
    [(_, (node, runs))] = spread.each(executed_where, [piece], gpus=1)
    assert node == cluster.gpu_node.node_id
    assert {(run["device"], run["passed"]) for run in runs} == {("cuda", False)}
    assert {(run["outcome"], run["reason"]) for run in runs} == {
        ("skipped", "torch sees no CUDA device on this machine")
    }


def test_logs_are_read_by_the_nodes_as_they_are_read_here(
    cluster: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command, with the setting; the index and the logs are sent."""
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    save(build(ENGINE, []), tmp_path / "cache" / "index")
    logs = [str(folder(tmp_path / "logs")), str(tar(tmp_path / "more.tar.gz", mode="w:gz"))]
    answers = []
    for address in ("", cluster.address):
        monkeypatch.setenv("REPROBASE_RAY_ADDRESS", address)
        assert main(["diagnose", *logs, "--json"]) == 1
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert len(answers[0]["logs"]) == 2 * len(LOGS)


def test_triggers_are_found_by_the_nodes_as_they_are_found_here(
    cluster: Any, tmp_path: Path
) -> None:
    found = []
    for name, address in (("here", None), ("there", cluster.address)):
        settings = replace(load_settings({"HOME": str(tmp_path / name)}), ray_address=address)
        wheel = _tiny(settings, ("checks",))
        results = synthesize_release(wheel, Wish(), settings)
        found.append([{key: r[key] for key in SAME} for r in results])
        kept = read_found(settings, "tiny", "1.0")
        assert set(kept) == {r["siteId"] for r in results}
    assert found[0] == found[1]
    assert sum(r["fix"] is not None for r in found[0]) >= 8


def _scanned(address: str, folder: Path, lose: Callable[[], None]) -> None:
    code = "".join(f"def f{n}(x):\n    assert x, 'message {n}'\n" for n in range(3000))
    files = {f"sglang/srt/m{n}.py": code.replace("message", f"message {n}") for n in range(12)}
    wheel = open_wheel(make_wheel(folder, files, package="sglang"))
    spread = RaySpread(address)
    scan = Scan(wheel, reader=lambda w, part: SpreadReading(w, part, spread))
    there = scan.finish(lambda _done, _total: lose())
    here = scan_wheel(wheel, processes=0)
    assert len(here.sites) == 36_000
    assert there.sites == here.sites


def _diagnosed(address: str, folder: Path, lose: Callable[[], None]) -> None:
    index = save(build(ENGINE, []), folder / "index")
    noise = "[2026-01-01 00:00:09 TP0] Decode batch. #running-req: 7, token usage: 0.31\n" * 15_000
    for n in range(16):
        (folder / f"{n:02}.log").write_text(noise + (KNOWN if n % 2 else CLEAN))
    given = sorted(folder.glob("*.log"))
    told: list[str] = []

    def progress(_done: int, name: str) -> None:
        told.append(name)
        lose()

    found = answers_of(given, index, RaySpread(address), on_progress=progress)
    assert sorted(told) == list(map(str, given)), "each once"
    verdicts = [a.verdict for a in found.answers.values() if isinstance(a, Diagnosis)]
    assert verdicts == ["clean", "known"] * 8


def _synthesized(address: str, folder: Path, lose: Callable[[], None]) -> None:
    settings = replace(load_settings({"HOME": str(folder)}), ray_address=address)
    wheel = _tiny(settings, ("one", "two", "three", "four", "five", "six"), FEW)
    told: list[int] = []

    def progress(done: int, _total: int, _good: int) -> None:
        told.append(done)
        if done:
            lose()

    with pytest.MonkeyPatch.context() as patch:  # else a dozen sites are one batch for each node
        patch.setattr("app.runs.synthesizing.LEAST_SENT", 1)
        results = synthesize_release(wheel, Wish(), settings, on_progress=progress)
    assert told == list(range(13)), "each site once"
    assert all(r["fix"] is not None for r in results)


@pytest.mark.parametrize("work", [_scanned, _diagnosed, _synthesized])
def test_a_node_that_is_lost_in_the_middle_loses_no_result_and_doubles_none(
    cluster: Any, spread: RaySpread, tmp_path: Path, work: Callable[..., None]
) -> None:
    assert spread.slots >= 2
    extra = _patiently(lambda: cluster.add_node(num_cpus=1))
    cluster.wait_for_nodes()
    lost: list[bool] = []

    def lose() -> None:
        if not lost:
            lost.append(_busy(extra.node_id))
            cluster.remove_node(extra, allow_graceful=False)

    work(cluster.address, tmp_path, lose)
    assert lost == [True], "it was at work when it was lost"


def test_no_cluster_is_told() -> None:
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(UnavailableError, match="no Ray cluster at"):
        RaySpread("127.0.0.1:1")


def _begun_on(folder: Path, node: str) -> set[str]:
    return {p.name for p in folder.iterdir() if node in p.read_text()}


def _busy(node: str) -> bool:
    """Wait until a node has no processor to spare."""
    from ray._private.state import available_resources_per_node  # noqa: PLC0415  # takes long

    end = time.monotonic() + 60
    while time.monotonic() < end:
        if not available_resources_per_node().get(node, {"CPU": 1}).get("CPU", 0):
            return True
        time.sleep(0.05)
    return False


FEW = """
def taken(n: int, size: int) -> int:
    if n > size:
        raise ValueError(f"NAME asked for {n}, there are {size}")
    return size - n


def named(name: str) -> str:
    assert name in ("a", "b"), f"NAME knows no {name}"
    return name
"""


def _tiny(settings: Settings, names: Sequence[str], code: str = CHECKS) -> Wheel:
    folder = settings.wheels_dir / "tiny"
    folder.mkdir(parents=True)
    files = {f"tiny/{name}.py": code.replace("NAME", name) for name in names}
    made = make_wheel(folder, {"tiny/__init__.py": "", **files}, package="tiny", version="1.0")
    return open_wheel(made)


def _entry() -> Runnable:
    from app.commands.catalog import catalog  # noqa: PLC0415  # a database is made
    from app.services.resolve import resolve  # noqa: PLC0415  # as above

    with catalog(load_settings()) as db:
        return runnable(db, resolve(db, EXPLAINED).entry)
