"""An engine's own Triton verify and fold kernels: right on test vectors, and how near to a copy.

`python benchmarks/kernels.py WHEEL [--vectors DIR] [--device cuda] [--out DIR]` needs torch, triton
and a wheel of sglang. On a GPU it times recurrent verify, replay verify and fold for several batch
sizes, as plain launches and as CUDA-graph replays, against the bytes that each has to move and
beside a plain device copy in the same run. On a CPU it does the comparison alone, in Triton's
interpreter. Prints what it measured and writes `kernels.json` to the folder given by --out.
"""

import argparse
import inspect
import json
import os
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))
BATCHES, TOKENS = (1, 16, 64, 128), (4, 8)
HEADS, VALUE_HEADS, DIM = 16, 32, 128
LENGTH = 16
"""Rows of a replay ring."""
ATTENTION = "sglang.kernels.ops.attention"


def main() -> int:
    """Compare, time, and write what was found; 1 if an output is not right."""
    args = _arguments()
    if args.device == "cpu" and not args.vectors:
        print("no GPU, and no vectors to compare with: nothing is measured here")
        return 0
    args.wheel = args.wheel or _cached()
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="triton-"))
    if args.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    import triton  # noqa: PLC0415  # reads the variable above

    found: dict[str, Any] = {
        "wheel": Path(args.wheel).name,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu, interpreted",
    }
    kernels = load(args.wheel, args.device)
    out = Path(args.out or os.environ.get("OUT", "."), f"kernels-{kernels.version}.json")
    out.parent.mkdir(parents=True, exist_ok=True)

    def keep() -> None:
        out.write_text(json.dumps(found, indent=1))

    found["vectors"] = compare(kernels, args.vectors, args.device) if args.vectors else []
    print(*map(json.dumps, found["vectors"]), sep="\n", flush=True)
    keep()
    if args.device == "cuda":
        found["copy"] = copy_speed()
        print(json.dumps(found["copy"]), flush=True)
        found["times"] = []
        deadline = time.monotonic() + args.seconds
        for row in timed(kernels):
            found["times"].append(row)
            print(json.dumps(row), flush=True)
            keep()
            if time.monotonic() > deadline:
                found["stopped"] = "out of time"
                break
    keep()
    return int(any(not row.get("ok") for row in found["vectors"]))


def _cached() -> str:
    """A wheel of the cache, fetched if it is missing."""
    from app.settings import load_settings  # noqa: PLC0415  # a bare machine names its wheel
    from app.wheels import fetch  # noqa: PLC0415  # same

    return str(fetch("sglang", "0.5.23", load_settings()).path)


def _arguments() -> argparse.Namespace:
    here = "cuda" if torch.cuda.is_available() else "cpu"
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("wheel", nargs="?", help="a wheel of sglang; 0.5.23 by default")
    parser.add_argument("--vectors", help="a folder with 3_verify_*.npz")
    parser.add_argument("--device", choices=("cpu", "cuda"), default=here)
    parser.add_argument("--out", help="where kernels-VERSION.json goes; $OUT or here by default")
    parser.add_argument("--seconds", type=float, default=150.0, help="for timing")
    return parser.parse_args()


def load(wheel: str, device: str) -> SimpleNamespace:
    """The wheel's kernels by their wrappers, imported with inert stand-ins for other packages."""
    from reproducers.calls.recurrent_update import no_pdl  # noqa: PLC0415  # as PROJECT is known
    from reproducers.calls.triton_kernels import indices  # noqa: PLC0415  # same
    from reproducers.upstream.importing import Upstream  # noqa: PLC0415  # same

    root = Path(wheel)
    version = root.name.split("-")[1] if root.suffix == ".whl" else root.name
    if root.is_file():
        root = Path(tempfile.mkdtemp(prefix="wheel-"))
        zipfile.ZipFile(wheel).extractall(root)
    upstream = Upstream(root, version=version, real=("triton",))
    upstream.install()
    homes = (f"{ATTENTION}.linear", f"{ATTENTION}.fla")
    verify, gdn, kda = (
        upstream.load(*(f"{home}.{leaf}" for home in homes))
        for leaf in ("fused_sigmoid_gating_recurrent", "gdn_replayssm_spec_fold",
                     "kda_replayssm_spec_decode")
    )  # fmt: skip
    if device == "cpu":
        gdn.range = kda.range = indices  # type: ignore[attr-defined]  # the loop index is cast
        if hasattr(verify, "is_arch_support_pdl"):
            verify.is_arch_support_pdl = no_pdl
    return SimpleNamespace(
        version=version,
        update=verify.fused_sigmoid_gating_delta_rule_update,
        gdn_fold=gdn.commit_gdn_replayssm_fold_all_layers,
        kda_fold=kda.commit_kda_replayssm_spec,
    )


