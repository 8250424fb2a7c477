"""A seeded draw of draft tokens is asked for a draft step below zero.

Symptom
-------
With deterministic sampling, the first draft ends in
`ValueError: draft_step must be non-negative, got -1`.

Mechanism
---------
A seeded draw turns (seed, position, draft step, token) into a random number by a hash. Step and
token share one 32-bit column, `draft_step * vocabulary + token`. A negative step would make that
column negative, and as an unsigned number it would be the column of another step: two draws would
share their randomness. So the step is checked first.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.sampling import draw, fast_sample, rows
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.23,<=0.5.23"
REFERENCE = True
EACH_STEP = "Pass the index of the draft step"
ONE_DRAW = "Leave the argument out for a single draw"


def trigger(subject: Subject) -> None:
    """Three seeded rows at step -1."""
    probs, seeds, positions = rows(subject, 3)
    subject.value("draft_step", -1)
    draw(subject)(probs, seeds, positions, -1)


def fix(subject: Subject) -> None:
    """The same rows at step 0: tokens that another run of the same seeds repeats."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    subject.value("draft_step", 0)
    tokens = sample(probs, seeds, positions, 0)
    same(subject, "one-token-a-row", list(tokens.shape), [3])
    same(subject, "repeated", sample(probs, seeds, positions, 0).tolist(), tokens.tolist())


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the draw."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 200)
    first = sample(probs, seeds, positions, 0).tolist()
    hold_page(
        subject,
        snippets,
        sample,
        cases={
            "step -1": (probs, seeds, positions, -1),
            "step 0": (probs, seeds, positions, 0),
            "step 3": (probs, seeds, positions, 3),
        },
        error=ValueError,
        text="draft_step must be non-negative, got -1",
        rescued=((probs, seeds, positions, -1), first),
        passed_on=(probs, seeds, None, -1),
        names={"sample": sample, "probs": probs, "seeds": seeds, "positions": positions, "step": 0},
        seen=lambda tokens: tokens.tolist(),
    )
    solutions(subject, snippets)

    unseeded = sample(probs, None, None, -1)
    same(subject, "only-with-a-seed", list(unseeded.shape), [200])
    second = sample(probs, seeds, positions, 1).tolist()
    other = sum(x != y for x, y in zip(first, second, strict=True))
    subject.check("steps-differ", other > 100, got=other, expected="most of 200 tokens differ")


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the draw itself."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    names = {"probs": probs, "seeds": seeds, "positions": positions, "speculative_num_steps": 3}

    def tokens(code: Mapping[str, str], title: str) -> list[int]:
        left = carried_out(code, title, fast_sample=fast_sample(subject), **names)
        return list(left["tokens"].flatten().tolist())

    first, last = (sample(probs, seeds, positions, step).tolist() for step in (0, 2))
    tried(subject, EACH_STEP, "3 steps: the last draw", lambda: tokens(snippets, EACH_STEP), last)
    early = altered(snippets, EACH_STEP, "range(", "range(-1, ")
    refused = "ValueError: draft_step must be non-negative, got -1"
    tried(subject, EACH_STEP, "a counter from -1", lambda: tokens(early, EACH_STEP), refused)
    tried(subject, ONE_DRAW, "the draw of step 0", lambda: tokens(snippets, ONE_DRAW), first)
