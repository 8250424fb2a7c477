"""Every way out that an error's page names was gone, and a run stands beside it."""

import pytest

from app.commands.running import summary
from app.models import Run
from app.runs.evidence import EVIDENCE_DIR, read_evidence
from app.services.entry_code import solution_of
from app.services.records import RunRecord
from reproducers.protocol import Request
from reproducers.protocol import Subject as Named
from reproducers.solutions import SOLUTIONS, carried_out, code_of, lines_of, swapped, tried
from reproducers.upstream.subject import Subject
from tests.reproducers.pairs import SLUGS, declared, ends, entry_file, ran

CHANGE = "- --topk 4 --tokens 8\n+ --topk 1"
NOT_RUN = "Not run here:"
"""With these words an entry file says under a solution why no run goes that way."""
UPGRADES = {"verify-attends-to-a-shorter-prefix": "0.5.19"}
"""The first release without the fault, where the page says to upgrade: a run has one release."""


@pytest.fixture
def subject() -> Subject:
    """A notebook for claims that needs no release."""
    request = Request(kind="reproducer", subject=Named(name="reference"), scratch="")
    return Subject(request, None, lambda _event: None)


def executable(slug: str) -> set[str]:
    """Titles of the solutions that do not say why they cannot be executed."""
    return {s.title for s in entry_file(slug).solutions if NOT_RUN not in s.text}


def gone(slug: str, claims: list[dict[str, object]]) -> set[str]:
    """Titles of the solutions that claims with an id of their own went."""
    given = [str(c["input"]) for c in claims if c["section"] == SOLUTIONS and c["id"]]
    titles = {s.title for s in entry_file(slug).solutions}
    return {t for t in titles if any(case.startswith(f"{t}: ") for case in given)}


@pytest.mark.parametrize("slug", SLUGS)
def test_the_evidence_of_each_release_goes_every_way_out(slug: str) -> None:
    """On each release the recorded fix holds claims for each solution, and all of them hold."""
    fixes = {
        r["subject"]: r["claims"]
        for r in read_evidence(EVIDENCE_DIR / f"{slug}.jsonl")
        if r["step"] == "fix" and r["device"] == "cpu" and r["subject"] != "reference"
    }
    assert {f"sglang=={version}" for version in declared(slug)} <= set(fixes)
    assert executable(slug)
    for subject_name, claims in fixes.items():
        assert gone(slug, claims) == executable(slug), subject_name
        assert all(c["ok"] for c in claims if c["section"] == SOLUTIONS), subject_name


@pytest.mark.parametrize("slug", SLUGS)
def test_the_page_shows_a_run_beside_each_solution(slug: str) -> None:
    """What the entry page is made of names a run, and the cases that it tried."""
    file = entry_file(slug)
    runs = [
        RunRecord.model_validate({"entry_id": slug, "id": str(number), **record})
        for number, record in enumerate(read_evidence(EVIDENCE_DIR / f"{slug}.jsonl"))
    ]
    shown = [solution_of(f"**{s.title}.** {s.text}", runs) for s in file.solutions]
    beside = {s.text: [c.input for c in s.claims] for s in shown if s.ok and s.run_id}
    assert len(beside) == len(executable(slug))
    assert all(all(cases) and cases for cases in beside.values())


@pytest.mark.wheel
@pytest.mark.parametrize(("slug", "version"), ends())
def test_every_way_out_is_gone_on_both_ends(slug: str, version: str) -> None:
    """The run itself, on the oldest and the newest release: all solutions, and all hold."""
    claims = ran(slug, version, "fix").claims
    assert gone(slug, claims) == executable(slug)
    assert [c for c in claims if c["section"] == SOLUTIONS and not c["ok"]] == []


@pytest.mark.wheel
@pytest.mark.parametrize(("slug", "version"), UPGRADES.items())
def test_the_release_to_upgrade_to_is_right(slug: str, version: str) -> None:
    """The trigger's call, on the first release that its reproducer does not declare, is right."""
    assert version not in declared(slug)
    result = ran(slug, version, "trigger")
    assert result.outcome == "wrong-result"  # what a silent trigger ends in, both values beside it
    assert not result.matched
    assert result.expected == result.got
    row = Run(
        id="r", entry_id="e", slug=slug, step="trigger", subject=f"sglang=={version}",
        outcome=result.outcome, expected=result.expected, got=result.got,
    )  # fmt: skip
    assert "gave the right result" in summary(row)


def test_no_solution_is_left_to_a_newer_release_untried() -> None:
    """Every entry that says to upgrade is tried on the release that it names."""
    said = {s for s in SLUGS if entry_file(s).facts.handling_strategy == "upgrade"}
    assert said == set(UPGRADES)


def test_a_change_takes_flags_out_of_a_line_and_puts_others_in() -> None:
    assert swapped("x --tokens 8 \\\n  --topk 4 --more", CHANGE) == "x --more --topk 1"
    assert lines_of(CHANGE) == ("--topk 4 --tokens 8", "--topk 1")


def test_a_change_of_what_the_line_does_not_say_is_refused() -> None:
    with pytest.raises(LookupError, match="--topk 4"):
        swapped("x --topk 2 --tokens 8", CHANGE)


def test_code_is_executed_as_it_is_printed_and_its_names_come_back() -> None:
    snippets = {f"{SOLUTIONS}: Add one": "n = given + 1\n", f"{SOLUTIONS}: Rest": ""}
    assert carried_out(snippets, "Add one", given=2)["n"] == 3
    for title in ("Rest", "No such"):
        with pytest.raises(LookupError, match=title):
            code_of(snippets, title)


def test_a_result_is_claimed_as_it_came_and_so_is_an_error(subject: Subject) -> None:
    tried(subject, "T", "right", lambda: 4, 4)
    tried(subject, "T", "wrong", lambda: 4, 5)
    tried(subject, "T", "refused", lambda: int("x"), "ValueError: invalid...")
    tried(subject, "T", "returned after all", lambda: int("1"), "ValueError: invalid...")
    assert [c["ok"] for c in subject.claims] == [True, False, True, False]
    assert [c["input"] for c in subject.claims][:2] == ["T: right", "T: wrong"]
    assert len({c["id"] for c in subject.claims}) == 4


def test_a_solution_is_shown_with_its_own_cases_and_one_that_fails_is_told() -> None:
    def claim(given: str, *, ok: bool = True) -> dict[str, object]:
        return {"section": SOLUTIONS, "input": given, "expected": 1, "got": 1, "ok": ok}

    run = RunRecord(id="r", entry_id="e", step="fix", subject="sglang==2.0")
    run.claims = [claim("Send less: 8 rows"), claim("Send less or wait: 9 rows"), claim("Wait")]
    less = solution_of("**Send less.** Use this.", [run])
    assert (less.ok, less.run_id, [c.input for c in less.claims]) == (True, "r", ["8 rows"])
    assert [c.input for c in solution_of("**Wait.** Or this.", [run]).claims] == [""]
    assert solution_of("**Send.** Not this.", [run]).ok is None
    run.claims.append(claim("Send less: 0 rows", ok=False))
    assert solution_of("**Send less.** Use this.", [run]).ok is False
