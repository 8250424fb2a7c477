"""A draw of draft tokens gets seeds, but no positions.

Symptom
-------
With deterministic sampling, the first draft ends in
`ValueError: positions are required for deterministic fast_sample`.

Mechanism
---------
A seeded draw hashes (seed, position, draft step, token). The seed belongs to the request and stays
the same for its whole life; the position is what changes from token to token. Without it every
token of a request would be drawn with the same random number, so the call is refused.
"""

from collections.abc import Mapping
from types import SimpleNamespace

from reproducers.calls.page import hold_page
from reproducers.calls.sampling import draw, fast_sample, rows
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.23,<=0.5.23"
REFERENCE = True
POSITIONS = "Pass the position of each row's token"
NO_SEED = "Leave the seed out"


def trigger(subject: Subject) -> None:
    """Three rows with a seed each and no positions."""
    probs, seeds, _ = rows(subject, 3)
    subject.value("positions", None)
    draw(subject)(probs, seeds, None)


def fix(subject: Subject) -> None:
    """The same seeds with the position of each row's token."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 3)
    subject.value("positions", positions.tolist())
    tokens = sample(probs, seeds, positions)
    same(subject, "one-token-a-row", list(tokens.shape), [3])
    same(subject, "repeated", sample(probs, seeds, positions).tolist(), tokens.tolist())


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the draw."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 200)
    hold_page(
        subject,
        snippets,
        sample,
        cases={
            "seeds alone": (probs, seeds, None),
            "seeds and positions": (probs, seeds, positions),
            "neither": (probs, None, None),
            "positions alone": (probs, None, positions),
        },
        error=ValueError,
        text="positions are required for deterministic fast_sample",
        rescued=((probs, seeds, None), [200]),
        passed_on=(probs, seeds[:3], positions),
        names={"sample": sample, "probs": probs, "seeds": seeds, "positions": positions},
        seen=lambda tokens: list(tokens.shape),
    )
    solutions(subject, snippets)

    held = sample(probs, seeds, positions * 0)
    moved = sample(probs, seeds, positions * 0 + 1)
    changed = sum(x != y for x, y in zip(held.tolist(), moved.tolist(), strict=True))
    subject.check(
        "position-changes-draw", changed > 100, got=changed, expected="most of 200 differ"
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the draw itself; torch's generator is set anew."""
    sample, (probs, seeds, positions) = draw(subject), rows(subject, 200)
    names = {"probs": probs, "seeds": seeds, "forward_batch": SimpleNamespace(positions=positions)}

    def tokens(code: Mapping[str, str], title: str, generator_seed: int = 0) -> list[int]:
        subject.torch.manual_seed(generator_seed)
        left = carried_out(code, title, fast_sample=fast_sample(subject), **names)
        return list(left["tokens"].flatten().tolist())

    def apart(title: str) -> int:
        """How many of 200 tokens depend on torch's generator."""
        pairs = zip(*(tokens(snippets, title, seed) for seed in (0, 1)), strict=True)
        return sum(one != other for one, other in pairs)

    right = sample(probs, seeds, positions).tolist()
    tried(subject, POSITIONS, "200 rows", lambda: tokens(snippets, POSITIONS), right)
    tried(subject, POSITIONS, "draws that torch's generator changes", lambda: apart(POSITIONS), 0)
    forgotten = altered(snippets, POSITIONS, ", positions=forward_batch.positions", "")
    refused = "ValueError: positions are required for deterministic fast_sample"
    tried(subject, POSITIONS, "seeds alone", lambda: tokens(forgotten, POSITIONS), refused)
    changed = lambda: apart(NO_SEED) > 100  # noqa: E731  # one comparison
    tried(subject, NO_SEED, "torch's generator changes most of 200 draws", changed, expected=True)
