"""What happened to entries between two releases, and where old ids lead."""

from collections.abc import Sequence

from app.scanner.history import EntryChange, Place, Telling, Words, compare, newest_ids
from app.scanner.records import ScannedSite
from tests.scanner.reading import read_files

ROWS = """
def take(n):
    if n < 0:
        raise ValueError(f"the number of rows must not be negative, got {n}")
"""


def sites(files: dict[str, str]) -> list[ScannedSite]:
    return [s for found in read_files(files).values() for s in found.sites]


def changes(old: dict[str, str], new: dict[str, str]) -> list[EntryChange]:
    before, after = sites(old), sites(new)
    return compare(places(before), places(after), telling(before), telling(after))


def places(found: Sequence[ScannedSite]) -> list[Place]:
    return [Place(s.entry_id, s.file, s.function, s.line, i) for i, s in enumerate(found)]


def telling(found: Sequence[ScannedSite]) -> Telling:
    def words(refs: Sequence[int]) -> dict[int, Words]:
        return {
            i: Words(s.error_class, s.condition or s.words, not s.condition, s.nearest)
            for i in refs
            for s in [found[i]]
        }

    return words


def statuses(old: str, new: str, path: str = "engine/a.py") -> list[str]:
    return [c.status for c in changes({"engine/a.py": old}, {path: new})]


def test_lines_that_shift_and_expressions_that_change_are_the_same() -> None:
    assert statuses(ROWS, "\n\n# more\n" + ROWS) == []
    assert statuses(ROWS, ROWS.replace("{n}", "{n!r}").replace("n < 0", "n <= -1")) == []


def test_another_file_or_function_is_a_move() -> None:
    assert statuses(ROWS, ROWS, "engine/other/b.py") == ["moved"]
    assert statuses(ROWS, ROWS.replace("take", "give")) == ["moved"]


def test_one_more_place_of_an_entry_is_no_change_to_it() -> None:
    assert statuses(ROWS, ROWS + ROWS.replace("take", "give")) == []


def test_words_that_are_alike_in_the_same_function_are_reworded() -> None:
    new = ROWS.replace("must not be negative", "cannot be negative")
    (change,) = changes({"engine/a.py": ROWS}, {"engine/a.py": new})
    (old_site,), (new_site,) = sites({"engine/a.py": ROWS}), sites({"engine/a.py": new})
    assert change == EntryChange(new_site.entry_id, "reworded", old_site.entry_id, replaced=True)


def test_words_that_are_alike_in_code_that_moved_are_reworded() -> None:
    new = ROWS.replace("must not be negative", "cannot be negative")
    assert statuses(ROWS, new, "engine/other/b.py") == ["reworded"]


def test_other_words_under_the_same_condition_are_reworded() -> None:
    new = ROWS.replace("the number of rows must not be negative, got", "negative rows: got")
    assert statuses(ROWS, new) == ["reworded"]


def test_the_same_words_of_another_class_are_followed() -> None:
    (change,) = changes(
        {"engine/a.py": ROWS}, {"engine/a.py": ROWS.replace("ValueError", "RowError")}
    )
    assert (change.status, change.replaced) == ("classChanged", True)


def test_what_has_nothing_alike_is_new_and_what_it_was_is_gone() -> None:
    new = "def other(q):\n    raise KeyError('quite another thing altogether')\n"
    assert sorted(statuses(ROWS, new)) == ["gone", "new"]


def test_an_entry_that_lives_on_elsewhere_is_not_replaced() -> None:
    both = ROWS + ROWS.replace("take", "give")
    new = both.replace("must not be negative", "cannot be negative", 1)
    (change,) = changes({"engine/a.py": both}, {"engine/a.py": new})
    assert (change.status, change.replaced) == ("reworded", False)


def test_the_order_in_which_files_are_read_does_not_matter() -> None:
    old = {f"engine/{i}.py": ROWS.replace("rows", f"rows of kind {i % 3}") for i in range(9)}
    new = {
        f"engine/{i}.py": t.replace("negative", "below zero") for i, t in enumerate(old.values())
    }
    backwards = dict(reversed(list(new.items())))
    assert changes(old, new) == changes(dict(reversed(list(old.items()))), backwards)


def change(entry: str, status: str, previous: str | None = None) -> EntryChange:
    return EntryChange(entry, status, previous, previous is not None)


def test_old_ids_lead_to_the_newest_through_every_rewording() -> None:
    steps = [[change("b", "reworded", "a")], [change("c", "classChanged", "b"), change("x", "new")]]
    assert newest_ids(steps) == {"a": "c", "b": "c"}


def test_an_entry_that_came_back_is_no_alias_any_more() -> None:
    steps = [[change("b", "reworded", "a")], [change("a", "reworded", "b")]]
    assert newest_ids(steps) == {"b": "a"}
    assert newest_ids([*steps, [change("b", "new")]]) == {}
