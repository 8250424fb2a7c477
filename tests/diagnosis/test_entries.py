"""The explained errors of other libraries match what those libraries really say."""

import argparse
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from app.diagnosis.diagnose import diagnose
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Finding
from app.knowledge.entry_file import EntryFile, read_entry_files
from app.loading.curated import ERRORS_DIR
from app.loading.index_facts import facts_of
from app.settings import load_settings
from app.wheels import fetch

ENTRIES = [e for e in read_entry_files(ERRORS_DIR) if e.facts.package != "sglang"]


def bind_twice() -> None:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        one.listen()
        two.bind(one.getsockname())


def argparse_says(*arguments: str) -> Callable[[], None]:
    def parse() -> None:
        class Parser(argparse.ArgumentParser):
            def error(self, message: str) -> Any:
                raise RuntimeError(f"launch_server.py: error: {message}")

        parser = Parser(prog="launch_server.py")
        parser.add_argument("--port", type=int)
        parser.add_argument("--backend", choices=["triton", "fa3"])
        parser.add_argument("--model", required="--model" in arguments or not arguments)
        parser.parse_args(list(arguments))

    return parse


def unset() -> None:
    if not ENTRIES:
        name = 1
    print(name)  # noqa: T201  # the use of a variable that no branch has set


t = torch.zeros
REAL: dict[str, list[Callable[[], object]]] = {
    "tensor-sizes-differ": [lambda: t(96, 2) + t(90, 2), lambda: t(4).copy_(t(2))],
    "tensor-expand-size": [lambda: t(8).__setitem__(slice(0, 5), t(4)), lambda: t(3).expand(4)],
    "tensor-broadcast-shape": [
        lambda: t(9, 4).__setitem__(torch.arange(5), t(6, 4)),
        lambda: t(4, 4)[torch.arange(3), torch.arange(2)],
        lambda: t(1, 4).add_(t(2, 4)),
    ],
    "tensor-cat-sizes": [lambda: torch.cat([t(6, 3), t(8, 3)], dim=-1)],
    "tensor-stack-sizes": [lambda: torch.stack([t(6), t(8)])],
    "tensor-view-size": [lambda: t(33).view(2, -1, 8)],
    "tensor-index-out-of-bounds": [
        lambda: t(3)[5],
        lambda: torch.nn.functional.embedding(torch.tensor([7]), t(4, 2)),
        lambda: t(9).narrow(0, 4, 8),
        lambda: t(3).sum(2),
    ],
    "tensor-split-sizes": [lambda: t(10).split([4, 4])],
    "matmul-shapes-differ": [lambda: t(8, 4) @ t(5, 3), lambda: torch.bmm(t(2, 3, 4), t(2, 5, 6))],
    "tensor-dtypes-differ": [
        lambda: t(2, 3) @ t(3, 2, dtype=torch.bfloat16),
        lambda: t(4, dtype=torch.half).__setitem__(torch.tensor([0]), t(1)),
        lambda: t(2, dtype=torch.long).add_(1.5),
    ],
    "tensor-devices-differ": [lambda: t(2, device="meta") + t(2)],
    "host-memory-exhausted": [lambda: t(1 << 52)],
    "attribute-of-none": [lambda: None.shape],  # type: ignore[attr-defined]  # the point
    "object-lacks-attribute": [lambda: torch.no_such_thing, lambda: t(1).no_such_thing],
    "missing-key": [lambda: {}["model.layers.0.weight_scale"]],
    "missing-module": [lambda: __import__("no_such_module_at_all")],
    "unexpected-argument": [lambda: bind_twice(x=1), json.dumps],  # type: ignore[call-arg,list-item]  # the point
    "unset-local-variable": [unset],
    "list-index-out-of-range": [lambda: [][3], [].pop],  # noqa: PLE0643  # the point of it
    "file-not-found": [lambda: Path("/no/such/file").read_text(), lambda: Path("/").read_text()],
    "value-not-json": [lambda: json.loads("{x"), lambda: json.loads("")],
    "address-in-use": [bind_twice],
    "unrecognized-arguments": [argparse_says("--prot", "1")],
    "invalid-choice": [argparse_says("--backend", "fa9")],
    "argument-value-invalid": [argparse_says("--port"), argparse_says("--port", "x")],
    "arguments-required": [argparse_says()],
}


def root(log: str, matcher: Matcher) -> Finding:
    answer = diagnose(log, matcher=matcher)
    assert answer.root_cause is not None, answer
    return answer.findings[answer.root_cause]


def raised_by(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except BaseException as e:  # noqa: BLE001  # whatever the library raises is looked at
        return e
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("slug", "call"), [(slug, call) for slug, calls in REAL.items() for call in calls]
)
def test_what_the_library_really_says_is_recognised(
    slug: str, call: Callable[[], object], engine: Matcher
) -> None:
    error = raised_by(call)
    message = str(error)
    log = (
        message if message.startswith("launch_server.py") else f"{type(error).__name__}: {message}"
    )
    assert root(log, engine).slug == slug, log


def test_there_are_enough_of_them_for_every_library() -> None:
    packages = {e.facts.package for e in ENTRIES}
    assert len(ENTRIES) >= 25
    assert packages >= {
        *("torch", "cuda", "nccl", "triton", "transformers", "argparse", "flashinfer", "deepep"),
        *("linux", "python", "vllm", "huggingface"),
    }


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.slug)
def test_an_entry_can_be_found_and_its_pattern_is_tame(entry: EntryFile) -> None:
    facts = entry.facts
    assert facts.match or facts.error_class.startswith("SIG")
    if facts.match:
        pattern = re.compile(facts.match)
        for hostile in ("a" * 5000, facts.message * 60, " ".join(facts.literals) * 40):
            pattern.search(hostile)
    for literal in facts.literals:
        assert len(literal) >= 8


@pytest.mark.wheel
def test_every_flag_and_variable_of_sglang_in_the_advice_exists() -> None:
    settings = load_settings()
    wheel = fetch("sglang", "0.5.23", settings)
    flags = set(facts_of(wheel, settings.index_dir)["flags"])
    # of other programs, of older releases (named as such), or a placeholder
    foreign = {
        *("--gpus", "--ipc", "--shm-size", "--ulimit", "--flag", "--max-model-len"),
        *("--gpu-memory-utilization", "--cuda-graph-max-bs", "--tensor-parallel-size", "--help"),
        *("--local-dir", "--force-reinstall", "--upgrade", "--pid"),
    }
    named = {
        flag
        for entry in ENTRIES
        for text in [*(s.title + s.text for s in entry.solutions), entry.why, *entry.not_this_if]
        for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text)
    }
    assert named - foreign - flags == set()
    source = b"".join(
        wheel.read(n) for n in wheel.names() if n.endswith(".py") and n.startswith("sglang/srt/")
    )
    variables = {
        v
        for entry in ENTRIES
        for s in entry.solutions
        for v in re.findall(r"\bSGLANG_[A-Z0-9_]+", s.text)
    }
    assert not [v for v in variables if v.encode() not in source]
