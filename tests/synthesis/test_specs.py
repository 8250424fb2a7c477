"""Inputs as data: there and back, and as a person would write them."""

import pytest

from reproducers.synthesis.specs import (
    Absent,
    Member,
    Raises,
    Tensor,
    Thing,
    build,
    from_json,
    same,
    shown,
    to_json,
)

VALUES = [
    None, True, 3, 0.5, 'a"b', [1, "x"], (1, 2), {1, 2}, {"a": [1]}, b"x", Tensor((2, 3), "int32"),
    Member("torch", "bfloat16"), Thing("a.b:C"), Absent(), Raises("ValueError"), float("inf"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_from_json_as_it_was(value: object) -> None:
    assert same(from_json(to_json(value)), value)


def test_true_is_not_one() -> None:
    assert not same(True, 1)  # noqa: FBT003  # that is the question
    assert not same(1.0, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Tensor((2, 3)), "torch.randn(2, 3)"),
        (Tensor((4,), "int32"), "torch.zeros(4, dtype=torch.int32)"),
        (Member("torch", "bfloat16"), "torch.bfloat16"),
        ((1,), "(1,)"),
        ('a"b', '"a\\"b"'),
    ],
)
def test_a_value_is_written_as_a_person_would(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_tensor_is_built_as_it_is_described() -> None:
    made = build(Tensor((2, 3), "bfloat16", contiguous=False))
    assert tuple(made.shape) == (2, 3)
    assert str(made.dtype) == "torch.bfloat16"
    assert not made.is_contiguous()
