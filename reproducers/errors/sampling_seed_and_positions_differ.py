"""A seeded draw gets another number of positions than of seeds.

Symptom
-------
`ValueError: sampling_seed and positions must have matching shapes, got torch.Size([3]) and
torch.Size([2])` when draft tokens are drawn with deterministic sampling.

Mechanism
---------
Seed and position of a row are hashed together, pair by pair. torch would broadcast one against the
other where it can, and give rows the randomness of another row; so the shapes must be equal, a
trailing dimension of 1 included.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.sampling import draw, fast_sample, rows
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.23,<=0.5.23"
REFERENCE = True
SAME_ROWS = "Take both from the same rows"
REPEAT = "Repeat the seed for each beam"
FLATTEN = "Flatten positions"


def trigger(subject: Subject) -> None:
    """Three seeds, two positions."""
    probs, seeds, positions = rows(subject, 3)
    subject.value("seeds", list(seeds.shape))
    subject.value("positions", list(positions[:2].shape))
    draw(subject)(probs, seeds, positions[:2])


def fix(subject: Subject) -> None:
    """The same seeds, each with its position."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    tokens = sample(probs, seeds, positions)
    same(subject, "one-token-a-row", list(tokens.shape), [3])
    alone = [
        int(sample(probs[i : i + 1], seeds[i : i + 1], positions[i : i + 1])) for i in range(3)
    ]
    same(subject, "rows-do-not-mix", alone, tokens.tolist())


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the draw."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    hold_page(
        subject,
        snippets,
        sample,
        cases={
            "3 seeds, 2 positions": (probs, seeds, positions[:2]),
            "3 seeds, 3 positions": (probs, seeds, positions),
            "3 seeds, 1 position": (probs, seeds, positions[:1]),
            "3 seeds, positions [3, 1]": (probs, seeds, positions[:, None]),
            "neither": (probs, None, None),
        },
        error=ValueError,
        text="sampling_seed and positions must have matching shapes",
        rescued=((probs, seeds, positions[:, None]), sample(probs, seeds, positions).tolist()),
        passed_on=(probs, seeds, None),
        names={"sample": sample, "probs": probs, "seeds": seeds, "positions": positions},
        seen=lambda tokens: tokens.tolist(),
    )
    solutions(subject, snippets)

    try:
        sample(probs, seeds, positions[:1])
        got = "returns"
    except ValueError as error:
        got = str(error)
    subject.check("no-broadcast", "matching shapes" in got, got=got)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the draw itself."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 4)
    all_four = sample(probs, seeds, positions).tolist()
    refused = "ValueError: sampling_seed and positions must have matching shapes..."

    def selected(code: Mapping[str, str]) -> list[int]:
        names = {"fast_sample": fast_sample(subject), "select_index": [2, 0]}
        names |= {"probs": probs, "seeds": seeds, "positions": positions}
        return list(carried_out(code, SAME_ROWS, **names)["tokens"].flatten().tolist())

    tried(subject, SAME_ROWS, "rows 2 and 0 of 4", lambda: selected(snippets),
          [all_four[2], all_four[0]])  # fmt: skip
    forgotten = altered(snippets, SAME_ROWS, "positions[rows]", "positions")
    tried(subject, SAME_ROWS, "positions not selected", lambda: selected(forgotten), refused)

    def drawn(title: str | None, **names: Any) -> list[int]:
        left = carried_out(snippets, title, **names) if title else names
        return list(sample(probs, left["seeds"], left["positions"]).tolist())

    two = {"seeds": seeds[:2], "positions": positions, "topk": 2}
    repeated = sample(probs, seeds[:2].repeat_interleave(2), positions).tolist()
    tall = {"seeds": seeds, "positions": positions[:, None]}
    for title, case, names, right in (
        (REPEAT, "2 seeds, 4 positions", two, repeated),
        (FLATTEN, "positions [4, 1]", tall, all_four),
    ):
        tried(subject, title, case, partial(drawn, title, **names), right)
        tried(subject, title, f"{case}, without it", partial(drawn, None, **names), refused)
