"""Speculation is switched off under load, but the graph runner still counts in draft tokens.

Symptom
-------
With a patch that stops speculating above some batch size, the first plain decode ends in
`RuntimeError: The size of tensor a (160) must match the size of tensor b (10) at non-singleton
dimension 0`, raised by torch while the CUDA-graph input buffers are filled. 160 is 10 requests x 16
draft tokens.

Mechanism
---------
`CudaGraphRunner.__init__` decides once how many tokens a request has: 1, or
`speculative_num_draft_tokens` if the model runner has a speculative algorithm. Every replay slices
its input buffers by batch size x that number. A plain decode brings one token a request, and the
copy into the slice fails. What is left in `batch.spec_info` only decides whether the runner accepts
the batch at all: its hidden-state mode must be the captured one, or none. Here the runner is built
by its own `__init__`; the capture itself, which needs a GPU, is replaced.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.graph_runner import (
    DRAFT,
    REQUESTS,
    after_a_verify,
    batch,
    extend_lens_after_decode,
    graph_runner,
    record_places,
    stale,
    tree,
    verify_input,
)
from reproducers.checks import same
from reproducers.snippets import TRY_AND_EXCEPT, define, example, judge, outcome
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.6,<=0.5.12"
SIZES = f"The size of tensor a ({REQUESTS * DRAFT}) must match the size of tensor b"


def trigger(subject: Subject) -> None:
    """One verify, then a plain decode of the same ten requests with what speculation left."""
    runner = after_a_verify(subject)
    decode = batch(subject, stale(subject))
    subject.value("requests", REQUESTS)
    subject.value("speculative_num_draft_tokens", DRAFT)
    subject.value("the runner accepts the batch", bool(runner.can_run(decode)))
    runner.replay(decode)


def fix(subject: Subject) -> None:
    """The same decode without spec_info on a runner that was built without speculation."""
    speculative = after_a_verify(subject)
    cleared = outcome(lambda: speculative.replay(batch(subject, spec_info=None)))
    same(
        subject,
        "clearing-spec-info-alone",
        cleared,
        f"RuntimeError: {SIZES} ({REQUESTS}) at non-singleton dimension 0",
    )
    runner = graph_runner(subject, None)
    decode = batch(subject, spec_info=None)
    output = runner.replay(decode)
    same(subject, "the-runner-accepts-the-batch", bool(runner.can_run(decode)), True)
    same(subject, "one-token-a-request", runner.num_tokens_per_bs, 1)
    same(
        subject, "rows-returned", output.next_token_logits.flatten().tolist(), list(range(REQUESTS))
    )
    left = batch(subject, stale(subject))
    same(subject, "new-runner-alone-refuses-the-batch", bool(runner.can_run(left)), False)
    record_places(subject, speculative, runner)
    runner.replay(decode)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the runner, and what is commonly said."""
    built, plain = after_a_verify(subject), graph_runner(subject, None)
    cases = {
        "verify on the verify runner": lambda: (
            built, batch(subject, verify_input(subject), tokens=REQUESTS * DRAFT)),
        "stale decode on the verify runner": lambda: (built, batch(subject, stale(subject))),
        "cleared decode on the verify runner": lambda: (built, batch(subject, None)),
        "cleared decode on a plain runner": lambda: (plain, batch(subject, None)),
    }  # fmt: skip
    judge(subject, snippets, cases, lambda runner, forward_batch: runner.replay(forward_batch))

    guarded = define(snippets, TRY_AND_EXCEPT)
    got = guarded(built, batch(subject, stale(subject)), lambda _: "eager")
    subject.claim(TRY_AND_EXCEPT, "stale decode", "eager", got, ok=got == "eager")
    got = guarded(plain, batch(subject, None), lambda _: "eager")
    rows = len(getattr(got, "next_token_logits", []))
    subject.claim(
        TRY_AND_EXCEPT, "cleared decode", "10 rows of the graph", rows, ok=rows == REQUESTS
    )
    got = outcome(lambda: guarded(None, batch(subject, None), None))
    ok = got.startswith("AttributeError: ")
    subject.claim(TRY_AND_EXCEPT, "no runner", "another error passes through", got, ok=ok)

    def names() -> dict[str, Any]:
        return {"graph_runner": after_a_verify(subject), "plain_runner": plain,
                "decode_batch": batch(subject, stale(subject))}  # fmt: skip

    example(subject, snippets, names, RuntimeError, SIZES)

    one = outcome(lambda: built.replay(batch(subject, None, requests=1)))
    same(subject, "one-request-is-broadcast", one, "returns")
    last = bool(built.can_run(batch(subject, stale(subject, "LAST"))))
    same(subject, "hidden-mode-last-is-refused", last, False)
    same(subject, "extend-lens-is-stale", extend_lens_after_decode(subject), [7] * REQUESTS)
    came = [tree(subject, draft_tokens) for draft_tokens in (8, 16, 21, 22)]
    full = "RuntimeError: selected index k out of range"
    same(subject, "tree-holds-21-at-most", came, ["returns", "returns", "returns", full])
