"""Tokens per request of each phase."""

import pytest

from reproducers.reference.widths import (
    SpecConfig,
    SpeculativeAlgorithm,
    batch_size_from_tokens,
    draft_kv_indices_buffer_width,
    resolve_num_tokens_per_req,
)

SPEC = SpecConfig(speculative_eagle_topk=4, speculative_num_draft_tokens=9)


@pytest.mark.parametrize(
    ("phase", "algorithm", "draft_worker", "override", "expected"),
    [
        ("draft_decode", "EAGLE", False, 6, 4),
        ("draft_extend", "EAGLE", False, 6, 9),
        ("target_verify", "EAGLE", False, None, 9),
        ("target_verify", "EAGLE", True, 6, 6),
        ("target_verify", "DSPARK", False, None, 9),
        ("target_verify", "DSPARK", True, None, 8),
        ("target_verify", "DSPARK", True, 6, 5),
    ],
)
def test_each_phase_has_its_width(
    phase: str,
    algorithm: str,
    draft_worker: bool,  # noqa: FBT001  # a parameter of the test
    override: int | None,
    expected: int,
) -> None:
    got = resolve_num_tokens_per_req(
        SPEC,
        phase=phase,
        spec_algorithm=SpeculativeAlgorithm(algorithm),
        is_draft_worker=draft_worker,
        num_draft_tokens=override,
    )
    assert got == expected


@pytest.mark.parametrize("phase", ["verify", "decode", ""])
def test_any_other_phase_is_refused(phase: str) -> None:
    with pytest.raises(ValueError, match=f"^Unknown speculative phase: {phase}$"):
        resolve_num_tokens_per_req(SPEC, phase=phase, spec_algorithm=SpeculativeAlgorithm())


def test_target_verify_asks_the_algorithm() -> None:
    with pytest.raises(AttributeError, match="get_num_tokens_per_req_for_target_verify"):
        resolve_num_tokens_per_req(SPEC, phase="target_verify")


def test_tokens_become_requests_only_by_a_width_that_is_set() -> None:
    assert batch_size_from_tokens(12, 4) == 3
    assert batch_size_from_tokens(7, None) == 7
    assert batch_size_from_tokens(0, 4) == 0
    for tokens, width in ((8, -1), (8, 0), (9, 4)):
        with pytest.raises(ValueError, match=str(tokens)):
            batch_size_from_tokens(tokens, width)


def test_kv_indices_offsets_fit_into_int32() -> None:
    assert draft_kv_indices_buffer_width(2, 3, 5) == 30
    with pytest.raises(AssertionError, match=r"^kv_indices flat offset would overflow int32; red"):
        draft_kv_indices_buffer_width(4096, 8, 131072)
