"""Simulated accelerators: every probe of a release answers for the GPU, and all is put back."""

import re
import sys
import types
from collections.abc import Iterator

import pytest

from reproducers.protocol import GPUS
from reproducers.upstream.platforms import KINDS, answers, platform_named, simulated

PACKAGES = frozenset({"sglang"})


def module(name: str, **contents: object) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(contents)
    sys.modules[name] = made
    return made


def is_cuda() -> bool:
    return False


def get_device_sm() -> int:
    return 0


def get_device_memory_capacity(device: str | None = None) -> int | None:
    return 16_000 if device == "cpu" else None


@pytest.fixture
def release() -> Iterator[types.ModuleType]:
    """A release of the old kind: probes in one module, held under names in another."""
    names = ("sglang.srt.utils.common", "sglang.srt.user", "elsewhere_user")
    module(
        names[0],
        is_cuda=is_cuda,
        get_device_sm=get_device_sm,
        get_device_memory_capacity=get_device_memory_capacity,
    )
    user = module(names[1], is_cuda=is_cuda, under_another_name=is_cuda, _is_cuda=is_cuda())
    module(names[2], is_cuda=is_cuda)
    yield user
    for name in names:
        sys.modules.pop(name, None)


def test_every_holder_of_a_probe_sees_the_gpu_and_nobody_else(release: types.ModuleType) -> None:
    common = sys.modules["sglang.srt.utils.common"]
    with simulated("b200", PACKAGES) as platform:
        assert platform.kind == "sm100"
        assert release.is_cuda() is release.under_another_name() is True
        assert common.get_device_sm() == 100
        assert common.get_device_memory_capacity() == GPUS["b200"].memory_mib
        assert common.get_device_memory_capacity("cpu") == 16_000
        assert release._is_cuda is False  # computed while imported: stays the machine's
        assert sys.modules["elsewhere_user"].is_cuda() is False
    assert release.is_cuda is is_cuda
    assert common.get_device_sm is get_device_sm


def test_modules_imported_meanwhile_get_the_real_probes_back(release: types.ModuleType) -> None:
    with simulated("h100", PACKAGES):
        late = module("sglang.srt.late", is_cuda=release.is_cuda)
        assert late.is_cuda() is True
    assert late.is_cuda is is_cuda
    del sys.modules["sglang.srt.late"]


@pytest.mark.parametrize(
    ("kind", "sm", "true"),
    [
        ("cpu", 0, set()),
        ("a100", 80, {"is_cuda", "is_sm80_supported", "is_ampere_with_cuda_12_3"}),
        ("l40s", 89, {"is_cuda", "is_sm80_supported"}),
        ("h100", 90, {"is_cuda", "is_sm90_supported", "is_hopper_with_cuda_12_3"}),
        ("h200", 90, {"is_cuda", "is_sm90_supported"}),
        ("b200", 100, {"is_cuda", "is_sm100_supported", "is_blackwell_supported"}),
        ("sm103", 103, {"is_cuda", "is_sm100_supported", "is_blackwell_supported"}),
        ("rtx5090", 120, {"is_cuda", "is_sm120_supported", "is_blackwell_supported"}),
        ("mi300x", 94, {"is_hip", "is_cuda_alike", "is_gfx942_supported"}),
        ("hip", 94, {"is_hip"}),
    ],
)
def test_a_kind_answers_as_that_machine_would(kind: str, sm: int, true: set[str]) -> None:
    found = answers(platform_named(kind))
    assert found["get_device_sm"] == sm
    assert all(found[name] is True for name in true)
    generations = [n for n in found if re.fullmatch(r"is_sm\d+_supported", n)]
    assert sum(found[n] is True for n in generations) == (1 if found["is_cuda"] else 0)
    assert not (found["is_cuda"] and found["is_hip"])


def test_an_unknown_kind_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"no platform 'h1000'; known: a100, .*sm90"):
        platform_named("h1000")
    assert {"cpu", "sm80", "sm90", "sm100", "sm103", "sm120", "gfx942"} <= set(KINDS)
