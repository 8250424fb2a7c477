"""A batch that no captured graph holds gets as far as choosing one.

Symptom
-------
`AssertionError: size 9 exceeds max captured bucket 8; can_run_graph should have rejected this
batch` at a replay.

Mechanism
---------
Graphs are captured for some sizes, the buckets, and a batch takes the smallest that holds it. A
batch above the largest has to run without a graph. That is decided in `can_run_graph`, before
anything is prepared; this assertion is the second line of defence, and says so.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.graph_buffers import bucket, decode_batch, decode_runner
from reproducers.calls.launch import line_of, once_each, resolved
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import carried_out, code_of, swapped, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.14,<=0.5.23"
REFERENCE = True
BUCKETS = [1, 2, 4, 8]
ASK = "Ask `can_run_graph` before `load_batch`"
LARGER = "Capture larger graphs"
FEWER = "Admit fewer requests"
NINE = {"device": "cuda", "cuda_graph_max_bs_decode": 8, "max_running_requests": 9}


def trigger(subject: Subject) -> None:
    """Nine requests for graphs of up to eight."""
    subject.value("size", 9)
    bucket(subject)(9, BUCKETS)


def fix(subject: Subject) -> None:
    """The same batch with a graph of sixteen, and sizes below."""
    pad = bucket(subject)
    same(subject, "bucket-of-9", pad(9, [*BUCKETS, 16]), 16)
    same(subject, "smaller-sizes", [pad(n, BUCKETS) for n in (1, 3, 8)], [1, 4, 8])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the choice of a bucket."""
    pad = bucket(subject)
    hold_page(
        subject,
        snippets,
        pad,
        cases={
            "9 of 8": (9, BUCKETS),
            "8 of 8": (8, BUCKETS),
            "5 of 8": (5, BUCKETS),
            "2 of [1]": (2, [1]),
        },
        error=AssertionError,
        text="size 9 exceeds max captured bucket 8; can_run_graph should have rejected this batch",
        rescued=((9, BUCKETS), None),
        passed_on=(1, []),
        names={"pad": pad, "size": 9},
    )
    if subject.version is not None:
        solutions(subject, snippets)

    unsorted = outcome(lambda: pad(8, [8, 4, 2, 1]))
    subject.check("last-is-taken-for-largest", "max captured bucket 1" in unsorted, got=unsorted)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own runner and its own parser."""
    pad, runner = bucket(subject), decode_runner(subject, BUCKETS[-1])
    refused = "AssertionError: size 9 exceeds max captured bucket 8..."

    def output(requests: int) -> str:
        names = {"runner": runner, "forward_batch": decode_batch(subject, requests)}
        names |= {"run_eagerly": lambda _batch: "eager"}
        names |= {"replay": lambda batch: f"graph of {pad(batch.batch_size, BUCKETS)}"}
        return str(carried_out(snippets, ASK, **names)["output"])

    for requests, run in ((9, "eager"), (8, "graph of 8"), (5, "graph of 8")):
        tried(subject, ASK, f"{requests} requests", partial(output, requests), run)
    tried(subject, ASK, "9 requests, not asked", lambda: pad(9, BUCKETS), refused)

    launch = once_each(partial(resolved, subject))

    def graph(line: str) -> int:
        """Graph of a decode of as many requests as the line admits at once."""
        settings = launch(line)
        graphs = settings["cuda_graph_config"]
        sizes = graphs["decode"]["bs"] if isinstance(graphs, dict) else graphs.decode.bs
        return pad(settings["max_running_requests"], sizes)

    for title, size in ((LARGER, 12), (FEWER, 8)):
        asked: dict[str, Any] = {"line": line_of(NINE), "seen": graph, "before": refused}
        tried_change(subject, snippets, title, **asked, after=size)
    old = swapped(line_of(NINE), code_of(snippets, LARGER)).replace("-max-bs-decode", "-max-bs")
    release = subject.version.release if subject.version else ()
    after = 12 if release <= (0, 5, 19) else "SystemExit: 2"
    tried(subject, LARGER, "the old name of the flag", partial(graph, old), after)
