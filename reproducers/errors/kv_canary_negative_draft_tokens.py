"""The KV canary is to size its buffers for a negative number of draft tokens.

Symptom
-------
A server with `--kv-canary` loads its model and then ends in `ValueError: kv-canary:
speculative_num_draft_tokens must be non-negative, got -1`.

Mechanism
---------
The canary is a debugging aid that notes what was written to each slot of the KV cache and looks
whether it is still there. Its buffers are allocated once: batch size times tokens a request, and
with speculation a request has as many tokens as there are draft tokens. Resolving arguments does
not look at the sign of that number for n-gram drafts and for trees, so the canary, which
multiplies with it, is the first to refuse it.
"""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import resolved
from reproducers.checks import same
from reproducers.snippets import TRY_AND_EXCEPT, define, example, judge, outcome
from reproducers.solutions import tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
POSITIVE = "Give a positive number of draft tokens"
LEAVE_OUT = "Leave the flag out"
NGRAM = "--device cuda --speculative-algorithm NGRAM --speculative-num-draft-tokens"


def capacities(subject: Subject, speculative_num_draft_tokens: Any) -> Any:
    """The release's own `CanaryLaunchCapacities` for 8 requests and prefills of 8 tokens."""
    from_args = subject.load("sglang.srt.kv_canary.capacities").CanaryLaunchCapacities.from_args
    context = subject.load("sglang.srt.runtime_context").get_context()
    settings = {
        "speculative_num_draft_tokens": speculative_num_draft_tokens,
        "max_prefill_tokens": 16,
        "chunked_prefill_size": 8,
    }
    sizes = {"req_to_token_pool_size": 8, "max_seq_len_per_req": 128, "pool_slot_count": 64}
    with context.override_server_args(**settings) as server_args:
        if "server_args" in inspect.signature(from_args).parameters:  # up to 0.5.18
            return from_args(server_args=server_args, **sizes)
        return from_args(**sizes)


def trigger(subject: Subject) -> None:
    """Minus one draft token."""
    subject.value("speculative_num_draft_tokens", -1)
    capacities(subject, -1)


def fix(subject: Subject) -> None:
    """The same sizes with four draft tokens."""
    found = capacities(subject, 4)
    subject.value("speculative_num_draft_tokens", 4)
    same(subject, "one-entry-a-draft-token", found.per_forward_write_entry_capacity, 8 * 4)
    same(subject, "one-row-a-request", found.per_forward_write_req_capacity, 8)
    same(subject, "three-rows-a-slot", found.per_forward_verify_capacity, 3 * 64)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the canary, and what one might believe of the number."""
    size = partial(capacities, subject)
    judge(subject, snippets, {str(n): partial(tuple, (n,)) for n in (-1, -8, 0, 1, 4, None)}, size)

    guarded = define(snippets, TRY_AND_EXCEPT)
    got = guarded(size, -1).per_forward_write_entry_capacity
    subject.claim(TRY_AND_EXCEPT, "-1", "sized without speculation: 8", got, ok=got == 8)
    got, alone = outcome(lambda: guarded(size, "4")), outcome(lambda: size("4"))
    ok = got == alone and got.startswith("TypeError: ")
    subject.claim(TRY_AND_EXCEPT, "'4'", "another error passes through", got, ok=ok)

    example(subject, snippets, lambda: {"capacities": size}, ValueError, "must be non-negative")

    solutions(subject, snippets)

    launched = resolved(subject, f"{NGRAM} -1")["speculative_num_draft_tokens"]
    same(subject, "launch-lets-it-through", launched, -1)
    zero, none = size(0), size(None)
    same(subject, "zero-is-no-speculation", zero, none)
    same(subject, "one-is-no-more-than-none", size(1), none)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: what the canary makes of the line before it and after it."""

    def entries(line: str) -> Any:
        """Entries that eight requests write in one forward, as the line's settings have it."""
        draft_tokens = resolved(subject, line)["speculative_num_draft_tokens"]
        return capacities(subject, draft_tokens).per_forward_write_entry_capacity

    asked: dict[str, Any] = {
        "line": f"{NGRAM} -1",
        "seen": entries,
        "before": "ValueError: kv-canary: speculative_num_draft_tokens must be non-negative...",
    }
    for title, after in ((POSITIVE, 8 * 4), (LEAVE_OUT, 8 * 12)):
        tried_change(subject, snippets, title, **asked, after=after)
