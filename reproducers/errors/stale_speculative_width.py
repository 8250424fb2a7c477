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
    model_runner_of,
    record_buffers,
    record_places,
    stale,
    tree,
    verify_input,
)
from reproducers.calls.launch import resolved
from reproducers.checks import same
from reproducers.snippets import TRY_AND_EXCEPT, define, example, judge, outcome
from reproducers.solutions import carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.6,<=0.5.12"
SIZES = f"The size of tensor a ({REQUESTS * DRAFT}) must match the size of tensor b"
OTHER_RUNNER = (
    "Send the plain decode to a runner that was built without speculation, and clear `spec_info`"
)
EAGERLY = "Run the plain decode without a CUDA graph"
NO_GRAPHS = "Start without CUDA graphs"
NO_SWITCH = "Do not switch at all"


def trigger(subject: Subject) -> None:
    """One verify, then a plain decode of the same ten requests with what speculation left."""
    runner = after_a_verify(subject)
    decode = batch(subject, stale(subject))
    subject.value("requests", REQUESTS)
    subject.value("speculative_num_draft_tokens", DRAFT)
    subject.value("the runner accepts the batch", bool(runner.can_run(decode)))
    record_buffers(subject, runner, decode)
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
    record_buffers(subject, runner, decode)
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

    solutions(subject, snippets, built, plain)

    one = outcome(lambda: built.replay(batch(subject, None, requests=1)))
    same(subject, "one-request-is-broadcast", one, "returns")
    last = bool(built.can_run(batch(subject, stale(subject, "LAST"))))
    same(subject, "hidden-mode-last-is-refused", last, False)
    same(subject, "extend-lens-is-stale", extend_lens_after_decode(subject), [7] * REQUESTS)
    came = [tree(subject, draft_tokens) for draft_tokens in (8, 16, 21, 22)]
    full = "RuntimeError: selected index k out of range"
    same(subject, "tree-holds-21-at-most", came, ["returns", "returns", "returns", full])


def solutions(subject: Subject, snippets: Mapping[str, str], built: Any, plain: Any) -> None:
    """Each way out of the page, gone with the runners and with the release's own parser.

    built, plain: runners built with speculation and without.
    """
    fails = f"RuntimeError: {SIZES} ({REQUESTS})..."

    def other(runner: Any) -> int:
        names = {"forward_batch": batch(subject, stale(subject)), "plain_runner": runner}
        output = carried_out(snippets, OTHER_RUNNER, **names)["output"]
        return len(output.next_token_logits)

    tried(subject, OTHER_RUNNER, "rows of 10 requests", lambda: other(plain), REQUESTS)
    tried(subject, OTHER_RUNNER, "the verify runner in its place", lambda: other(built), fails)

    cls, model_runner = model_runner_of(subject, built)

    def eager(**names: Any) -> Any:
        model_runner.forward_decode = lambda made: cls.forward_decode(model_runner, made)
        return carried_out(snippets, EAGERLY, model_runner=model_runner, **names)["output"]

    decode = batch(subject, stale(subject))
    verify = batch(subject, verify_input(subject), tokens=REQUESTS * DRAFT)
    rows = [[token] for token in range(REQUESTS)]

    def by_graph() -> int:
        return len(eager(runner=built, forward_batch=verify).next_token_logits)

    def by_model() -> Any:
        return eager(runner=built, forward_batch=decode).tolist()

    tried(subject, EAGERLY, "stale decode: rows of the eager pass", by_model, rows)
    tried(subject, EAGERLY, "verify: rows of the graph", by_graph, REQUESTS * DRAFT)
    tried(subject, EAGERLY, "stale decode replayed", lambda: built.replay(decode), fails)

    without, limited = (code_of(snippets, title) for title in (NO_GRAPHS, NO_SWITCH))

    def graphs(line: str) -> bool:
        """Whether the release's own start of this line builds a graph runner."""
        off = resolved(subject, line, platform="h100")["disable_cuda_graph"]
        _, started = model_runner_of(subject, built, disable_cuda_graph=off)
        cls.init_device_graphs(started)
        return started.graph_runner is not None

    before, after = lines_of(without)
    tried(subject, NO_GRAPHS, "the - line builds a graph runner", lambda: graphs(before), True)
    tried(subject, NO_GRAPHS, "the + line builds a graph runner", lambda: graphs(after), False)

    settings = resolved(subject, lines_of(limited)[1], platform="h100")
    limit = settings["max_running_requests"]
    tried(subject, NO_SWITCH, "requests at once on the + line", lambda: limit, 8)
    most = batch(subject, verify_input(subject), tokens=limit * DRAFT, requests=limit)
    tried(
        subject,
        NO_SWITCH,
        "a verify of them",
        lambda: outcome(lambda: built.replay(most)),
        "returns",
    )
    by_batch = [name for name in settings if "speculative" in name and "batch" in name]
    tried(subject, NO_SWITCH, "options that switch speculation by batch size", lambda: by_batch, [])
