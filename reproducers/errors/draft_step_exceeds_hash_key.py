"""A seeded draw is asked for a step whose tokens no longer fit the 32-bit hash key.

Symptom
-------
`ValueError: draft_step and vocabulary size exceed the uint32 hash-key range:
draft_step=268435456, vocab_size=24`.

Mechanism
---------
Draft step and token share one 32-bit column of the hash, `draft_step * vocabulary + token`. From
`(draft_step + 1) * vocabulary > 2^32` on, columns would wrap around and two steps would share their
random numbers. With a vocabulary of 128k that is step 32768: far more than any draft has, so a step
of this size is a position or a counter that was passed by mistake.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.sampling import VOCABULARY, draw, fast_sample, rows
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.23,<=0.5.23"
REFERENCE = True
STEP = "Pass the step of the draft, not a position"
ANEW = "Start counting anew with each draft"
LAST = 2**32 // VOCABULARY - 1
"""The last step whose columns fit."""


def trigger(subject: Subject) -> None:
    """Step 2^28 with a vocabulary of 24."""
    probs, seeds, positions = rows(subject, 3)
    subject.value("draft_step", 2**28)
    subject.value("vocab_size", VOCABULARY)
    draw(subject)(probs, seeds, positions, 2**28)


def fix(subject: Subject) -> None:
    """The same rows at a step of a draft, and at the last one that fits."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    for name, step in (("third", 2), ("last", LAST)):
        same(subject, f"{name}-step", list(sample(probs, seeds, positions, step).shape), [3])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the draw."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    hold_page(
        subject,
        snippets,
        sample,
        cases={
            "step 2": (probs, seeds, positions, 2),
            "the last step that fits": (probs, seeds, positions, LAST),
            "one more": (probs, seeds, positions, LAST + 1),
            "one more, without seeds": (probs, None, None, LAST + 1),
        },
        error=ValueError,
        text="exceed the uint32 hash-key range",
        rescued=((probs, seeds, positions, LAST + 3), sample(probs, seeds, positions, 2).tolist()),
        passed_on=(probs, seeds, positions, -1),
        names={"sample": sample, "probs": probs, "seeds": seeds, "positions": positions,
               "step": 2, "position": 2**30},
        seen=lambda tokens: tokens.tolist(),
    )  # fmt: skip
    solutions(subject, snippets)

    same(
        subject,
        "vocabulary-counts-too",
        (LAST + 1) * VOCABULARY <= 2**32 < (LAST + 2) * VOCABULARY,
        True,
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the draw itself."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 8)
    third = sample(probs, seeds, positions, 2).tolist()
    refused = "ValueError: draft_step and vocabulary size exceed the uint32 hash-key range..."

    def drawn(code: Mapping[str, str]) -> list[int]:
        names = {"fast_sample": fast_sample(subject), "probs": probs, "seeds": seeds}
        names |= {"positions": positions, "step": 2, "position": LAST + 41}
        return list(carried_out(code, STEP, **names)["tokens"].flatten().tolist())

    swapped = altered(snippets, STEP, "draft_step=step", "draft_step=position")
    tried(subject, STEP, "the third step of a draft", lambda: drawn(snippets), third)
    tried(subject, STEP, f"position {LAST + 41} in its place", lambda: drawn(swapped), refused)

    counter = 3 * LAST + 2  # two steps into a draft of three
    begun = partial(carried_out, snippets, ANEW, counter=counter, speculative_num_steps=3)

    def counted(moved: int = 0) -> Any:
        return sample(probs, seeds, positions + moved, begun()["step"]).tolist()

    tried(subject, ANEW, "a counter over the whole request", counted, third)
    tried(subject, ANEW, "the same step of the next draft draws alike",
          lambda: counted(4) == third, expected=False)  # fmt: skip
    tried(subject, ANEW, "the counter itself", lambda: sample(probs, seeds, positions, counter),
          refused)  # fmt: skip
