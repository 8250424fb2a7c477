"""`compute`: whole folders, without the expected values, complete files, clear refusals."""

# ruff: noqa: N803, N806  # the papers' symbols

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproducers.reference.compute import main

ROOT = Path(__file__).resolve().parents[2]


def array_cases(seed: int, bs: int = 2, T: int = 5) -> dict[str, dict[str, Any]]:
    """One small case of every array kind: inputs only."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    H, HV, K, V, slots, topk, steps, N, vocab = 2, 4, 6, 5, bs + 2, 3, 3, 7, 13
    parent = np.full((bs, T), -1)
    for t in range(1, T):
        parent[:, t] = rng.integers(0, t, bs)
    mask = np.zeros((bs, T, T), dtype=bool)
    for b in range(bs):
        for t in range(T):
            mask[b, t] = (mask[b, parent[b, t]] if t else False) | (np.arange(T) == t)
    committed = rng.integers(1, 9, bs)
    verify = {
        "in_q": normal(bs * T, H, K),
        "in_k": normal(bs * T, H, K),
        "in_v": normal(bs * T, HV, V),
        "in_b": normal(bs * T, HV),
        "in_A_log": normal(HV),
        "in_pool": normal(slots, HV, V, K),
        "cache_indices": np.array([-1, *range(1, bs)][:bs], dtype=np.int64),
        "T": np.int64(T),
        "parent": parent,
        "accept_lens": rng.integers(1, T + 1, bs),
        "tree_steps": rng.integers(0, T, bs),
    }
    replay = {
        "in_q": normal(T, H, K),
        "in_k": normal(T, H, K),
        "in_v": normal(T, HV, V),
        "in_beta": rng.uniform(size=(T, HV)).astype(np.float32),
        "in_S0": normal(HV, V, K),
        "track_step": np.int64(T - 1),
        "parent": np.array([-1, *(rng.integers(0, t) for t in range(1, T))]),
    }
    return {
        "1_attn_a.npz": {
            "in_q": normal(bs * T, 4, K),
            "in_k_extend": normal(bs * T, 2, K),
            "in_v_extend": normal(bs * T, 2, V),
            "in_k_buffer": normal(40, 2, K),
            "in_v_buffer": normal(40, 2, V),
            "req_to_token": rng.integers(0, 40, (bs + 1, 20)),
            "req_pool_indices": np.arange(bs),
            "seq_lens_committed": committed,
            "draft_token_num": np.int64(T),
            "tree_mask": mask.ravel(),
            "parent": parent,
            "scale": np.float64(0.3),
        },
        "2_tree_a_0_k3s3n7.npz": {
            "in_p0": rng.uniform(size=(bs, topk)).astype(np.float32),
            "tok0": rng.integers(0, vocab, (bs, topk)),
            "in_later_p": rng.uniform(size=(steps - 1, bs * topk, topk)).astype(np.float32),
            "later_tok": rng.integers(0, vocab, (steps - 1, bs * topk, topk)),
            "seq_lens": committed,
            "topk": np.int64(topk),
            "num_steps": np.int64(steps),
            "num_draft_tokens": np.int64(N),
            "bonus": rng.integers(0, vocab, bs),
            "target_predict": rng.integers(0, vocab, (bs, N)),
        },
        "3_verify_gdn.npz": verify
        | {"in_a": normal(bs * T, HV), "in_dt_bias": normal(HV), "lower_bound": np.float64("nan")},
        "3_verify_kda_lb_a.npz": verify
        | {
            "in_a": normal(bs * T, HV, K),
            "in_dt_bias": normal(HV, K),
            "lower_bound": np.float64(-5),
        },
        "4_replay_gdn_a.npz": replay | {"in_g": -abs(normal(T, HV))},
        "4_replay_kda_a.npz": replay | {"in_g": -abs(normal(T, HV, K))},
        "5_sample_a.npz": {
            "in_probs": rng.dirichlet(np.ones(vocab), bs).astype(np.float32),
            "in_expo": rng.exponential(size=(bs, vocab)).astype(np.float32),
            "seeds": rng.integers(0, 2**63 - 1, bs),
            "positions": rng.integers(0, 9999, bs),
        },
    }


EVENTS: dict[str, Any] = {
    "1_meta.json": [
        {"seq_lens": [5, 6], "draft_token_num": 3, "tree_topk": 4, "custom_mask": [1] * 18},
        {"seq_lens": [5], "draft_token_num": 0, "tree_topk": 1, "custom_mask": None},
        {"seq_lens": [5], "draft_token_num": 4, "tree_topk": 1, "spec_info": None},
        {"seq_lens": [], "draft_token_num": 4, "tree_topk": 1},
    ],
    "4_ring_x.json": {
        "length": 8,
        "max_spec": 3,
        "rounds": [{"before": [2, 5, 0], "accepted": 1}, {"before": [3, 5, 1], "accepted": 2}],
        "bad": [{"length": 12, "max_spec": 3, "error": "power of two"}],
    },
    "5_widths_x.json": {
        "widths": [
            {
                "phase": "target_verify",
                "topk": 2,
                "num_draft_tokens": 5,
                "dspark": True,
                "is_draft_worker": True,
            },
            {"phase": "x", "topk": 1, "num_draft_tokens": 4},
        ],
        "murmur": [{"seed": 3, "pos": 1, "col": 2**32 - 1}],
    },
    "6_buffers_x.json": {
        "max_bs": 4,
        "width": 2,
        "seq_len_fill": 3,
        "capture_bs": [1, 4],
        "fills": [
            {"batch": {"input_ids": [9] * 8, "seq_lens": [7] * 4}},
            {"batch": {"input_ids": [1] * 4, "seq_lens": [8] * 2}},
            {"batch": {"input_ids": [1] * 10, "seq_lens": [8] * 5}},
        ],
        "can_run": [{"bs": 5, "spec_width": 2}],
        "batch_from_tokens": [
            {"num_tokens": 6, "spec_width": 2},
            {"num_tokens": 6, "spec_width": -1},
        ],
    },
}
SOLVED: dict[str, Any] = {
    "4_ring_x.json": [
        {"before": [2, 5, 0], "accepted": 1, "window_slots": [7, 0, 1], "after": [3, 5, 1]},
        {"before": [3, 5, 1], "accepted": 2, "window_slots": [0, 1, 2], "after": [2, 0, 0]},
    ],
    "6_buffers_x.json": [
        {"padded_bs": 4, "view": {"input_ids": [9] * 8, "seq_lens": [7] * 4}},
        {"padded_bs": 4, "view": {"input_ids": [1] * 4 + [9] * 4, "seq_lens": [8, 8, 3, 3]}},
        {"expect_error": "AssertionError"},
    ],
}


def write(folder: Path, arrays: dict[str, dict[str, Any]], events: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, case in arrays.items():
        np.savez(folder / name, **case)
    for name, file in events.items():
        (folder / name).write_text(json.dumps(file))
    return folder


def read(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {p.name: json.loads(p.read_text()) for p in folder.glob("*.json")}
    return found | {p.name: dict(np.load(p)) for p in folder.glob("*.npz")}


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every kind solved in float64."""
    folder = tmp_path_factory.mktemp("solved")
    assert (
        main(["compute", str(write(folder / "in", array_cases(1), EVENTS)), str(folder / "out")])
        == 0
    )
    return read(folder / "out")


