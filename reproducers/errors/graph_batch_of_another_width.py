"""A batch with one token a request reaches graph buffers that were captured for several.

Symptom
-------
`RuntimeError: The size of tensor a (6) must match the size of tensor b (2) at non-singleton
dimension 0`, raised by torch while the input buffers of a graph are filled.

Mechanism
---------
Buffers are sliced by the number of requests times the captured width, and the batch's tokens are
copied into that slice. A batch whose tokens are another number does not fit. The registry does not
compare: from 0.5.16 on it is the graph runner that should have refused the batch, by its
`spec_info`'s `num_tokens_per_req`. A width that was never set (-1) passes that check. Up to 0.5.15
the runner compares no widths at all.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from packaging.version import Version

from reproducers.calls.graph_admission import GraphRunner, plain_decode
from reproducers.calls.graph_buffers import MAX_BS, MAX_TOKENS, WIDTH, filled_from
from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
COMPARE = "Compare before the replay"
SET = "Set `num_tokens_per_req` on the batch's `spec_info`"
CLEAR = "Clear what speculation left, and use a graph that was captured without it"
NO_GRAPHS = "Run without graphs"
LINE = (
    "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT "
    "--speculative-num-steps 2 --speculative-eagle-topk 1 --speculative-num-draft-tokens 3"
)


def trigger(subject: Subject) -> None:
    """Two requests of one token each; the graph was captured for three tokens a request."""
    subject.value("tokens of the batch", MAX_BS)
    subject.value("places in the buffer", MAX_TOKENS)
    filled_from(subject)(MAX_BS, 1)


def fix(subject: Subject) -> None:
    """The same requests with three tokens each."""
    same(subject, "input-ids", filled_from(subject)(MAX_BS, WIDTH), list(range(1, MAX_TOKENS + 1)))


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the registry."""
    fill = filled_from(subject)
    hold_page(
        subject,
        snippets,
        fill,
        cases={
            "2 requests, 1 token each": (2, 1),
            "2 requests, 3 tokens each": (2, WIDTH),
            "1 request, 3 tokens": (1, WIDTH),
            "1 request, 2 tokens": (1, 2),
        },
        error=RuntimeError,
        text="The size of tensor a (6) must match the size of tensor b (2)",
        rescued=((2, 1), None),
        passed_on=("2", 1),
        names={"fill": fill, "requests": 2},
    )
    one = fill(1, WIDTH)
    same(subject, "a-smaller-batch-of-the-width-fits", one, [1, 2, 3, 0, 0, 0])
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's runner, registry and parser."""
    verifying, plain = GraphRunner(subject, WIDTH), GraphRunner(subject, 1)
    decoded, fails = [1, 2], "RuntimeError: The size of tensor a (6) must match the size of..."

    def left(code: Mapping[str, str], title: str, **names: Any) -> dict[str, Any]:
        return carried_out(code, title, run_without_graph=lambda _batch: "eager", **names)

    def compared(runner: GraphRunner) -> Any:
        names = {"runner": runner, "captured_width": runner.width}
        return left(snippets, COMPARE, forward_batch=plain_decode(subject, -1), **names)["output"]

    tried(subject, COMPARE, "a plain decode, a graph of 3", partial(compared, verifying), "eager")
    tried(subject, COMPARE, "a plain decode, a graph of 1", partial(compared, plain), decoded)
    unasked = partial(verifying.replay, plain_decode(subject, -1))
    tried(subject, COMPARE, "not compared, a graph of 3", unasked, fails)

    def told() -> Any:
        batch = plain_decode(subject, -1)
        names = {"spec_info": batch.spec_info, "tokens": batch.input_ids}
        left(snippets, SET, batch_size=batch.batch_size, **names)
        return verifying.run(batch)

    compares = subject.version is not None and subject.version >= Version("0.5.16")
    case = "a plain decode, a graph of 3" + ("" if compares else " (this release does not compare)")
    tried(subject, SET, case, told, "eager" if compares else fails)
    unset = partial(verifying.run, plain_decode(subject, -1))
    tried(subject, SET, "the same, left unset", unset, fails)

    def cleared(code: Mapping[str, str], runner: GraphRunner) -> Any:
        names = {"forward_batch": plain_decode(subject, WIDTH), "plain_runner": runner}
        batch = left(code, CLEAR, **names)["forward_batch"]
        return runner.run(batch)

    kept = altered(snippets, CLEAR, "forward_batch.spec_info = None", "")
    tried(subject, CLEAR, "a graph of 1", partial(cleared, snippets, plain), decoded)
    tried(subject, CLEAR, "a graph of 1, not cleared", partial(cleared, kept, plain), "eager")
    tried(subject, CLEAR, "cleared, the graph of 3", partial(cleared, snippets, verifying), fails)

    def captures(line: str) -> bool:
        """Whether decode graphs are captured for this line."""
        settings = resolved(subject, line, platform="h100")
        graphs = settings.get("cuda_graph_config")
        if graphs is None:
            return not settings["disable_cuda_graph"]
        decode = graphs["decode"] if isinstance(graphs, dict) else graphs.decode
        backend = decode["backend"] if isinstance(decode, dict) else decode.backend
        return bool(backend != "disabled")

    asked: dict[str, Any] = {"line": LINE, "seen": captures, "before": True, "after": False}
    tried_change(subject, snippets, NO_GRAPHS, **asked)
