"""A batch with one token a request reaches graph buffers that were captured for several.

Symptom
-------
`RuntimeError: The size of tensor a (6) must match the size of tensor b (2) at non-singleton
dimension 0`, raised by torch while the input buffers of a graph are filled.

Mechanism
---------
Buffers are sliced by the number of requests times the captured width, and the batch's tokens are
copied into that slice. A batch whose tokens are another number does not fit. The registry does not
compare: it is the graph runner that should have refused the batch, by its `spec_info`'s
`num_tokens_per_req`. A width that was never set (-1) passes that check.
"""

from collections.abc import Mapping

from reproducers.calls.graph_buffers import MAX_BS, MAX_TOKENS, WIDTH, filled_from
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


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
