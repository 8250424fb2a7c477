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
for a small hybrid model on a simulated B200.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import QWEN3_NEXT, launch_example, line_of, resolved
from reproducers.checks import same
from reproducers.snippets import TRY_AND_EXCEPT, TYPE_GUARD, VALIDATOR, define, judge, outcome
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
CHAIN = TREE | {"speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4}


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
        "topk left out, steps given": CHAIN | {"speculative_eagle_topk": None},
        "decode backend cutedsl": CHAIN | {"linear_attn_decode_backend": "cutedsl"},
        "role prefill": CHAIN | {"disaggregation_mode": "prefill"},
        "with --enable-linear-replayssm": both,
    }
    cases = {name: lambda options=options: (options,) for name, options in lines.items()}
    judge(subject, snippets, cases, lambda options: start(subject, options), only=VALIDATOR)
    chains = {name: cases[name] for name in ("a tree", "a chain", "a tree without the flag")}
    judge(subject, snippets, chains, lambda options: start(subject, options), only=TYPE_GUARD)

    guarded = define(snippets, TRY_AND_EXCEPT)
    settings = guarded(partial(start, subject), TREE)
    kept = [settings["speculative_eagle_topk"], settings["mamba_ssm_dtype"]]
    started = "starts with the tree and without the flag"
    subject.claim(TRY_AND_EXCEPT, "a tree", started, kept, ok=kept == [4, None])
    got = outcome(lambda: guarded(partial(start, subject), lines["role prefill"]))
    ok = got == outcome(lambda: start(subject, lines["role prefill"])) != "returns"
    subject.claim(TRY_AND_EXCEPT, "role prefill", "another error passes through", got, ok=ok)

    def launch(line: str) -> Any:
        return resolved(subject, in_words_of(subject, line), model=QWEN3_NEXT)

    launch_example(subject, snippets, launch, ValueError, "requires a linear draft chain")

    asked = start(subject, CHAIN | {"speculative_num_draft_tokens": 9})
    same(subject, "draft-tokens-follow-steps", asked["speculative_num_draft_tokens"], 4)
    left_out = outcome(lambda: start(subject, lines["topk left out, steps given"]))
    subject.check("topk-left-out", left_out.startswith("TypeError: "), got=left_out)
    four = list(lines)[3:]
    passed = [name for name in four if outcome(partial(start, subject, lines[name])) == "returns"]
    same(subject, "topk-1-is-not-enough", passed, [])
    ragged = outcome(lambda: start(subject, CHAIN, ragged="compact"))
    same(subject, "ragged-mode-refused", ragged.startswith("ValueError: "), not is_0_5_16(subject))
