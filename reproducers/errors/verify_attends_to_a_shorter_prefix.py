"""On the Intel AMX backend a verify attends to a prefix that is too short.

Symptom
-------
Nothing is raised. With speculative decoding on a CPU the output is worse than without, most of all
for short prompts; a very short one ends in `prefix len < 0!` from the kernel.

Mechanism
---------
The kernel gets total lengths and finds each prefix by subtracting the drafts. The backend derives
the totals of a verify, committed tokens plus drafts. But `forward_extend` then overwrites them with
the batch's own `seq_lens`, which count the committed tokens alone: the prefix comes out
`draft_token_num` tokens short, and its last tokens are never seen. 0.5.19 no longer overwrites
them. The CPU kernel is replaced by one in plain torch here.
"""

import __future__

import ast
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reproducers.calls.amx import COMMITTED, DRAFT
from reproducers.calls.amx_verify import record_errors, verify_layer
from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.checks import same
from reproducers.solutions import carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.18"
SWITCH_OFF = "Switch speculation off on CPUs"
ONE_LINE = "Take one line out"
LINE = "--device cpu --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT"


def trigger(subject: Subject) -> None:
    """Two requests of seven and five committed tokens verify a chain of four."""
    record_errors(subject)
    prefixes, error = verify_layer(subject)(0)
    subject.value("draft_token_num", DRAFT)
    subject.wrong_result(
        expected={"prefixes": COMMITTED, "relative error": 0.0},
        got={"prefixes": prefixes, "relative error": round(error, 3)},
    )


def fix(subject: Subject) -> None:
    """The same verify with the drafts added to the batch's lengths after its metadata are made."""
    prefixes, error = verify_layer(subject)(DRAFT)
    same(subject, "prefixes", prefixes, COMMITTED)
    subject.check("outputs", error < 1e-6, got=error, expected="below 1e-6 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the layer."""
    run = verify_layer(subject)

    def prefixes(added: int) -> list[int]:
        found: list[int] = expect(run(added)[0], COMMITTED)
        return found

    hold_page(
        subject,
        snippets,
        prefixes,
        cases={"as released": (0,), "drafts added": (DRAFT,), "one added": (1,)},
        error=WrongResultError,
        text=f"expected {COMMITTED}",
        rescued=((0,), COMMITTED),
        passed_on=("four",),
        names={"prefixes": prefixes, "draft_token_num": DRAFT},
    )
    short, error = run(0)
    same(subject, "short-by-the-drafts", short, [n - DRAFT for n in COMMITTED])
    subject.check("error-is-large", error > 0.05, got=round(error, 3), expected="above 0.05")
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The ways out within a release: by its own parser, and by a changed copy of its file."""

    def algorithm(line: str) -> str | None:
        found: str | None = resolved(subject, line, platform="cpu-amx")["speculative_algorithm"]
        return found

    asked: dict[str, Any] = {"line": LINE, "seen": algorithm, "before": "EAGLE", "after": None}
    tried_change(subject, snippets, SWITCH_OFF, **asked)

    def patched() -> list[int]:
        return verify_layer(subject, forward_extend=changed(subject, snippets))(0)[0]

    tried(subject, ONE_LINE, "prefixes of 7 and 5 tokens", patched, COMMITTED)
    short = [n - DRAFT for n in COMMITTED]
    tried(subject, ONE_LINE, "the same as released", lambda: verify_layer(subject)(0)[0], short)


def changed(subject: Subject, snippets: Mapping[str, str]) -> Callable[..., Any]:
    """`forward_extend` out of a copy of the backend's file that the page's code was run on."""
    module = subject.load("sglang.srt.layers.attention.intel_amx_backend")
    file = Path(tempfile.mkdtemp()) / "intel_amx_backend.py"
    shutil.copyfile(Path(str(subject.root)) / "sglang/srt/layers/attention" / file.name, file)
    before = file.read_text(encoding="utf-8")
    carried_out(snippets, ONE_LINE, file=file)
    source = file.read_text(encoding="utf-8")
    if len(before.splitlines()) - len(source.splitlines()) != 1:
        raise LookupError("the page's code does not take one line out")
    method = next(
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == "forward_extend"
    )
    text = ast.get_source_segment(source, method, padded=True) or ""
    names = dict(vars(module))
    later = __future__.annotations.compiler_flag  # as in the release's file
    code = compile(textwrap.dedent(text), str(file), "exec", flags=later)
    exec(code, names)  # noqa: S102  # the release's own method, one line shorter
    found: Callable[..., Any] = names["forward_extend"]
    return found
