"""Holds everything that a page about a refused launch claims against the release's own start."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reproducers.snippets import (
    BROKEN,
    FIXED,
    TRY_AND_EXCEPT,
    TYPE_GUARD,
    VALIDATOR,
    define,
    judge,
    outcome,
)
from reproducers.upstream.subject import Subject

Options = Mapping[str, Any]
"""Flags without dashes: `{"dp_size": 2, "enable_mis": True}`."""


def hold_launch_page(
    subject: Subject,
    snippets: Mapping[str, str],
    start: Callable[[Options], dict[str, Any]],
    launch: Callable[[str], Any],
    *,
    text: str,
    cases: Mapping[str, Options],
    guard_cases: Mapping[str, Options] | None = None,
    refused: Options,
    rescued: Mapping[str, Any],
    other: Options,
) -> None:
    """Run the snippets of a page whose error is a ValueError at launch.

    Args:
        subject: what is run on; each verdict becomes a claim of the run.
        snippets: curated code by its heading.
        start: resolves options to settings, or raises.
        launch: the same for a whole line, as the example has it.
        text: what the message contains.
        cases: options that are tried, good and bad, by a name a reader understands.
        guard_cases: those that the type guard is held against, if it looks at less.
        refused: options that end in this error.
        rescued: settings that `guarded(start, refused)` comes to instead.
        other: options that are refused for another reason, which `guarded` lets through.
    """
    for section, tried in ((VALIDATOR, cases), (TYPE_GUARD, guard_cases or cases)):
        made = {name: partial(tuple, (options,)) for name, options in tried.items()}
        judge(subject, snippets, made, start, only=section)

    guarded = define(snippets, TRY_AND_EXCEPT)
    settings = guarded(start, refused)
    got = {name: settings[name] for name in rescued}
    subject.claim(TRY_AND_EXCEPT, "refused options", dict(rescued), got, ok=got == dict(rescued))
    alone, through = outcome(partial(start, other)), outcome(partial(guarded, start, other))
    kept = alone == through != "returns" and text not in alone
    subject.claim(TRY_AND_EXCEPT, "another error", f"passes through: {alone}", through, ok=kept)

    for section, wanted in ((BROKEN, f"ValueError: ...{text}..."), (FIXED, "returns")):
        came = outcome(partial(launch, snippets[section]))
        ok = came == "returns" if section == FIXED else came.startswith("ValueError: ")
        subject.claim(
            section, "as printed", wanted, came, ok=ok and (section == FIXED or text in came)
        )
