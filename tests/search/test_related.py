"""Related entries: who is near whom, why, and always the same."""

import json
import random
import time

import pytest
from sqlmodel import Session

from app.db import touch
from app.models import Explanation
from app.services import related as related_module
from app.services.related import all_related, related_of
from app.services.relating import MOST, Relation, Stand, relate, variables_of
from app.settings import Settings


def stand(number: int, **differently: object) -> Stand:
    facts = {
        "id": f"e{number:03}", "package": "sglang", "family": "", "file": f"srt/f{number}.py",
        "function": f"f{number}", "line": 10 * number, "variables": (),
    }  # fmt: skip
    return Stand(**{**facts, **differently})  # type: ignore[arg-type]  # a test's shorthand


def ids(relations: list[Relation]) -> list[str]:
    return [relation.id for relation in relations]


def test_the_same_function_comes_before_the_same_variable_and_the_same_family() -> None:
    me = stand(1, file="a/x.py", function="f", family="timeout", variables=("topk_width",))
    stands = [
        me,
        stand(2, file="a/x.py", function="f", line=12),
        stand(3, variables=("topk_width",)),
        stand(4, file="a/x.py", function="g", family="timeout", line=900),
        stand(5, file="a/y.py", function="h", family="timeout"),
        stand(6, file="b/z.py", function="h", family="timeout"),
        stand(7, package="torch", variables=("topk_width",)),
        *[stand(i) for i in range(100, 300)],
    ]
    found = relate(stands, {})["e001"]
    assert ids(found) == ["e002", "e003", "e004", "e005"]
    assert [r.why for r in found] == [
        "same function", "same variable: topk_width", "same family in this file",
        "same family nearby",
    ]  # fmt: skip


def test_nearer_lines_of_a_function_come_first_and_five_are_enough() -> None:
    stands = [stand(i, file="x.py", function="f", line=i) for i in range(40)]
    found = relate(stands, {})["e020"]
    assert ids(found) == ["e019", "e021", "e018", "e022", "e017"]
    assert len(found) == MOST


def test_a_rare_variable_says_more_than_a_frequent_one_and_a_common_one_nothing() -> None:
    rare = [
        stand(1, variables=("rare_name", "often", "common")),
        stand(2, variables=("rare_name",)),
    ]
    often = [stand(i, variables=("often",)) for i in range(3, 20)]
    common = [stand(i, variables=("common",)) for i in range(20, 120)]
    found = relate([*rare, *often, *common], {})["e001"]
    assert found[0] == Relation("e002", "same variable: rare_name")
    assert {r.why for r in found[1:]} == {"same variable: often"}


def test_what_the_author_named_comes_first_in_his_order() -> None:
    stands = [stand(i, file="x.py", function="f", line=i) for i in range(8)]
    named = {"e000": ["e007", "e006", "e000"], "unscanned": ["e001"]}
    found = relate(stands, named)
    assert ids(found["e000"]) == ["e007", "e006", "e001", "e002", "e003"]
    assert found["e000"][0].why == "named by its author"
    assert ids(found["unscanned"]) == ["e001"]


def test_nothing_is_related_to_an_entry_without_words_but_it_is_to_others() -> None:
    stands = [
        stand(1, file="x.py", function="f", line=1, worded=False),
        stand(2, file="x.py", function="f", line=2),
        stand(3, file="x.py", function="f", line=3),
    ]
    found = relate(stands, {})
    assert ids(found["e001"]) == ["e002", "e003"]
    assert ids(found["e002"]) == ["e003"]


def test_an_entry_with_nothing_near_it_has_none() -> None:
    assert relate([stand(1), stand(2)], {}) == {}
    assert relate([], {}) == {}


def test_the_order_in_which_entries_come_does_not_matter() -> None:
    chance = random.Random(3)
    stands = [
        stand(
            i,
            file=f"d{i % 4}/f{i % 9}.py",
            function=f"g{i % 17}",
            line=chance.randrange(500),
            family=chance.choice(["timeout", "duplicate", ""]),
            variables=tuple(chance.sample(["alpha", "beta_", "gamma", "delta"], 2)),
        )
        for i in range(200)
    ]
    expected = relate(stands, {})
    chance.shuffle(stands)
    assert relate(stands, {}) == expected
    assert all(entry not in ids(found) for entry, found in expected.items())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("self.topk > cfg.max_topk", ("topk", "max_topk")),
        ("not isinstance(draft_tokens, list)", ("draft_tokens",)),
        ("phase not in ('draft_extend', 'verify')", ("phase",)),
        ("x is None or len(n) == 0", ()),
        ("MAX_WIDTH < width", ("width",)),
        ("forward_batch.spec_info.draft_token_num", ("draft_token_num",)),
    ],
)
def test_the_variables_of_a_guard_are_its_last_names(text: str, names: tuple[str, ...]) -> None:
    assert variables_of([text]) == names


def test_a_whole_catalog_takes_a_few_seconds_at_most() -> None:
    stands = [
        stand(i, file=f"d/f{i // 15}.py", function=f"g{i // 4}", family=f"family-{i % 30}",
              variables=(f"name_{i % 900}", f"other_{i % 2_000}"))
        for i in range(20_000)
    ]  # fmt: skip
    start = time.process_time()
    relate(stands, {})
    assert time.process_time() - start < 6


def test_related_entries_come_from_the_database_and_literal_messages_are_found(
    db: Session, settings: Settings
) -> None:
    found = related_of(db, "stays", settings)
    assert [(r.id, r.why) for r in found][:2] == [
        ("new", "named by its author"), ("gone", "same function"),
    ]  # fmt: skip
    assert found[0].error_message == "top_k must be positive, got {top_k}"
    assert "wordless" not in {r.id for r in found}
    assert related_of(db, "wordless", settings)
    assert related_of(db, "no-such-entry", settings) == []


def test_relations_are_kept_for_a_state_of_the_catalog_and_computed_anew_after(
    db: Session, settings: Settings
) -> None:
    related_module._known.clear()
    first = all_related(db, settings)
    (kept,) = settings.index_dir.glob("related-*.json")
    related_module._known.clear()
    assert all_related(db, settings) == first
    kept.write_text("[[], 3]")
    related_module._known.clear()
    assert all_related(db, settings) == first
    assert json.loads(kept.read_text())[0]
    row = db.get(Explanation, "unknown-phase")
    assert row is not None
    row.content = {"facts": {"related": ["gone"]}}
    db.add(row)
    touch(db)
    db.flush()
    assert ids(all_related(db, settings)["stays"])[0] == "gone"
    assert len(list(settings.index_dir.glob("related-*.json"))) == 1
