"""The draft model's attention window is zero or less.

Symptom
-------
The server refuses to start: `ValueError: --speculative-draft-window-size must be positive, got 0.`

Mechanism
---------
The window says how many of the last tokens the *draft* model attends to; the target model always
sees everything. The number is checked once while arguments are resolved, whatever the algorithm
and even if there is none: `None`, the default, is no window, and zero is a window that sees
nothing. Here a launch line goes through the release's own parser and resolution.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import line_of, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
NO_WINDOW = {
    "device": "cuda",
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
}
EMPTY = NO_WINDOW | {"speculative_draft_window_size": 0}
WINDOW = NO_WINDOW | {"speculative_draft_window_size": 512}


def start(subject: Subject, options: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a launch line of these options; the settings the server would run with."""
    return resolved(subject, line_of(options))


def trigger(subject: Subject) -> None:
    """A window of no tokens."""
    subject.value("speculative_draft_window_size", 0)
    start(subject, EMPTY)


def fix(subject: Subject) -> None:
    """The same line with a window of 512 tokens."""
    settings = start(subject, WINDOW)
    subject.value("speculative_draft_window_size", settings["speculative_draft_window_size"])
    same(subject, "resolved-window", settings["speculative_draft_window_size"], 512)
    same(subject, "resolved-algorithm", settings["speculative_algorithm"], "EAGLE3")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the window."""
    hold_launch_page(
        subject,
        snippets,
        partial(start, subject),
        partial(resolved, subject),
        text="--speculative-draft-window-size must be positive",
        cases={
            "window 0": EMPTY,
            "window -1": EMPTY | {"speculative_draft_window_size": -1},
            "window 1": EMPTY | {"speculative_draft_window_size": 1},
            "window 512": WINDOW,
            "no window": NO_WINDOW,
        },
        refused=EMPTY,
        rescued={"speculative_draft_window_size": None},
        other=WINDOW | {"speculative_algorithm": "NOSUCH"},
    )
    alone = {"device": "cuda", "speculative_draft_window_size": 0}
    got = outcome(partial(start, subject, alone))
    refused = "ValueError: --speculative-draft-window-size must be positive, got 0."
    same(subject, "checked-without-speculation", got, refused)
    huge = start(subject, WINDOW | {"speculative_draft_window_size": 10**9})
    same(subject, "no-upper-bound", huge["speculative_draft_window_size"], 10**9)
    default = start(subject, NO_WINDOW)["speculative_draft_window_size"]
    same(subject, "no-window-is-none", default, None)