def run_verify(
    kernels: SimpleNamespace, given: dict[str, Any], tokens: int, **more: Any
) -> Callable[[], Any]:
    """A call of the verify wrapper: outputs [rows, HV, V]. `more` names scratch, parents, rings."""
    device, requests = given["q"].device, len(given["initial_state_indices"])
    scratch = more.get("scratch")
    is_kda = given["a"].shape[-1] != given["v"].shape[-2]
    options = {f"replayssm_{k}": v for k, v in more.get("rings", {}).items()}
    if options:
        options["cache_ring"] = True
    if more.get("lower_bound") is not None:
        options["lower_bound"] = more["lower_bound"]
    fixed = {
        "is_kda": is_kda,
        "softplus_beta": 1.0,
        "softplus_threshold": 20.0,
        "use_qk_l2norm_in_kernel": True,
        "disable_state_update": True,
        "cu_seqlens": torch.arange(requests + 1, device=device, dtype=torch.int32) * tokens,
        "intermediate_states_buffer": scratch,
        "intermediate_state_indices": torch.arange(requests, dtype=torch.int32, device=device),
        "cache_steps": None if scratch is None else scratch.shape[1],
        "retrieve_parent_token": more.get("parents"),
    }
    missing = set(options) - set(inspect.signature(kernels.update).parameters)
    if missing:
        raise LookupError(f"{kernels.version} has no {', '.join(sorted(missing))}")
    return lambda: kernels.update(**given, **fixed, **options)


def rings_for(given: dict[str, Any], length: int, dtype: Any) -> dict[str, Any]:
    """Empty rings of one layer, a slot for each state of the pool."""
    slots, value_heads, value, key = given["initial_state_source"].shape
    heads, device = given["q"].shape[-2], given["q"].device
    gate = (length,) if given["a"].shape[-1] == value_heads else (length, key)
    return {
        "rawv": torch.zeros(slots, value_heads, length, value, dtype=dtype, device=device),
        "rawk": torch.zeros(slots, heads, length, key, dtype=dtype, device=device),
        "g": torch.zeros(slots, value_heads, *gate, device=device),
        "beta": torch.zeros(slots, value_heads, length, device=device),
    }


def run_fold(
    kernels: SimpleNamespace, pool: Any, rings: dict[str, Any], slots: Any, accept: Any
) -> Callable[[], Any]:
    """A call that folds `accept` rows [requests] of the rings into `pool`, in place."""
    length, heads = rings["beta"].shape[-1], rings["rawk"].shape[1]
    given = [rings[name] for name in ("rawv", "rawk", "g", "beta")]
    if rings["g"].dim() == 4:  # a decay each key channel: KDA
        return lambda: kernels.kda_fold(
            pool, *given, slots, accept, length, heads, null_block_id=-1
        )
    layers = [x.unsqueeze(0) for x in (pool, *given)]
    return lambda: kernels.gdn_fold(*layers, slots, accept, length, heads, null_block_id=-1)


def compare(kernels: SimpleNamespace, folder: str, device: str) -> list[dict[str, Any]]:
    """Outputs and states of each vector, chain and tree, and the fold against the commit."""
    rows = []
    for path in sorted(Path(folder).glob("3_verify_*.npz")):
        try:
            rows += _compare_one(kernels, path, device)
        except Exception as error:  # noqa: BLE001  # one that fails must not hide the others
            traceback.print_exc()
            rows.append({"vector": path.stem, "ok": False, "error": repr(error)})
    return rows


def _compare_one(kernels: SimpleNamespace, path: Path, device: str) -> list[dict[str, Any]]:
    raw = {k: torch.from_numpy(np.asarray(v)).to(device) for k, v in np.load(path).items()}
    tokens, bound = int(raw["T"]), float(raw["lower_bound"])
    given = {
        **{x: raw[f"in_{x}"][None].contiguous() for x in "qkv"},
        "a": raw["in_a"].flatten(1),
        "b": raw["in_b"],
        "A_log": raw["in_A_log"],
        "dt_bias": raw["in_dt_bias"].flatten(),
        "initial_state_source": raw["in_pool"],
        "initial_state_indices": raw["cache_indices"].int(),
    }
    lower_bound = None if bound != bound else bound  # noqa: PLR0124  # not a number: no bound
    requests = len(raw["cache_indices"])
    rows = []
    for kind in ("chain", "tree"):
        scratch = raw["in_pool"].new_zeros(requests + 1, tokens, *raw["in_pool"].shape[1:])
        parents = raw["parent"].int() if kind == "tree" else None
        more = {"scratch": scratch, "parents": parents, "lower_bound": lower_bound}
        out = run_verify(kernels, given, tokens, **more)()
        errors = {
            "outputs": _apart(out.view_as(raw[f"out_{kind}"]), raw[f"out_{kind}"]),
            "states": _apart(scratch[:requests], raw[f"scratch_{kind}"]),
        }
        ok = max(errors.values()) < 1e-5
        rows.append({"vector": path.stem, "kind": kind, "ok": ok, **errors})
        if kind == "chain":
            rings = rings_for(given, LENGTH, torch.float32)
            replayed = run_verify(kernels, given, tokens, rings=rings, lower_bound=lower_bound)()
            pool, slots, lens = raw["in_pool"].clone(), raw["cache_indices"], raw["accept_lens"]
            run_fold(kernels, pool, rings, slots.int(), lens.int())()
            live = [(n, int(s), int(a)) for n, (s, a) in enumerate(zip(slots, lens, strict=True))]
            live = [x for x in live if x[1] >= 0 and x[2] > 0]
            pairs = [(pool[s], scratch[n, a - 1]) for n, s, a in live]
            equal = all(torch.equal(folded, state) for folded, state in pairs)
            states = max(_apart(folded, state) for folded, state in pairs)
            errors = {"outputs": _apart(replayed.view_as(out), out), "states": states}
            row = {"vector": path.stem, "kind": "replay", "ok": max(errors.values()) < 1e-5}
            rows.append(row | errors | {"bitwise": equal})
    return rows


