"""Kimi-K3 is to run with decode context parallelism and DSPARK while verify batches are ragged.

Symptom
-------
The server refuses to start: `ValueError: Kimi-K3 DCP + DSPARK currently requires
SGLANG_RAGGED_VERIFY_MODE=static; compact/cap-accept are not validated under DCP (got 'compact').`

Mechanism
---------
DSPARK may verify drafts of different lengths in one batch. The environment variable says how such a
batch is laid out: `static` pads every request to the same length, `compact` and `cap-accept` do
not. Decode context parallelism (`--dcp-size` above 1) spreads one request's cache over several
GPUs, and for Kimi-K3 that was tried with the static layout only. The model's own rules, chosen by
the architecture in `config.json`, refuse the others. Here a launch line goes through the release's
own parser and resolution on a simulated B200; flashinfer is asked only for the signature of one
function.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import LLAMA, line_of, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import BROKEN, outcome
from reproducers.solutions import tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
SET_STATIC = "Set the variable to static"
LEAVE_OUT = "Leave the variable out"
NO_DCP = "Run without DCP"
KIMI_K3 = LLAMA | {
    "architectures": ["KimiK3ForConditionalGeneration"],
    "model_type": "kimi_k3",
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
DCP = {
    "device": "cuda",
    "tp_size": 8,
    "dcp_size": 2,
    "speculative_algorithm": "DSPARK",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_draft_tokens": 8,
}
VARIABLE = "SGLANG_RAGGED_VERIFY_MODE"
STATIC, COMPACT = DCP | {VARIABLE: "static"}, DCP | {VARIABLE: "compact"}


def trtllm_batch_decode_with_kv_cache_mla(*, enable_dcp: bool = False) -> None:
    """Flashinfer's decode: asked for its signature, never called."""


def start(subject: Subject, options: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a launch line of these options; the variable is among them."""
    new = trtllm_batch_decode_with_kv_cache_mla
    subject.substitute("flashinfer.decode", new.__name__, new, why="read for its signature only")
    flags = {k: v for k, v in options.items() if k != VARIABLE}
    environment = {VARIABLE: options[VARIABLE]} if VARIABLE in options else {}
    return resolved(subject, line_of(flags), model=KIMI_K3, environment=environment)


def launch(subject: Subject, line: str) -> dict[str, Any]:
    """The same for a line on which the variable is set."""
    words = [word for word in line.split() if word.startswith(VARIABLE)]
    for word in words:
        line = line.replace(word, "")
    environment = dict(word.split("=") for word in words)
    return resolved(subject, line, model=KIMI_K3, environment=environment)


def trigger(subject: Subject) -> None:
    """Two-way decode context parallelism and the compact layout."""
    subject.value(VARIABLE, "compact")
    start(subject, COMPACT)


def fix(subject: Subject) -> None:
    """The same line with the static layout."""
    settings = start(subject, STATIC)
    subject.value(VARIABLE, "static")
    same(subject, "still-dspark", settings["speculative_algorithm"], "DSPARK")
    same(subject, "verify-on-the-decode-backend", settings["speculative_attention_mode"], "decode")
    backends = [settings["prefill_attention_backend"], settings["decode_attention_backend"]]
    same(subject, "backends-of-kimi-k3-dcp", backends, ["trtllm_mla", "cutedsl_mla"])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the layouts."""
    hold_launch_page(
        subject,
        snippets,
        partial(start, subject),
        partial(launch, subject),
        text="Kimi-K3 DCP + DSPARK currently requires",
        cases={
            "DCP, static": STATIC,
            "DCP, compact": COMPACT,
            "DCP, cap-accept": DCP | {VARIABLE: "cap-accept"},
            "DCP, variable not set": DCP,
            "no DCP, compact": COMPACT | {"dcp_size": 1},
        },
        refused=COMPACT,
        rescued={"speculative_algorithm": "DSPARK", "speculative_attention_mode": "decode"},
        other=DCP | {VARIABLE: "cap"},
    )
    solutions(subject, snippets)

    same(subject, "static-is-the-default", outcome(partial(start, subject, DCP)), "returns")
    single = COMPACT | {"dcp_size": 1}
    same(subject, "compact-without-dcp", outcome(partial(start, subject, single)), "returns")
    short = outcome(partial(start, subject, DCP | {VARIABLE: "cap"}))
    subject.check(
        "a-misspelt-mode-is-another-error", short.startswith("ValueError: inv"), got=short
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: its change goes into the page's own broken line."""

    def size_of(line: str) -> list[Any]:
        settings = launch(subject, line)
        return [settings["dcp_size"], settings["speculative_algorithm"]]

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": size_of,
        "before": "ValueError: Kimi-K3 DCP + DSPARK currently requires...",
    }
    for title, size in ((SET_STATIC, 2), (LEAVE_OUT, 2), (NO_DCP, 1)):
        after = [size, "DSPARK"]
        tried_change(subject, snippets, title, **asked, after=after)
