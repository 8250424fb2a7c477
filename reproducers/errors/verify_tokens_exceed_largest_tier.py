"""A ragged verify batch has more tokens than the largest captured graph.

Symptom
-------
`ValueError: total 9 exceeds max grid tier 8; the caller must reject this batch before selecting a
graph tier`.

Mechanism
---------
Graphs are captured for some token counts, the tiers of a grid. A batch takes the smallest tier that
holds it. Above the largest there is none; such a batch has to run without a graph, and whether it
does is decided before, in `can_run_graph`. Reaching this line means that the decision was left out.
"""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.calls.ragged import planned, ragged_verify
from reproducers.checks import same
from reproducers.solutions import carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
ASK = "Ask before choosing"
LARGER = "Capture larger graphs"
FEWER = "Admit fewer requests"
DSPARK = (
    "--device cuda --speculative-algorithm DSPARK --speculative-draft-model-path DRAFT "
    "--speculative-num-draft-tokens 4 --cuda-graph-max-bs-decode 2 --max-running-requests 3"
)


def trigger(subject: Subject) -> None:
    """Nine tokens for graphs of four and eight."""
    subject.value("total", 9)
    subject.value("grid", [4, 8])
    planned(subject)([4, 5], [4, 8])


def fix(subject: Subject) -> None:
    """The same batch with a graph of sixteen tokens captured as well."""
    layout = planned(subject)([4, 5], [4, 8, 16])
    same(subject, "tier", layout.graph_num_tokens, 16)
    same(subject, "tokens", layout.total_verify_tokens, 9)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the choice of a tier."""
    choose = ragged_verify(subject).round_up_grid
    hold_page(
        subject,
        snippets,
        choose,
        cases={
            "9 of [4, 8]": (9, [4, 8]),
            "8 of [4, 8]": (8, [4, 8]),
            "1 of [4, 8]": (1, [4, 8]),
            "17 of [16]": (17, [16]),
        },
        error=ValueError,
        text="total 9 exceeds max grid tier 8",
        rescued=((9, [4, 8]), None),
        passed_on=(9, []),
        names={"choose": choose, "total": 9},
    )
    solutions(subject, snippets)

    same(
        subject,
        "smallest-that-holds",
        [choose(n, [4, 8, 16]) for n in (1, 4, 5, 16)],
        [4, 4, 8, 16],
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the choice of a tier and the release's own parser."""
    choose = ragged_verify(subject).round_up_grid

    def output(total: int) -> str:
        names = {"grid": [4, 8], "total": total, "batch": None, "round_up_grid": choose}
        names |= {"run_without_graph": lambda _batch: "eager"}
        names |= {"run_graph": lambda _batch, tier: f"graph of {tier}"}
        return str(carried_out(snippets, ASK, **names)["output"])

    for total, run in ((9, "eager"), (5, "graph of 8")):
        tried(subject, ASK, f"{total} of [4, 8]", partial(output, total), run)
    refused = "ValueError: total 9 exceeds max grid tier 8..."
    tried(subject, ASK, "9 of [4, 8], not asked", lambda: choose(9, [4, 8]), refused)
    if subject.version is None:
        return  # the reference has no launch line

    runner = subject.load("sglang.srt.model_executor.runner.decode_cuda_graph_runner")
    buckets = runner.DecodeCudaGraphRunner._build_ragged_verify_token_buckets  # noqa: SLF001  # where tiers come from

    def tier(line: str) -> int:
        """Tier of a verify by as many requests as the line admits at once."""
        settings = resolved(subject, line)
        width = settings["speculative_num_draft_tokens"]
        graphs = settings["cuda_graph_config"]
        sizes = graphs["decode"]["bs"] if isinstance(graphs, dict) else graphs.decode.bs
        sized = SimpleNamespace(capture_bs=sizes, captured_req_width=width)
        why = "of a runner the batch sizes that it captures and the tokens of a request"
        subject.in_place_of("DecodeCudaGraphRunner", sized, why=why)
        return int(choose(settings["max_running_requests"] * width, buckets(sized)))

    refused = "ValueError: total 12 exceeds max grid tier 8..."
    for title, after in ((LARGER, 12), (FEWER, 8)):
        asked: dict[str, Any] = {"line": DSPARK, "seen": tier, "before": refused}
        tried_change(subject, snippets, title, **asked, after=after)
