"""A seeded draw gets another number of seeds than it has rows of probabilities.

Symptom
-------
`ValueError: sampling_seed must have one value per probability row, got 2 seeds for 3 rows` when
draft tokens are drawn with deterministic sampling.

Mechanism
---------
Every row of `probs` is one draw and needs a seed of its own. Seeds and positions agree with each
other here; it is the probabilities that have more or fewer rows: several beams a request, or rows
that were dropped from one side only.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.sampling import draw, rows
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.23,<=0.5.23"
REFERENCE = True
REPEAT = "Repeat seeds and positions for each beam"
SELECT = "Select all three by the same index"
BEAMS = 2


def trigger(subject: Subject) -> None:
    """Three rows of probabilities, seeds and positions of two."""
    probs, seeds, positions = rows(subject, 3)
    subject.value("rows", 3)
    subject.value("seeds", 2)
    draw(subject)(probs, seeds[:2], positions[:2])


def fix(subject: Subject) -> None:
    """Each row with its own seed."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    same(subject, "one-token-a-row", list(sample(probs, seeds, positions).shape), [3])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the draw."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 4)
    repeated = (probs, seeds[:2].repeat_interleave(BEAMS), positions[:2].repeat_interleave(BEAMS))
    hold_page(
        subject,
        snippets,
        sample,
        cases={
            "4 rows, 2 seeds": (probs, seeds[:2], positions[:2]),
            "4 rows, 4 seeds": (probs, seeds, positions),
            "3 rows, 4 seeds": (probs[:3], seeds, positions),
            "neither": (probs, None, None),
        },
        error=ValueError,
        text="sampling_seed must have one value per probability row",
        rescued=((probs, seeds[:2], positions[:2]), sample(*repeated).tolist()),
        passed_on=(probs, seeds, None),
        names={"sample": sample, "probs": probs, "seeds": seeds[:2], "positions": positions[:2],
               "topk": BEAMS},
        seen=lambda tokens: tokens.tolist(),
    )  # fmt: skip
    solutions(subject, snippets)

    alike = probs[:1].expand(4, -1)
    tokens = sample(alike, *repeated[1:]).tolist()
    same(subject, "beams-of-a-seed-draw-alike", tokens[0::2], tokens[1::2])


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the draw itself."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 4)
    refused = "ValueError: sampling_seed must have one value per probability row..."

    def drawn(code: Mapping[str, str], title: str, **names: Any) -> list[int]:
        left = carried_out(code, title, **names)
        return list(sample(left["probs"], left["seeds"], left["positions"]).tolist())

    two = {"probs": probs, "seeds": seeds[:2], "positions": positions[:2]}
    repeated = [x[:2].repeat_interleave(BEAMS) for x in (seeds, positions)]
    right = sample(probs, *repeated).tolist()
    drawn_twice = partial(drawn, snippets, REPEAT, **two, topk=BEAMS)
    tried(subject, REPEAT, "4 rows, 2 seeds", drawn_twice, right)
    alone = partial(drawn, snippets, REPEAT, **two, topk=1)
    tried(subject, REPEAT, "4 rows, 2 seeds, a topk of 1", alone, refused)

    four = {"probs": probs, "seeds": seeds, "positions": positions, "rows": [2, 0]}
    right = [sample(probs, seeds, positions).tolist()[row] for row in four["rows"]]
    tried(subject, SELECT, "rows 2 and 0 of 4", partial(drawn, snippets, SELECT, **four), right)
    forgotten = altered(snippets, SELECT, "probs[rows]", "probs")
    kept = partial(drawn, forgotten, SELECT, **four)
    tried(subject, SELECT, "probabilities not selected", kept, refused)
