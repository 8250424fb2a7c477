"""Flashinfer's KDA kernel is asked for on a GPU that cannot run it.

Symptom
-------
`RuntimeError: FlashInfer KDA kernel (recurrent_kda) is not available. Requires SM100+ and a
FlashInfer build with KDA support.` while the attention backend is built.

Mechanism
---------
The kernel runs from compute capability 10 on (B200, B300, RTX 50). The wrapper imports it when it
is first built and asks for the device's capability; on anything less, or if flashinfer lacks the
kernel, it refuses. The GPUs here are simulated: the release's own probes are made to answer as on
an H100 and on a B200.
"""

import ast
import sys
from collections.abc import Mapping
from functools import partial
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from reproducers.calls.kda import recurrent_kda
from reproducers.calls.kda_dispatch import dispatched
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
TRITON = "Use the Triton kernel"
PINNED = "Install the flashinfer that the release pins"
REFUSED = "RuntimeError: FlashInfer KDA kernel (recurrent_kda) is not available. Requires..."


def built(subject: Subject) -> Any:
    """`build(gpu)`: name of the kernel's wrapper, built on a simulated GPU."""
    subject.substitute(
        "flashinfer.kda_decode", "recurrent_kda", recurrent_kda, why="it is never called here"
    )
    module: Any = subject.load("sglang.srt.layers.attention.linear.kernels.kda_flashinfer")

    def build(gpu: str) -> str:
        module._flashinfer_kda_available = None  # noqa: SLF001  # asked once a process
        with subject.platform(gpu):
            return type(module.FlashInferKDAKernel()).__name__

    return build


def trigger(subject: Subject) -> None:
    """On an H100."""
    subject.value("gpu", "h100")
    built(subject)("h100")


def fix(subject: Subject) -> None:
    """The same on a B200."""
    same(subject, "built", built(subject)("b200"), "FlashInferKDAKernel")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper's constructor."""
    build = built(subject)
    hold_page(
        subject,
        snippets,
        build,
        cases={
            "h100": ("h100",),
            "h200": ("h200",),
            "a100": ("a100",),
            "b200": ("b200",),
            "b300": ("b300",),
        },
        error=RuntimeError,
        text="FlashInfer KDA kernel (recurrent_kda) is not available.",
        rescued=(("h100",), "triton"),
        passed_on=("no such gpu",),
        names={"build": build},
    )
    module = subject.load("sglang.srt.layers.attention.linear.kernels.kda_flashinfer")
    build("b200")
    with subject.platform("h100"):
        kept = type(module.FlashInferKDAKernel()).__name__
    same(subject, "asked-once-a-process", kept, "FlashInferKDAKernel")
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own parser and dispatcher."""

    def decodes(line: str) -> str:
        return type(dispatched(subject, line, "h100").decode_kernel).__name__

    line = "--device cuda --linear-attn-decode-backend flashinfer"
    asked: dict[str, Any] = {"line": line, "seen": decodes}
    tried_change(subject, snippets, TRITON, **asked, before=REFUSED, after="TritonKDAKernel")

    commands: list[list[str]] = []
    names = {"sys": sys, "requires": partial(required, subject), "check_call": commands.append}
    carried_out(snippets, PINNED, **names)
    called, pins = commands[0][1:4], commands[0][4:]
    tried(subject, PINNED, "the command", lambda: called, ["-m", "pip", "install"])
    versions = [str(Requirement(pin).specifier) for pin in pins]
    asked_for = f"=={least_flashinfer(subject)}"
    case = "as new as the release's own check at start-up asks for"
    tried(subject, PINNED, case, lambda: versions, [asked_for])
    build = built(subject)
    tried(
        subject, PINNED, "with the kernel, on a B200", lambda: build("b200"), "FlashInferKDAKernel"
    )
    tried(subject, PINNED, "with the kernel, on an H100", lambda: build("h100"), REFUSED)


def required(subject: Subject, package: str) -> list[str]:
    """What this release's own metadata ask for."""
    folder = Path(str(subject.root)) / f"{package}-{subject.version}.dist-info"
    return list(Distribution.at(folder).requires or ())


def least_flashinfer(subject: Subject) -> str:
    """The flashinfer that the release's engine demands when it starts."""
    file = Path(str(subject.root)) / "sglang/srt/entrypoints/engine.py"
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "assert_pkg_version":
            package, version = (ast.literal_eval(argument) for argument in node.args[:2])
            if package == "flashinfer_python":
                return str(version)
    raise LookupError("the release's engine asks for no flashinfer")
