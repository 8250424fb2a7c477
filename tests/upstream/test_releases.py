"""The loader on real releases: what it imports, on which simulated machine, and what it needs."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.runs import execute, release_request
from app.settings import load_settings
from app.wheels import fetch
from reproducers.protocol import Request

pytestmark = pytest.mark.wheel

LOADS = """
def trigger(subject):
    for name in ({modules}):
        module = subject.load(name)
        subject.value(name, module.__file__.endswith(name.replace(".", "/") + ".py"))
    utils = subject.load("sglang.srt.utils.common", "sglang.srt.utils")
    for kind in ("b200", "h100", "mi300x", "cpu"):
        with subject.platform(kind):
            subject.value(kind, [utils.is_cuda(), utils.is_hip(), utils.is_sm100_supported(),
                                 utils.get_device_memory_capacity("cuda")])
    if subject.has("sglang.srt.runtime_context") and subject.version.micro >= 19:
        context = subject.load("sglang.srt.runtime_context")
        with subject.platform("sm103"):
            facts = context.get_platform()
            subject.value("facts", [facts.is_cuda, facts.device_sm, facts.has_flashinfer])
        subject.value("after", context.get_platform().is_cuda)
    subject.value("compiled", subject.torch.compile(len) is len)
"""
OLD = (
    "sglang.srt.model_executor.cuda_graph_runner",
    "sglang.srt.managers.schedule_batch",
    "sglang.srt.speculative.eagle_info",
    "sglang.srt.server_args",
)
NEW = (
    "sglang.srt.layers.attention.intel_amx_backend",
    "sglang.srt.managers.schedule_batch",
    "sglang.srt.speculative.eagle_info",
    "sglang.srt.speculative.spec_utils",
    "sglang.srt.layers.attention.linear.kernels.kda_flashinfer",
    "sglang.srt.server_args",
)


def request_for(version: str, folder: Path, reproducer: str) -> Request:
    settings = load_settings()
    wheel = fetch("sglang", version, settings)
    request = release_request(
        wheel,
        settings,
        slug="load",
        step="trigger",
        template="",
        pattern="",
        error_class="",
        sites=(),
    )
    file = folder / "reproducer.py"
    file.write_text(reproducer)
    return replace(request, payload={"file": str(file)}, readable=(str(file),))


@pytest.mark.parametrize(
    ("version", "modules"),
    [("0.5.6", OLD), ("0.5.12", OLD), ("0.5.16", NEW), ("0.5.18", NEW), ("0.5.23", NEW)],
)
def test_a_release_is_imported_for_real(
    version: str, modules: tuple[str, ...], tmp_path: Path
) -> None:
    names = ", ".join(map(repr, modules))
    result = execute(request_for(version, tmp_path, LOADS.replace("{modules}", names)))
    assert result.outcome == "returned", (result.message, result.traceback[-3:], result.stdout)
    assert result.stand_ins_called == []
    assert {"triton", "transformers"} <= set(result.stand_ins)
    assert all(result.values[m] is True for m in modules)
    assert result.values["b200"] == [True, False, True, 183359]
    assert result.values["h100"] == [True, False, False, 81559]
    assert result.values["mi300x"] == [False, True, False, 196592]
    assert result.values["cpu"][:3] == [False, False, False]
    assert result.values["compiled"] is True
    if version == "0.5.23":
        assert (result.values["facts"], result.values["after"]) == ([True, 103, True], False)


def test_a_run_that_would_need_triton_is_not_real(tmp_path: Path) -> None:
    reproducer = """
def trigger(subject):
    module = subject.load("sglang.srt.mem_cache.mamba_slot_fused")
    module.build_conv_slot_descriptor([subject.torch.zeros(2, 3, 4).bfloat16()])
"""
    result = execute(request_for("0.5.23", tmp_path, reproducer))
    [called] = result.stand_ins_called
    assert called.startswith("triton.cdiv called by sglang.srt.mem_cache.mamba_slot_fused:")
    assert result.reason is not None
    assert result.reason.startswith("invalid: the stand-in triton.cdiv called")