def _apart(got: Any, expected: Any) -> float:
    scale = float(expected.abs().max()) or 1.0
    return float((got.double() - expected.double()).abs().max()) / scale


def inputs(requests: int, tokens: int, *, is_kda: bool) -> dict[str, Any]:
    """Random tokens in bfloat16 and committed states in float32, on the GPU."""
    rows, gate = requests * tokens, VALUE_HEADS * (DIM if is_kda else 1)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda").bfloat16()

    return {
        "q": normal(1, rows, HEADS, DIM),
        "k": normal(1, rows, HEADS, DIM),
        "v": normal(1, rows, VALUE_HEADS, DIM),
        "a": normal(rows, gate),
        "b": normal(rows, VALUE_HEADS),
        "A_log": torch.zeros(VALUE_HEADS, device="cuda"),
        "dt_bias": torch.zeros(gate, device="cuda"),
        "initial_state_source": torch.randn(requests + 1, VALUE_HEADS, DIM, DIM, device="cuda"),
        "initial_state_indices": torch.arange(requests, device="cuda", dtype=torch.int32),
    }


def moved(requests: int, tokens: int, *, is_kda: bool) -> dict[str, int]:
    """Bytes that each kernel has to move: states in float32, activations in bfloat16."""
    state = VALUE_HEADS * DIM * DIM * 4
    gates = VALUE_HEADS * (DIM if is_kda else 1)
    act = tokens * 2 * (2 * HEADS * DIM + 2 * VALUE_HEADS * DIM + gates + VALUE_HEADS)
    ring = tokens * (2 * (HEADS + VALUE_HEADS) * DIM + 4 * (gates + VALUE_HEADS))
    return {
        "recurrent verify": requests * (state + tokens * state + act),
        "replay verify": requests * (state + act + ring),
        "fold": requests * (2 * state + ring),
    }


def timed(kernels: SimpleNamespace) -> Any:
    """A row for each kernel, gate, batch and number of tokens."""
    for is_kda in (False, True):
        for tokens in TOKENS:
            for requests in BATCHES:
                given = inputs(requests, tokens, is_kda=is_kda)
                shape = (requests + 1, tokens, VALUE_HEADS, DIM, DIM)
                scratch = torch.zeros(shape, device="cuda")
                rings = rings_for(given, LENGTH, torch.bfloat16)
                pool = given["initial_state_source"].clone()
                slots = given["initial_state_indices"]
                accept = torch.full((requests,), tokens, device="cuda", dtype=torch.int32)
                verify = partial(run_verify, kernels, given, tokens)
                calls = {
                    "recurrent verify": partial(verify, scratch=scratch),
                    "replay verify": partial(verify, rings=rings),
                    "fold": partial(run_fold, kernels, pool, rings, slots, accept),
                }
                for name, make in calls.items():
                    size = moved(requests, tokens, is_kda=is_kda)[name]
                    row = {"kernel": name, "gate": "KDA" if is_kda else "GDN", "B": requests,
                           "T": tokens, "bytes": size}  # fmt: skip
                    try:
                        yield row | _times(make(), size)
                    except Exception as error:  # noqa: BLE001  # the others are still of interest
                        traceback.print_exc()
                        yield row | {"error": repr(error)[:300]}


def _times(call: Callable[[], Any], size: int) -> dict[str, Any]:
    """Microseconds a plain launch and a CUDA-graph replay, and TB/s of the replay."""
    for _ in range(3):
        call()
    plain = _microseconds(call)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    replay = _microseconds(graph.replay)
    return {"plain us": plain, "graph us": replay, "TB/s": round(size / replay / 1e6, 3)}


def _microseconds(call: Callable[[], Any]) -> float:
    """The median of five groups of twenty calls, each group between two events."""
    groups = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(20):
            call()
        end.record()
        torch.cuda.synchronize()
        groups.append(start.elapsed_time(end) * 1000 / 20)
    return round(sorted(groups)[2], 2)


def copy_speed() -> dict[str, Any]:
    """The peer: a copy of 2 GiB within the device, bytes read and written."""
    source = torch.empty(1 << 31, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    took = _microseconds(lambda: target.copy_(source))
    return {"copy GiB": 2, "us": took, "TB/s": round(2 * source.numel() / took / 1e6, 3)}


if __name__ == "__main__":
    sys.exit(main())
