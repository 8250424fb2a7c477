"""The KV canary's planner for two requests, in its own torch reference."""

from typing import Any

from reproducers.upstream.subject import Subject

HELD = [3, 2]
"""Tokens that the two requests have in the cache: five slots to verify."""


def planned(subject: Subject, rows: int, verify_capacity: int, **options: Any) -> Any:
    """The release's verify plan, allocated for `rows` and filled by its reference planner."""
    torch = subject.torch
    homes = ("sglang.kernels.ops.kv_canary", "sglang.jit_kernel.kv_canary")  # 0.5.17 on, 0.5.16
    plan_ref, verify, write = (
        subject.load(*(f"{home}.{leaf}" for home in homes))
        for leaf in ("plan_ref", "verify", "write")
    )
    cpu = torch.device("cpu")
    plan = verify.VerifyPlan.allocate(verify_capacity=rows, device=cpu)
    plan_ref.launch_canary_plan_kernels_torch_reference(
        verify_plan_out=plan,
        write_plan_out=write.WritePlan.allocate(write_req_capacity=4, device=cpu),
        req_pool_indices=torch.tensor([1, 2]),
        prefix_lens=torch.tensor(HELD),
        extend_seq_lens=torch.ones(2, dtype=torch.int64),
        req_to_token=torch.arange(40).view(4, 10),  # request r holds slots 10 r, 10 r + 1, ...
        verify_capacity=verify_capacity,
        **{
            "swa_window_size": 0,
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "kv_token_id_vs_position_offset": 0,
        }
        | options,
    )
    return plan
