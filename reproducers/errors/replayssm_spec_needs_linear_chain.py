"""Speculative replay for linear attention is switched on together with a draft tree.

Symptom
-------
The server refuses to start: `ValueError: --enable-linear-replayssm-spec requires a linear draft
chain`, with the given `--speculative-eagle-topk` at the end. In 0.5.16 the flag is called
`--enable-gdn-replayssm-spec`, and so does the message.

Mechanism
---------
Instead of a full recurrent state for each draft token, replay keeps the tokens' keys, values and
gates and rebuilds the states of a whole window at once. In that window each token sees all earlier
ones: a strictly lower triangular mask, which is a chain. In a tree a token must not see its
siblings' branches, so `--speculative-eagle-topk` above 1 is refused while arguments are resolved,
before a model is loaded. Here a launch line goes through the release's own parser and resolution
for a small hybrid model on a simulated B200. What the check keeps out is measured beside it, on the
reference in float64: a tree's nodes computed as one chain, against the recurrence along its paths.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reproducers.calls.chain_on_tree import record_errors
from reproducers.calls.launch import QWEN3_NEXT, line_of, once_each, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import BROKEN, outcome
from reproducers.solutions import code_of, swapped, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
TREE = {
    "device": "cuda",
    "speculative_algorithm": "EAGLE",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 4,
    "speculative_num_draft_tokens": 8,
    "enable_linear_replayssm_spec": True,
}
THREE = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
CHAIN = TREE | {"speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4}
NO_TOPK = "TypeError: '>' not supported between instances of 'NoneType' and 'int'"
FLAG = "ValueError: --enable-linear-replayssm-spec"
DRAFT_A_CHAIN = "Draft a chain"
KEEP_THE_TREE = "Keep the tree and drop the flag"
LEAVE_OUT = "Leave out all three of steps, topk and draft tokens"


def start(subject: Subject, options: Mapping[str, Any], ragged: str = "static") -> dict[str, Any]:
    """Resolve a launch line of these options; the settings the server would run with."""
    line = in_words_of(subject, line_of(options))
    environment = {"SGLANG_RAGGED_VERIFY_MODE": ragged}
    return resolved(subject, line, model=QWEN3_NEXT, environment=environment)


def in_words_of(subject: Subject, line: str) -> str:
    """The line with the flag as this release calls it."""
    if not is_0_5_16(subject):
        return line
    return line.replace("enable-linear-replayssm-spec", "enable-gdn-replayssm-spec")


def is_0_5_16(subject: Subject) -> bool:
    """Whether this is the release with the old name."""
    return subject.version is not None and subject.version.release == (0, 5, 16)


def trigger(subject: Subject) -> None:
    """A draft tree: four candidates a step."""
    subject.value("speculative_eagle_topk", TREE["speculative_eagle_topk"])
    start(subject, TREE)


def fix(subject: Subject) -> None:
    """The same line as a chain: one candidate a step, and steps + 1 draft tokens."""
    settings = start(subject, CHAIN)
    subject.value("speculative_eagle_topk", settings["speculative_eagle_topk"])
    for name, value in {
        "speculative_eagle_topk": 1,
        "speculative_num_steps": 3,
        "speculative_num_draft_tokens": 4,
        in_words_of(subject, "enable-linear-replayssm-spec").replace("-", "_"): True,
        "mamba_ssm_dtype": "float32",  # set along with the flag
    }.items():
        same(subject, f"resolved-{name.replace('_', '-')}", settings[name], value)
    record_errors(subject)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what published pages get wrong."""
    both = CHAIN | {
        "enable_linear_replayssm": True,
        "mamba_radix_cache_strategy": "no_buffer",
        "page_size": 1,
        "disable_overlap_schedule": True,
        "attention_backend": "triton",
    }
    alone = {k: v for k, v in TREE.items() if k != "enable_linear_replayssm_spec"}
    lines = {
        "a tree": TREE,
        "a chain": CHAIN,
        "a tree without the flag": alone,
        "all three left out": TREE | dict.fromkeys(THREE),
        "topk left out, steps given": CHAIN | {"speculative_eagle_topk": None},
        "decode backend cutedsl": CHAIN | {"linear_attn_decode_backend": "cutedsl"},
        "role prefill": CHAIN | {"disaggregation_mode": "prefill"},
        "with --enable-linear-replayssm": both,
    }
    chains = ("a tree", "a chain", "a tree without the flag")
    ask = once_each(partial(start, subject))
    launch = once_each(lambda line: resolved(subject, in_words_of(subject, line), model=QWEN3_NEXT))
    hold_launch_page(
        subject,
        snippets,
        ask,
        launch,
        text="requires a linear draft chain",
        cases=lines,
        guard_cases={name: lines[name] for name in chains},
        refused=TREE,
        rescued={"speculative_eagle_topk": 4, "mamba_ssm_dtype": None},
        other=lines["role prefill"],
    )

    solutions(subject, snippets, launch)

    asked = start(subject, CHAIN | {"speculative_num_draft_tokens": 9})
    same(subject, "draft-tokens-follow-steps", asked["speculative_num_draft_tokens"], 4)
    left_out = outcome(lambda: ask(lines["topk left out, steps given"]))
    same(subject, "topk-left-out", left_out, NO_TOPK)
    old = is_0_5_16(subject)
    said = {
        "topk left out, steps given": NO_TOPK,
        "decode backend cutedsl": in_words_of(
            subject,
            f"{FLAG} requires the {'Triton' if old else 'triton or flashinfer'} linear-attn decode "
            "backend, got --linear-attn-decode-backend='cutedsl'.",
        ),
        "role prefill": in_words_of(
            subject,
            f"{FLAG} is not supported {'under PD disaggregation' if old else 'on a PD prefill'}",
        ),
        "with --enable-linear-replayssm": in_words_of(
            subject, f"{FLAG} and --enable-linear-replayssm are mutually exclusive"
        ),
    }
    came = {name: outcome(partial(ask, lines[name])) for name in said}
    refused = all(came[name].startswith(text) for name, text in said.items())
    subject.check("topk-1-is-not-enough", refused, got=came, expected=said)
    ragged = outcome(lambda: start(subject, CHAIN, ragged="compact"))
    wanted = "returns" if old else f"{FLAG} with SGLANG_RAGGED_VERIFY_MODE=compact requires"
    subject.check("ragged-mode-refused", ragged.startswith(wanted), got=ragged, expected=wanted)


def solutions(
    subject: Subject, snippets: Mapping[str, str], launch: Callable[[str], dict[str, Any]]
) -> None:
    """Each way out of the page: its change goes into the page's own broken line, which starts."""
    flag = in_words_of(subject, "enable-linear-replayssm-spec").replace("-", "_")
    watched = (*THREE, flag)

    def start_line(line: str) -> dict[str, Any]:
        settings = launch(line)
        return {name: settings[name] for name in watched}

    refused = in_words_of(subject, f"{FLAG} requires a linear draft chain...")
    chain, tree = (3, 1, 4, True), (3, 4, 8, False)
    for title, comes_to in ((DRAFT_A_CHAIN, chain), (KEEP_THE_TREE, tree), (LEAVE_OUT, chain)):
        changed = swapped(snippets[BROKEN], code_of(snippets, title))
        tried(subject, title, "the line before", partial(start_line, snippets[BROKEN]), refused)
        expected = dict(zip(watched, comes_to, strict=True))
        tried(subject, title, "the line after", partial(start_line, changed), expected)
