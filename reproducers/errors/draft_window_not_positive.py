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

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import line_of, once_each, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import BROKEN, outcome
from reproducers.solutions import tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
NO_FLAG = "Leave the flag out"
POSITIVE = "Give a positive window"
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
    ask = once_each(partial(start, subject))
    launch = once_each(partial(resolved, subject))
    hold_launch_page(
        subject,
        snippets,
        ask,
        launch,
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
    solutions(subject, snippets, launch)

    alone = {"device": "cuda", "speculative_draft_window_size": 0}
    got = outcome(partial(ask, alone))
    refused = "ValueError: --speculative-draft-window-size must be positive, got 0."
    same(subject, "checked-without-speculation", got, refused)
    huge = start(subject, WINDOW | {"speculative_draft_window_size": 10**9})
    same(subject, "no-upper-bound", huge["speculative_draft_window_size"], 10**9)
    default = ask(NO_WINDOW)["speculative_draft_window_size"]
    same(subject, "no-window-is-none", default, None)


def solutions(
    subject: Subject, snippets: Mapping[str, str], launch: Callable[[str], dict[str, Any]]
) -> None:
    """Each way out of the page: its change goes into the page's own broken line."""

    def window(line: str) -> list[Any]:
        settings = launch(line)
        return [settings["speculative_draft_window_size"], settings["speculative_algorithm"]]

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": window,
        "before": "ValueError: --speculative-draft-window-size must be positive, got 0.",
    }
    for title, after in ((NO_FLAG, [None, "EAGLE3"]), (POSITIVE, [512, "EAGLE3"])):
        tried_change(subject, snippets, title, **asked, after=after)
    unused = partial(window, line_of(WINDOW | {"speculative_algorithm": "STANDALONE"}))
    tried(subject, POSITIVE, "STANDALONE, which does not use it", unused, [512, "STANDALONE"])
    block = {"device": "cuda", "speculative_algorithm": "DFLASH"}
    block |= {"speculative_draft_model_path": "DRAFT", "speculative_num_draft_tokens": "8"}
    short = (
        "ValueError: --speculative-draft-window-size must be >= --speculative-num-draft-tokens..."
    )
    for size, came in ((8, [8, "DFLASH"]), (7, short)):
        line = line_of(block | {"speculative_draft_window_size": size})
        case = f"DFLASH with a block of 8 and a window of {size}"
        tried(subject, POSITIVE, case, partial(window, line), came)
