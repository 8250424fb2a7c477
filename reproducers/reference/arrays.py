"""Outputs of array cases (`.npz`): one function per kind, inputs by name in, outputs by name out.

Integers stay integers; floating arrays are computed in the dtype and on the device asked for.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from reproducers.reference.attention import naive_extend_attention
from reproducers.reference.beams import expand_beams, organize_draft_results
from reproducers.reference.chunked import naive_chunk_verify
from reproducers.reference.gates import naive_beta, naive_decay_gate
from reproducers.reference.gdn import gdn_target_verify
from reproducers.reference.greedy import naive_verify_tree_greedy, verify_commit_step_indices
from reproducers.reference.kda import kda_target_verify
from reproducers.reference.metadata import (
    ForwardBatch,
    ForwardMode,
    VerifyInput,
    build_extend_metadata,
)
from reproducers.reference.replay import ReplayWindow, fold_every_commit
from reproducers.reference.sampling import exponential_race, fast_sample
from reproducers.reference.scatter import chain_last_step, commit_states_after_verify
from reproducers.reference.tree import TreeMaskMode, naive_build_tree, parents_from_links, tree_mask

MAMBA_TRACK_INTERVAL = 8
MAX_BITPACKED_NODES = 32
KDA_GATE_DIM = 3


class Inputs:
    """The inputs of one file, read one by one: what is not asked for is never read."""

    def __init__(
        self, arrays: Mapping[str, np.ndarray], *, dtype: torch.dtype, device: str
    ) -> None:
        self._arrays = arrays
        self._dtype = dtype
        self._device = device

    def tensor(self, name: str) -> Tensor:
        """An array on the device; floating inputs in the computing dtype."""
        tensor = torch.from_numpy(np.array(self._arrays[name])).to(self._device)
        return tensor.to(self._dtype) if tensor.is_floating_point() else tensor

    def integer(self, name: str) -> int:
        """A scalar."""
        return int(self._arrays[name])

    def number(self, name: str) -> float:
        """A scalar in full precision."""
        return float(self._arrays[name])


def attention(given: Inputs) -> dict[str, Tensor]:
    """`1_attn`: extend attention over the tree, and over a causal chain of the same rows."""
    committed, n = given.tensor("seq_lens_committed"), given.integer("draft_token_num")
    out = {}
    for name, topk in (("out_tree", -1), ("out_causal", 1)):
        spec_info = VerifyInput(
            draft_token_num=n, tree_topk=topk, custom_mask=given.tensor("tree_mask")
        )
        batch = ForwardBatch(
            forward_mode=ForwardMode.TARGET_VERIFY, seq_lens=committed, spec_info=spec_info
        )
        metadata = build_extend_metadata(batch)._asdict()
        out[name] = naive_extend_attention(
            given.tensor("in_q"),
            given.tensor("in_k_extend"),
            given.tensor("in_v_extend"),
            k_buffer=given.tensor("in_k_buffer"),
            v_buffer=given.tensor("in_v_buffer"),
            req_to_token=given.tensor("req_to_token").to(torch.int32),
            req_pool_indices=given.tensor("req_pool_indices"),
            max_len_extend=n,
            sm_scale=given.number("scale"),
            **metadata,
        )
    return out


def tree(given: Inputs) -> dict[str, Tensor]:
    """`2_tree`: from draft probabilities to links, masks, greedy acceptance and commit steps."""
    topk, steps, n = (given.integer(x) for x in ("topk", "num_steps", "num_draft_tokens"))
    seq_lens = given.tensor("seq_lens")
    bs = seq_lens.shape[0]
    probs = [given.tensor("in_p0"), *given.tensor("in_later_p")]
    tokens = [given.tensor("tok0"), *given.tensor("later_tok")]
    scores, token_ids, parent_list = expand_beams(probs, tokens)
    selected_index, draft_tokens = organize_draft_results(scores, token_ids, n)
    built = naive_build_tree(
        parent_list, selected_index, seq_lens, topk=topk, num_steps=steps, num_draft_tokens=n
    )
    candidates = torch.cat([given.tensor("bonus").unsqueeze(1), draft_tokens], dim=1)
    links = {
        "retrieve_index": built.retrieve_index,
        "retrieve_next_token": built.retrieve_next_token,
        "retrieve_next_sibling": built.retrieve_next_sibling,
    }
    predicts = torch.zeros(bs * n, dtype=torch.int32, device=seq_lens.device)
    accept_index = torch.full((bs, steps + 1), -1, dtype=torch.int32, device=seq_lens.device)
    num_correct_drafts = torch.zeros(bs, dtype=torch.int32, device=seq_lens.device)
    naive_verify_tree_greedy(
        predicts=predicts,
        accept_index=accept_index,
        accept_token_num=num_correct_drafts,
        candidates=candidates,
        target_predict=given.tensor("target_predict"),
        **links,
    )
    last_step, track_step = verify_commit_step_indices(
        accept_index,
        num_correct_drafts + 1,
        seq_lens,
        draft_token_num=n,
        mamba_track_interval=MAMBA_TRACK_INTERVAL,
    )
    assert track_step is not None
    out = {
        "parent_list": parent_list,
        "selected_index": selected_index,
        "candidates": candidates,
        "retrieve_index": built.retrieve_index,
        "next_token": built.retrieve_next_token,
        "next_sibling": built.retrieve_next_sibling,
        "positions": built.positions,
        "tree_mask_qlen": tree_mask(built, seq_lens, TreeMaskMode.QLEN_ONLY),
        "tree_mask_full": tree_mask(built, seq_lens, TreeMaskMode.FULL_MASK),
        "parent": parents_from_links(built.retrieve_next_token, built.retrieve_next_sibling),
        "predicts": predicts,
        "accept_index": accept_index,
        "num_correct_drafts": num_correct_drafts,
        "last_step": last_step,
        "track_step": track_step,
    }
    if n <= MAX_BITPACKED_NODES:  # wider trees have no bit-packed form
        out["tree_mask_bitpacked"] = tree_mask(built, seq_lens, TreeMaskMode.QLEN_ONLY_BITPACKING)
    return out


def verify(given: Inputs) -> dict[str, Tensor]:
    """`3_verify`: recurrent verify of a chain and of a tree, and the commit of each."""
    a, b, A_log, dt_bias = (given.tensor(x) for x in ("in_a", "in_b", "in_A_log", "in_dt_bias"))
    bound = given.number("lower_bound")
    lower_bound = None if np.isnan(bound) else bound
    cache_indices, T = given.tensor("cache_indices"), given.integer("T")
    bs = cache_indices.shape[0]
    target_verify = kda_target_verify if a.dim() == KDA_GATE_DIM else gdn_target_verify
    out = {
        "g": naive_decay_gate(a, A_log, dt_bias, lower_bound=lower_bound),
        "beta": naive_beta(b),
    }
    for name, parent, steps in (
        ("chain", None, chain_last_step(given.tensor("accept_lens"))),
        ("tree", given.tensor("parent"), given.tensor("tree_steps")),
    ):
        pool = given.tensor("in_pool")
        scratch = pool.new_zeros(bs, T, *pool.shape[1:])
        out[f"out_{name}"] = target_verify(
            given.tensor("in_q"),
            given.tensor("in_k"),
            given.tensor("in_v"),
            a,
            b,
            A_log=A_log,
            dt_bias=dt_bias,
            ssm_states=pool,
            cache_indices=cache_indices,
            draft_token_num=T,
            intermediate_ssm=scratch,
            retrieve_parent_token=parent,
            lower_bound=lower_bound,
        )
        commit_states_after_verify(pool, scratch, cache_indices, steps)
        out[f"scratch_{name}"] = scratch
        out[f"pool_after_{name}"] = pool
    return out


def replay(given: Inputs) -> dict[str, Tensor]:
    """`4_replay`: chunked verify of one request, and the fold of every accepted length."""
    rows = [given.tensor(x) for x in ("in_q", "in_k", "in_v", "in_g", "in_beta")]
    start = given.tensor("in_S0")
    T, device = rows[2].shape[0], start.device
    chain = naive_chunk_verify(*rows, initial_state=start)
    path = naive_chunk_verify(*rows, initial_state=start, parent=given.tensor("parent"))
    window = ReplayWindow.allocate(
        start.unsqueeze(0),
        rows[1].shape[1],
        max(T, 1),
        is_kda=rows[3].dim() == KDA_GATE_DIM,
        dtype=start.dtype,
    )
    window.write(0, torch.arange(T, device=device), rows[1:])
    folded, tracked = [], torch.zeros_like(start)
    for accept_len in range(T + 1):
        pool = torch.stack([start, tracked])
        fold_every_commit(
            pool,
            window,
            torch.tensor([0], device=device),
            torch.tensor([accept_len], device=device),
            mamba_track_indices=torch.tensor([1], device=device),
            mamba_steps_to_track=torch.tensor([given.integer("track_step")], device=device),
        )
        folded.append(pool[0])
        tracked = pool[1]
    return {
        "out_chain": chain.out,
        "D": chain.D,
        "S_final": chain.final_state,
        "fold_by_accept_len": torch.stack(folded),
        "tracked": tracked,
        "out_tree": path.out,
        "chain_vs_tree_rel": (chain.out - path.out).norm() / path.out.norm(),
    }


def sample(given: Inputs) -> dict[str, Tensor]:
    """`5_sample`: the race with given exponentials, and with seeded ones at draft steps 0 and 2."""
    probs, race = given.tensor("in_probs"), given.tensor("in_expo")
    seeds, positions = given.tensor("seeds"), given.tensor("positions")
    out = {f"idx{count}": exponential_race(probs, race, count) for count in (1, 3)}
    for step in (0, 2):
        out[f"seeded_step{step}"] = fast_sample(
            probs, sampling_seed=seeds, positions=positions, draft_step=step
        )[1]
    return out


ARRAY_KINDS: dict[str, Callable[[Inputs], dict[str, Tensor]]] = {
    "1_attn": attention,
    "2_tree": tree,
    "3_verify": verify,
    "4_replay": replay,
    "5_sample": sample,
}
