"""A decode server is to keep a radix cache and to speculate as well.

Symptom
-------
The decode half of a prefill/decode pair refuses to start: `ValueError:
--disaggregation-decode-enable-radix-cache is incompatible with speculative decoding
(--speculative-algorithm NGRAM)`.

Mechanism
---------
A decode server gets its prompts' keys and values from a prefill server and keeps no prefix cache
unless `--disaggregation-decode-enable-radix-cache` asks for one. A cached prefix must then be
complete in the draft's state as well, which only some algorithms provide; the others are refused.
The list of those that are allowed has grown from release to release. Here a launch line goes
through the release's own parser and resolution.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import line_of, resolved
from reproducers.calls.launch_page import hold_launch_page
from reproducers.checks import same
from reproducers.snippets import BROKEN, outcome
from reproducers.solutions import tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
NO_CACHE = "Drop the radix cache on the decode server"
NO_DRAFT = "Drop speculation"
TOGETHER = "Take a release and an algorithm that are allowed together"
NGRAM = {"device": "cuda", "speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 4}
DECODE = NGRAM | {"disaggregation_mode": "decode"}
BOTH = DECODE | {"disaggregation_decode_enable_radix_cache": True}
CACHE = {k: v for k, v in BOTH.items() if not k.startswith("speculative")}
EAGLE = BOTH | {
    "speculative_algorithm": "EAGLE",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
}
DSPARK = BOTH | {
    "speculative_algorithm": "DSPARK",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_draft_tokens": 8,
    "attention_backend": "triton",
}


def start(subject: Subject, options: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve a launch line of these options; the settings the server would run with."""
    return resolved(subject, line_of(options))


def trigger(subject: Subject) -> None:
    """A decode server with a radix cache and n-gram speculation."""
    subject.value("speculative_algorithm", "NGRAM")
    start(subject, BOTH)


def fix(subject: Subject) -> None:
    """The same line with one of the two: the cache alone, then speculation alone."""
    settings = start(subject, CACHE)
    subject.value("speculative_algorithm", settings["speculative_algorithm"])
    same(subject, "the-cache-is-on", settings["disable_radix_cache"], False)
    same(subject, "nothing-is-drafted", settings["speculative_algorithm"], None)
    settings = start(subject, DECODE)
    same(subject, "the-cache-is-off", settings["disable_radix_cache"], True)
    same(subject, "n-gram-drafts", settings["speculative_algorithm"], "NGRAM")
    same(subject, "still-decodes", settings["disaggregation_mode"], "decode")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the launch, and what one might believe of the combination."""
    hold_launch_page(
        subject,
        snippets,
        partial(start, subject),
        partial(resolved, subject),
        text="--disaggregation-decode-enable-radix-cache is incompatible with speculative decoding",
        cases={
            "cache and n-gram": BOTH,
            "n-gram alone": DECODE,
            "cache alone": CACHE,
            "both on a prefill server": BOTH | {"disaggregation_mode": "prefill"},
            "both on an undivided server": BOTH | {"disaggregation_mode": None},
        },
        refused=BOTH,
        rescued={"speculative_algorithm": "NGRAM", "disable_radix_cache": True},
        other=BOTH | {"disaggregation_transfer_backend": "fake"},
    )
    solutions(subject, snippets)

    release = subject.version.release if subject.version else ()
    allowed = [
        name
        for name, options in (("DSPARK", DSPARK), ("EAGLE", EAGLE))
        if outcome(partial(start, subject, options)) == "returns"
    ]
    both = ["DSPARK"] * (release >= (0, 5, 21)) + ["EAGLE"] * (release >= (0, 5, 23))
    same(subject, "allowed-algorithms-of-this-release", allowed, both)
    undivided = start(subject, BOTH | {"disaggregation_mode": None})
    same(subject, "other-roles-are-not-asked", undivided["speculative_algorithm"], "NGRAM")


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: its change goes into the page's own broken line."""
    refused = (
        "ValueError: --disaggregation-decode-enable-radix-cache is incompatible with speculative "
        "decoding (--speculative-algorithm {})"
    )

    def pair(line: str) -> list[Any]:
        settings = resolved(subject, line)
        return [
            "no" if settings["disable_radix_cache"] else "cache",
            settings["speculative_algorithm"],
        ]

    asked: dict[str, Any] = {
        "line": snippets[BROKEN],
        "seen": pair,
        "before": refused.format("NGRAM"),
    }
    release = subject.version.release if subject.version else ()
    dspark = ["cache", "DSPARK"] if release >= (0, 5, 21) else refused.format("DSPARK")
    for title, after in (
        (NO_CACHE, ["no", "NGRAM"]),
        (NO_DRAFT, ["cache", None]),
        (TOGETHER, dspark),
    ):
        tried_change(subject, snippets, title, **asked, after=after)
    prefill = line_of(DECODE | {"disaggregation_mode": "prefill"})
    case = "the prefill server keeps its own"
    tried(subject, NO_CACHE, case, lambda: pair(prefill), ["cache", "NGRAM"])
    for name, runs in (("EAGLE", "EAGLE"), ("EAGLE3", "EAGLE3"), ("NEXTN", "EAGLE")):
        kept = ["cache", runs] if release >= (0, 5, 23) else refused.format(name)
        line = line_of(EAGLE | {"speculative_algorithm": name})
        tried(subject, TOGETHER, f"{name} in its place", partial(pair, line), kept)