def test_every_kind_is_solved_into_a_file_of_its_name(solved: dict[str, Any]) -> None:
    assert sorted(solved) == sorted([*array_cases(1), *EVENTS])


def test_outputs_of_related_kinds_agree(solved: dict[str, Any]) -> None:
    for kind in ("gdn", "kda"):
        replay = solved[f"4_replay_{kind}_a.npz"]
        np.testing.assert_allclose(replay["fold_by_accept_len"][-1], replay["S_final"], atol=1e-12)
        np.testing.assert_allclose(replay["tracked"], replay["S_final"], atol=1e-12)
    verify = solved["3_verify_gdn.npz"]
    assert not np.array_equal(verify["pool_after_chain"], verify["pool_after_tree"])
    assert verify["out_chain"].dtype == np.float64


def test_events_are_solved_and_kept(solved: dict[str, Any]) -> None:
    ring = solved["4_ring_x.json"]
    assert ring["rounds"] == SOLVED["4_ring_x.json"]
    assert ring["bad"] == EVENTS["4_ring_x.json"]["bad"]
    buffers = solved["6_buffers_x.json"]
    assert [{k: v for k, v in f.items() if k != "batch"} for f in buffers["fills"]] == SOLVED[
        "6_buffers_x.json"
    ]
    assert buffers["custom_mask_numel"] == (4 * 3 + 4 * 2) * 2
    assert buffers["can_run"] == [{"bs": 5, "spec_width": 2, "expect": False}]
    assert [c.get("expect", c.get("expect_error")) for c in buffers["batch_from_tokens"]] == [
        3,
        "ValueError",
    ]
    metadata = solved["1_meta.json"]
    assert metadata[0]["expect"]["extend_start_loc"] == [0, 3]
    assert [c.get("expect_error") for c in metadata] == [None, "RuntimeError", "RuntimeError", None]
    widths = solved["5_widths_x.json"]["widths"]
    assert (widths[0]["expect"], widths[1]["expect_error"]) == (4, "ValueError")


