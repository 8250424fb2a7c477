"""A CPU graph of a verify is captured on a hybrid model's backend.

Symptom
-------
`TypeError: 'NoneType' object is not subscriptable` in `_capture_metadata`, while graphs are
captured for a model with linear attention on a CPU.

Mechanism
---------
The backend keeps two tables of start locations, one for decode (a token a request) and one for
verify (all draft tokens of a request). `init_cuda_graph_state` makes both, `init_cpu_graph_state`
only the first. Capturing a verify slices the second, which is still `None`. The methods are the
release's own; what the backend's `__init__` would set is set here, without a model.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from reproducers.calls.cpu_capture import DRAFT, REQUESTS, captured
from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
NO_GRAPHS = "Do not combine speculation with CPU graphs"
MAKE = "Make the offsets with the state"
LINE = (
    "--device cpu --speculative-algorithm EAGLE --enable-torch-compile "
    "--speculative-draft-model-path DRAFT"
)
OFFSETS = list(range(0, REQUESTS * DRAFT + 1, DRAFT))


def trigger(subject: Subject) -> None:
    """Two requests of four draft tokens each."""
    subject.value("forward_mode", "TARGET_VERIFY")
    subject.value("verify offsets", None)
    captured(subject)()


def fix(subject: Subject) -> None:
    """The same capture after the verify offsets were made."""
    same(subject, "start-locations", captured(subject)(offsets=OFFSETS), OFFSETS)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the backend."""
    capture = captured(subject)
    hold_page(
        subject,
        snippets,
        capture,
        cases={
            "verify without": ("TARGET_VERIFY", None),
            "verify with": ("TARGET_VERIFY", OFFSETS),
            "decode without": ("DECODE", None),
        },
        error=TypeError,
        text="'NoneType' object is not subscriptable",
        rescued=(("TARGET_VERIFY", None), OFFSETS),
        passed_on=("EXTEND", None),
        names={"capture": capture, "requests": REQUESTS, "draft_token_num": DRAFT},
    )
    solutions(subject, snippets)

    same(subject, "decode-is-captured", capture("DECODE"), list(range(REQUESTS + 1)))


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the backend and with the release's own parser."""
    capture = captured(subject)

    def compiled(line: str) -> list[object]:
        settings = resolved(subject, line, platform="cpu-amx")
        return [settings["enable_torch_compile"], settings["speculative_algorithm"]]

    asked: dict[str, Any] = {
        "line": LINE,
        "seen": compiled,
        "before": [True, "EAGLE"],
        "after": [False, "EAGLE"],
    }
    tried_change(subject, snippets, NO_GRAPHS, **asked)

    def offsets() -> list[int]:
        backend = SimpleNamespace(device="cpu")
        sizes = {"max_num_tokens": REQUESTS * DRAFT, "max_bs": REQUESTS}
        carried_out(snippets, MAKE, self=backend, torch=subject.torch, **sizes)
        made = backend.cached_cuda_graph_verify_query_start_loc.tolist()
        return capture("TARGET_VERIFY", made)

    tried(subject, MAKE, "a verify of 2 requests of 4: start locations", offsets, OFFSETS)
    refused = "TypeError: 'NoneType' object is not subscriptable"
    tried(subject, MAKE, "the same without them", lambda: capture("TARGET_VERIFY"), refused)
