"""A verify batch has more draft tokens than the scratch buffer has steps.

Symptom
-------
With flashinfer's KDA kernel, the first verify ends in `RuntimeError: KDA verify needs 4 scratch
steps, but intermediate_ssm only has 3.`

Mechanism
---------
Verification keeps the recurrent state after *each* draft token, so that the state of the last
accepted one can be committed. These states go into `intermediate_ssm`, whose step dimension is
fixed when `MambaPool` is built, from `speculative_num_draft_tokens` (`[layers, rows, steps, HV, V,
K]`). The verify input brings its own `draft_token_num`; the kernel wrapper refuses one that is
larger. The pool here is the release's own, and so is the wrapper; flashinfer's `recurrent_kda`,
which needs compute capability 10, is replaced by the recurrence in plain torch.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.calls.amx import verify_input
from reproducers.calls.kda import (
    DRAFT,
    REQUESTS,
    SLOTS,
    difference,
    in_chunks,
    kda_kernel,
    mamba_pool,
    state_pool,
    verify,
)
from reproducers.calls.launch import resolved
from reproducers.checks import same
from reproducers.snippets import TRY_AND_EXCEPT, Arguments, define, example, judge, outcome
from reproducers.solutions import carried_out, code_of, lines_of, swapped, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
REAL_ON_CUDA = ("triton",)  # there the pool of 0.5.23 fills its slots by a Triton kernel
ONE_NUMBER = "Size the buffer and the draft from one number"
FEWER = "Verify fewer tokens"
PLAIN = "Start without speculative decoding"
CHAIN_OF_3_STEPS = (
    "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT "
    "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 9"
)


def trigger(subject: Subject) -> None:
    """A pool for three draft tokens, a batch of four."""
    kernel, state = kda_kernel(subject), state_pool(subject, speculative_num_draft_tokens=3)
    subject.value("draft_token_num", DRAFT)
    subject.value("scratch_steps", state.intermediate_ssm.shape[1])
    verify(subject, kernel, state)


def fix(subject: Subject) -> None:
    """The same batch on a pool for four draft tokens; against the reference's chunked form."""
    torch, kernel = subject.torch, kda_kernel(subject)
    state = state_pool(subject, speculative_num_draft_tokens=DRAFT)
    state.temporal.copy_(torch.randn_like(state.temporal))
    committed = state.temporal.clone()
    subject.value("draft_token_num", DRAFT)
    subject.value("scratch_steps", state.intermediate_ssm.shape[1])
    out = verify(subject, kernel, state)[0].unflatten(0, (REQUESTS, DRAFT))
    untouched = torch.equal(state.temporal, committed)
    subject.check("committed-states-untouched", untouched)
    expected, states = in_chunks(subject, committed[SLOTS])
    same(subject, "output-shape", list(out.shape), list(expected.shape))
    last = state.intermediate_ssm[:REQUESTS, DRAFT - 1]
    for name, got, right in (("outputs", out, expected), ("last-state", last, states)):
        error = difference(got, right)
        below = "below 0.01 relative, outputs and states being bfloat16"
        subject.check(f"{name}-as-in-chunks", error < 0.01, got=error, expected=below)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel wrapper, and what published pages get wrong."""
    if subject.version is None:
        return  # the page's code takes the engine's own objects
    kernel, committed = kda_kernel(subject), state_pool(subject, DRAFT).temporal
    pools = {steps: state_pool(subject, steps).intermediate_ssm for steps in (3, 4, 6)}

    def engine(draft: int, scratch: Any, **options: Any) -> Any:
        state = SimpleNamespace(temporal=committed, intermediate_ssm=scratch)
        return verify(subject, kernel, state, draft, **options)

    cases: dict[str, Callable[[], Arguments]] = {
        "4 draft tokens, 3 steps": lambda: (4, pools[3]),
        "4 draft tokens, 4 steps": lambda: (4, pools[4]),
        "4 draft tokens, 6 steps": lambda: (4, pools[6]),
        "3 draft tokens, 3 steps": lambda: (3, pools[3]),
        "4 draft tokens, no scratch": lambda: (4, None),
    }
    judge(subject, snippets, cases, engine)

    guarded = define(snippets, TRY_AND_EXCEPT)
    got = guarded(lambda draft: engine(draft, pools[3]), 4).shape[1] // REQUESTS
    subject.claim(TRY_AND_EXCEPT, "4 draft tokens, 3 steps", "3 are verified", got, ok=got == 3)
    got = outcome(lambda: guarded(lambda draft: engine(draft, None), 4))
    ok = got.startswith("AttributeError: ")
    subject.claim(TRY_AND_EXCEPT, "no scratch", "another error passes through", got, ok=ok)

    def names() -> dict[str, Any]:
        return {
            "build_pool": lambda **options: state_pool(subject, **options),
            "verify": lambda draft, state: verify(subject, kernel, state, draft),
        }

    example(subject, snippets, names, RuntimeError, "KDA verify needs 4 scratch steps")

    solutions(subject, snippets, kernel)

    settings = resolved(subject, CHAIN_OF_3_STEPS)
    same(subject, "width-is-steps-plus-one", settings["speculative_num_draft_tokens"], 3 + 1)
    tree = outcome(lambda: engine(4, pools[3], retrieve_parent_token=SLOTS))
    early = tree.startswith("RuntimeError: FlashInfer KDA verify kernel only supports topk=1")
    subject.check("tree-is-refused-earlier", early, got=tree)
    message = outcome(lambda: engine(4, pools[3]))
    published = r'scratch steps, "\s*f?"but intermediate_ssm only has'
    same(subject, "pattern-with-quotes-matches-nothing", re.search(published, message), None)


def solutions(subject: Subject, snippets: Mapping[str, str], kernel: Any) -> None:
    """Each way out of the page, gone with the pool, the wrapper and the release's own parser."""
    pool_class, options = mamba_pool(subject)

    def verified(steps: int, draft: int) -> int:
        """Draft tokens a request that come back from a pool of so many steps."""
        out = verify(subject, kernel, state_pool(subject, steps), draft)
        return int(out.shape[1] // REQUESTS)

    def sized_by(draft: int) -> int:
        names = {"MambaPool": pool_class, "options": options}
        given = verify_input(subject, topk=1, draft_token_num=draft)
        pool = carried_out(snippets, ONE_NUMBER, verify_input=given, **names)["pool"]
        out = verify(subject, kernel, pool.mamba_cache.at_layer_idx(0), DRAFT)
        return int(out.shape[1] // REQUESTS)

    tried(subject, ONE_NUMBER, "a draft of 4, then 4 verified", lambda: sized_by(DRAFT), DRAFT)
    too_few = "RuntimeError: KDA verify needs {} scratch steps, but intermediate_ssm only has {}."
    tried(
        subject, ONE_NUMBER, "another number, 3, then 4", lambda: sized_by(3), too_few.format(4, 3)
    )

    change = code_of(snippets, FEWER)
    four = CHAIN_OF_3_STEPS.replace("--speculative-num-steps 3", "--speculative-num-steps 4")

    def width(line: str) -> int:
        return int(resolved(subject, line)["speculative_num_draft_tokens"])

    for case, line, expected in (
        ("the - line, on 4 scratch steps", four, too_few.format(5, 4)),
        ("the + line, on 4 scratch steps", swapped(four, change), 4),
    ):
        tried(subject, FEWER, case, lambda line=line: verified(4, width(line)), expected)  # type: ignore[misc]  # bound now

    def scratch_steps(draft_tokens: int | None) -> int | None:
        """Steps of the scratch buffer of a pool for so many draft tokens, as settings have them."""
        buffer = getattr(state_pool(subject, draft_tokens), "intermediate_ssm", None)
        return None if buffer is None else int(buffer.shape[1])

    before, after = lines_of(code_of(snippets, PLAIN))
    for case, line, steps in (
        ("scratch steps of the - line", before, 8),
        ("scratch steps of the + line", after, None),
    ):
        made = partial(scratch_steps, resolved(subject, line)["speculative_num_draft_tokens"])
        tried(subject, PLAIN, case, made, steps)
