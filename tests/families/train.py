"""Learns `data/families/weights.tsv` from the labelled sites.

    python -m tests.families.train

A multinomial logistic regression with a ridge penalty. What it is asked for is any of the families
that a reader accepts, the best of them a little more. Before the weights are written they are tried
on fifths of the labels that they were not learned from; the least confidence is the one that leaves
the given share of these sites without a family. The sites of `labels/unseen.tsv` are never looked
at here.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from app.scanner import families
from app.scanner.families import TAGS, site_features
from app.scanner.family_features import RULED
from app.scanner.family_weights import SCALE, WEIGHTS, Weights, weights
from app.scanner.finish import decided_by
from app.scanner.records import ScannedSite
from app.scanner.release import scan_wheel
from app.settings import load_settings
from app.wheels import fetch, parse_release
from tests.families.examples import EXAMPLES
from tests.families.labelled import FOLDER, RELEASE, found_in, labelled

RIDGE = 0.005
LEFT_OUT = 0.05
"""Share of the sites that get no family, since it would be a guess."""
SELDOM = 3
"""A feature counts if it is seen this often."""
SMALL = 8
"""Weights of less than this many fiftieths are left out."""

RULES_SAY = frozenset(f"{RULED}{tag}" for tag in TAGS)
OFTEN = 3
"""Times that a written example counts."""

Example = tuple[frozenset[str], list[str]]


def features(site: ScannedSite) -> frozenset[str]:
    """What is weighed of a scanned site."""
    return site_features(site.error_class, site.template, decided_by(site), site.kind)


def written() -> list[Example]:
    """The examples that were written down, as examples to learn from."""
    return [
        (site_features(error_class, template, [guard] if guard else [], kind), [family])
        for family, error_class, template, guard, kind in EXAMPLES
    ]


def learn(examples: Sequence[Example], least: float = 0.0) -> Weights:
    """Fit weights to examples: features and accepted families, the best first."""
    seen = Counter(name for found, _ in examples for name in found)
    names = sorted(RULES_SAY | {name for name, count in seen.items() if count >= SELDOM})
    column = {name: i for i, name in enumerate(names)}
    tag = {name: i for i, name in enumerate(TAGS)}
    best = torch.zeros(len(examples), len(TAGS))
    accepted = torch.full((len(examples), len(TAGS)), float("-inf"))
    ruled = torch.zeros(len(examples), len(TAGS))
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for i, (found, tags) in enumerate(examples):
        for rank, name in enumerate(tags):
            best[i, tag[name]] = 1.0 if len(tags) == 1 else (0.25 / (len(tags) - 1), 0.75)[not rank]
            accepted[i, tag[name]] = 0.0
        known = sorted(column[name] for name in found if name in column)
        for name in found & RULES_SAY:
            ruled[i, tag[name.removeprefix(RULED)]] = len(known) ** -0.5
        rows += [i] * len(known)
        columns += known
        values += [len(known) ** -0.5] * len(known)
    inputs = torch.sparse_coo_tensor(
        torch.tensor([rows, columns]),
        torch.tensor(values),
        (len(examples), len(names)),
        check_invariants=True,
    )
    matrix = torch.zeros(len(names), len(TAGS), requires_grad=True)
    biases = torch.zeros(len(TAGS), requires_grad=True)
    trust = torch.zeros(1, requires_grad=True)  # in what the rules say, whichever family it is
    optimizer = torch.optim.LBFGS(
        [matrix, biases, trust], max_iter=80, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logs = (torch.sparse.mm(inputs, matrix) + biases + trust * ruled).log_softmax(1)
        miss = -(best * logs).sum() - (logs + accepted).logsumexp(1).sum()
        total: torch.Tensor = (miss / 2 + RIDGE * (matrix**2).sum()) / len(examples)
        total.backward()  # type: ignore[no-untyped-call]  # torch ships without this type
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]  # torch ships without this type
    with torch.no_grad():
        for name in RULES_SAY & column.keys():
            matrix[column[name], tag[name.removeprefix(RULED)]] += trust.item()
    whole = (matrix.detach() * SCALE).round().int().tolist()
    return Weights(
        tags=TAGS,
        biases=tuple((biases.detach() * SCALE).round().int().tolist()),
        least=least,
        rows={
            name: kept
            for name, row in zip(names, whole, strict=True)
            if (kept := tuple((i, w) for i, w in enumerate(row) if abs(w) >= SMALL))
        },
    )


def held_out(examples: Sequence[tuple[str, Example]]) -> list[tuple[float, bool]]:
    """(confidence, right?) of each example, by weights learned from the other four fifths."""
    fifth = [hashlib.sha256(file.encode()).digest()[0] % 5 for file, _ in examples]
    told = []
    for part in range(5):
        rest = [e for (_, e), f in zip(examples, fifth, strict=True) if f != part]
        model = learn(rest)
        for (_, (found, tags)), f in zip(examples, fifth, strict=True):
            if f == part:
                family, confidence = model.likeliest(found)
                told.append((confidence, family in tags))
    return sorted(told, reverse=True)


def source_digest() -> str:
    """A digest of what the weights depend on: labels, features, rules, and this file."""
    here = Path(__file__).parent
    scanner = Path(families.__file__).parent
    read = [*scanner.glob("family_rules/*.py"), scanner / "cues.py", scanner / "family_features.py"]
    digest = hashlib.sha256()
    for path in [
        *sorted(read),
        FOLDER / "training.tsv",
        *(here / f for f in ("examples.py", "train.py")),
    ]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def main() -> None:
    """Learn, tell how well, and write."""
    torch.manual_seed(0)
    weights.cache_clear()
    labels = labelled("training")
    sites = found_in(scan_wheel(fetch(*parse_release(RELEASE), load_settings())).sites, labels)
    examples = [(site.file, (features(site), label.accepted)) for site, label in sites]
    print(f"{len(examples)} of {len(labels)} labelled sites found in {RELEASE}")
    ruled = [bool(found & {f"{RULED}{tag}" for tag in tags}) for _, (found, tags) in examples]
    print(f"the rules alone, on all of them: {sum(ruled) / len(ruled):.1%} right")
    told = held_out(examples)
    given = told[: round(len(told) * (1 - LEFT_OUT))]
    for name, part in (("all", told), ("all but the least sure", given)):
        print(f"held out, {name}: {sum(right for _, right in part) / len(part):.1%} right")
    learned = [example for _, example in examples] + written() * OFTEN
    model = learn(learned, least=round(given[-1][0], 3))
    model = replace(model, learned_from=source_digest())
    WEIGHTS.write_text(model.text(), encoding="utf-8")
    print(f"{len(model.rows)} features, least confidence {model.least}: {WEIGHTS}")


if __name__ == "__main__":
    main()
