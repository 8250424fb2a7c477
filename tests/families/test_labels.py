"""Error sites labelled by readers: how many get a family, and how many get the right one.

`labels/unseen.tsv`: 200 random sites of a release with the families that two readers gave them,
independently; they had read `data/families` and no rule. Neither the rules nor the weights were
made with them. `labels/training.tsv`: 7,000 others, which the weights were learned from. A family
is right if a reader accepts it.
"""

from collections import Counter

import pytest

from app.scanner.families import TAGS, classify
from app.scanner.family_weights import weights
from app.scanner.finish import decided_by
from app.scanner.library import Library
from app.scanner.reading import Part, read_part
from app.scanner.records import ScannedSite
from app.settings import load_settings
from app.wheels import fetch, parse_release
from tests.families.labelled import RELEASE, Labelled, found_in, labelled
from tests.families.train import source_digest

UNSEEN = labelled("unseen")
TRAINING = labelled("training")
Found = list[tuple[ScannedSite, Labelled]]


@pytest.fixture(scope="module")
def found() -> Found:
    wheel = fetch(*parse_release(RELEASE), load_settings())
    files = sorted({label.key[0] for label in UNSEEN})
    python = [file for file in files if file.endswith(".py")]
    part = Part(wheel.package, "", python, [file for file in files if file not in python])
    library = Library([name for name in wheel.names() if name.endswith(".py")], wheel.read)
    return found_in((s for a in read_part(part, library, wheel.read) for s in a.sites), UNSEEN)


def family_of(site: ScannedSite) -> str | None:
    return classify(site.error_class, site.template, decided_by(site), site.kind)


def test_there_are_two_hundred_unseen_sites_with_two_readers_each() -> None:
    assert len(UNSEEN) == 200
    assert all(len(label.readers) == 2 and all(label.readers) for label in UNSEEN)
    assert {tag for label in UNSEEN + TRAINING for tag in label.accepted} <= set(TAGS)


def test_no_unseen_site_was_learned_from() -> None:
    assert not {label.key for label in UNSEEN} & {label.key for label in TRAINING}


def test_the_weights_were_learned_from_these_labels_rules_and_features() -> None:
    assert weights().learned_from == source_digest(), "python -m tests.families.train"
    assert weights().tags == TAGS


@pytest.mark.wheel
def test_the_labelled_sites_are_in_the_release(found: Found) -> None:
    assert len(found) == len(UNSEEN)


@pytest.mark.wheel
def test_at_least_ninety_five_of_a_hundred_sites_get_a_family(found: Found) -> None:
    assert sum(family_of(site) is not None for site, _ in found) / len(found) >= 0.95


@pytest.mark.wheel
def test_at_least_eighty_eight_of_a_hundred_families_are_right(found: Found) -> None:
    given = [(tag, site, label) for site, label in found if (tag := family_of(site))]
    wrong = [
        f"{tag}, readers {label.readers}: {site.template[:80]!r}"
        for tag, site, label in given
        if tag not in label.accepted
    ]
    assert 1 - len(wrong) / len(given) >= 0.88, "\n".join(wrong)


def test_the_readers_agree_often_enough_for_their_labels_to_mean_something() -> None:
    apart = Counter(
        (label.readers[0][0], label.readers[1][0])
        for label in UNSEEN
        if not set(label.readers[0]) & set(label.readers[1])
    )
    assert apart.total() <= 0.2 * len(UNSEEN), apart