def test_expected_values_are_never_read(tmp_path: Path, solved: dict[str, Any]) -> None:
    arrays, events = array_cases(1), json.loads(json.dumps(EVENTS))
    for name, case in arrays.items():
        case.update({output: np.array("not this") for output in solved[name] if output not in case})
    events["4_ring_x.json"]["rounds"][0] |= {"after": "not this", "window_slots": "not this"}
    events["1_meta.json"][1]["expect"] = "not this"
    events["6_buffers_x.json"]["fills"][0]["view"] = "not this"
    assert (
        main(["compute", str(write(tmp_path / "in", arrays, events)), str(tmp_path / "out")]) == 0
    )
    again = read(tmp_path / "out")
    for name, expected in solved.items():
        if name.endswith(".json"):
            assert again[name] == expected
        else:
            for output, value in expected.items():
                np.testing.assert_array_equal(again[name][output], value)


def test_float32_is_computed_in_float32_and_close(tmp_path: Path, solved: dict[str, Any]) -> None:
    folder = write(tmp_path / "in", array_cases(1), EVENTS)
    assert main(["compute", str(folder), str(tmp_path / "out"), "--dtype", "float32"]) == 0
    for name, outputs in read(tmp_path / "out").items():
        if name.endswith(".json"):
            assert outputs == solved[name]
            continue
        for output, got in outputs.items():
            expected = solved[name][output]
            if expected.dtype.kind in "biu":
                np.testing.assert_array_equal(got, expected)
            else:
                assert got.dtype == np.float32
                assert abs(got - expected).max() <= 1e-5 * abs(expected).max()


def test_an_empty_batch_of_every_kind_is_solved(tmp_path: Path) -> None:
    cases = {n: c for n, c in array_cases(2, bs=0).items() if "replay" not in n}
    assert main(["compute", str(write(tmp_path / "in", cases, {})), str(tmp_path / "out")]) == 0
    assert read(tmp_path / "out")["3_verify_gdn.npz"]["out_tree"].shape == (0, 4, 5)


def test_what_is_no_case_is_said_and_the_rest_is_solved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "in", {"5_sample.npz": array_cases(3)["5_sample_a.npz"]}, {})
    (folder / "9_other.npz").write_bytes(b"")
    (folder / "3_verify_broken.npz").write_bytes(b"not a zip")
    (folder / "4_ring.json").write_text("{")
    (folder / "1_meta.json").write_text('[{"draft_token_num": 1, "tree_topk": 1}]')
    np.savez(folder / "2_tree_short.npz", topk=np.int64(1))
    for aside in ("README.md", "index.json"):
        (folder / aside).write_text("")
    assert main(["compute", str(folder), str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "9_other.npz is no case that can be computed (known: 1_attn*.npz" in said
    assert "3_verify_broken.npz cannot be computed" in said
    assert "4_ring.json cannot be computed" in said
    assert "1_meta.json lacks the input 'seq_lens'" in said
    assert "2_tree_short.npz lacks the input" in said
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["5_sample.npz"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing", "out"], "is no folder"),
        (["in", "in"], "give another one"),
        (["empty", "out"], "holds no case"),
        (["in", "in/file/out"], "cannot be made"),
    ],
)
def test_folders_that_cannot_be_used_are_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    write(tmp_path / "in", {}, {"file": 1})
    (tmp_path / "empty").mkdir()
    assert main(["compute", *(str(tmp_path / a) for a in arguments)]) == 2
    assert sentence in capsys.readouterr().err


def test_the_command_runs_as_a_module(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", {}, {"4_ring_x.json": EVENTS["4_ring_x.json"]})
    command = [sys.executable, "-m", "reproducers.reference", "compute", folder, tmp_path / "out"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "[1/1] 4_ring_x.json: done\n"
