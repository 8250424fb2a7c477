"""On a real release: typos, pasted messages, the published errors and what they point to."""

import random
import re
import string
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session, select

from app.db import close_engines, session
from app.loading.curated import load_curated
from app.loading.releases import load_release
from app.models import Entry
from app.scanner.release import scan_wheel
from app.scanner.templates import parse, sample
from app.search import SearchIndex, search
from app.search.documents import Document, read_documents
from app.services.related import all_related
from app.settings import Settings, load_settings
from app.wheels import Wheel, fetch, open_wheel

pytestmark = [pytest.mark.wheel, pytest.mark.xdist_group("search-release")]

RELEASES = ("0.5.18", "0.5.23")
FOLDERS = (
    "sglang/srt/arg_groups/",
    "sglang/srt/speculative/",
    "sglang/srt/kv_canary/",
    "sglang/srt/layers/attention/",
    "sglang/srt/managers/",
    "sglang/srt/server_args.py",
    "sglang/kernels/ops/kv_canary/",
    "sglang/jit_kernel/kv_canary/",
)
LINKED = (
    "Kimi-K3 DCP + DSPARK currently requires SGLANG_RAGGED_VERIFY_MODE=static",
    "--disaggregation-decode-enable-radix-cache is incompatible with speculative decoding",
    "Gemma4AssistantForCausalLM draft requires --speculative-algorithm",
    "--speculative-draft-window-size must be positive, got",
    "DFLASH speculative decoding only supports CUDA and NPU devices",
    "kv-canary: launch_canary_plan_kernels_torch_reference verify",
    "--speculative-ngram-external-sam-budget must be positive when",
    "--speculative-ngram-external-corpus-max-tokens must be positive",
    "speculative_ngram_external_sam_budget must be less than or equal",
    "kv-canary: speculative_num_draft_tokens must be non-negative, got",
)
PUBLISHED = (
    "kda-verify-exceeds-scratch-steps",
    "spec-info-unset-in-target-verify",
    "unknown-speculative-phase",
    "replayssm-spec-needs-linear-chain",
)


def part_of(whole: Wheel, folder: Path) -> Wheel:
    """A wheel with only some folders of another: quick to scan, real code."""
    path = folder / whole.path.name
    with zipfile.ZipFile(whole.path) as source, zipfile.ZipFile(path, "w") as target:
        for name in whole.names():
            if name.startswith(FOLDERS) or ".dist-info/" in name:
                target.writestr(name, source.read(name))
    return open_wheel(path)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    folder = tmp_path_factory.mktemp("releases")
    own = load_settings(
        {
            "REPROBASE_DATABASE_URL": f"sqlite:///{folder / 'catalog.db'}",
            "REPROBASE_CACHE_DIR": str(folder / "cache"),
        }
    )
    with session(own) as db:
        load_curated(db)
    for version in RELEASES:
        wheel = part_of(fetch("sglang", version, load_settings()), folder)
        scanned = scan_wheel(wheel, processes=0)
        with session(own) as db:
            load_release(db, scanned)
    yield own
    close_engines()


@pytest.fixture(scope="module")
def documents(settings: Settings) -> list[Document]:
    with session(settings) as db:
        return read_documents(db)


@pytest.fixture(scope="module")
def index(documents: list[Document]) -> SearchIndex:
    return SearchIndex.build(documents)


@pytest.fixture
def db(settings: Settings) -> Iterator[Session]:
    with session(settings) as open_session:
        yield open_session


def words_of(document: Document) -> list[str]:
    text = re.sub(r"\{[^{}]*\}", " ", document.messages[0]) if document.messages else ""
    return [w for w in dict.fromkeys(re.findall(r"[^\W_]+", text)) if len(w) > 3 and w.isalpha()]


def test_a_word_with_one_typo_finds_its_entry_among_the_first_twenty(
    index: SearchIndex, documents: list[Document]
) -> None:
    chance = random.Random(11)
    chosen = chance.sample([d for d in documents if len(words_of(d)) >= 4], 400)
    missed = []
    for document in chosen:
        words = chance.sample(words_of(document), 3)
        place = max(range(3), key=lambda i: len(words[i]))
        at = chance.randrange(1, len(words[place]))
        word = words[place]
        words[place] = chance.choice(
            [
                word[:at] + word[at + 1 :],
                word[:at] + chance.choice(string.ascii_lowercase) + word[at:],
                word[:at] + chance.choice(string.ascii_lowercase) + word[at + 1 :],
                word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :],
            ]
        )
        if document.id not in [hit.id for hit in index.search(" ".join(words)).hits]:
            missed.append((" ".join(words), document.messages[0]))
    assert len(missed) <= 0.05 * len(chosen), missed


def test_a_message_pasted_with_its_values_finds_its_entry_first(
    index: SearchIndex, documents: list[Document]
) -> None:
    chance = random.Random(12)
    chosen = chance.sample([d for d in documents if len(words_of(d)) >= 4], 400)
    missed = []
    for document in chosen:
        text = f"{document.error_class}: {sample(parse(document.messages[0]))}"
        first = index.search(text).hits[0]
        if first.id != document.id or first.way != "message":
            missed.append(text)
    assert len(missed) <= 0.02 * len(chosen), missed


def test_the_errors_that_published_pages_point_to_are_found_by_their_words(
    db: Session, settings: Settings
) -> None:
    for message in LINKED:
        first = search(db, message, settings=settings).hits[0]
        entry = db.get(Entry, first.id)
        assert entry is not None
        assert entry.template.startswith(message), message


def test_the_errors_that_published_pages_point_to_are_among_the_related_ones(
    db: Session, settings: Settings
) -> None:
    found = all_related(db, settings)
    texts = dict(db.exec(select(Entry.id, Entry.template)).all())
    shown = [
        texts[relation.id]
        for entry in db.exec(select(Entry))
        if entry.slug in PUBLISHED
        for relation in found[entry.id]
    ]
    assert [m for m in LINKED if not any(text.startswith(m) for text in shown)] == []


def test_nearly_every_entry_has_related_ones_and_none_more_than_five(
    db: Session, settings: Settings
) -> None:
    found = all_related(db, settings)
    number = len(db.exec(select(Entry.id)).all())
    assert max(map(len, found.values())) == 5
    assert len(found) >= 0.95 * number


def test_nearly_every_entry_with_words_has_a_family(documents: list[Document]) -> None:
    worded = [document for document in documents if document.messages]
    assert sum(not document.family for document in worded) <= 0.05 * len(worded)
