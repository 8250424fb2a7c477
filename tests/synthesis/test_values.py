"""Which values and words a trigger and a fix may be made of."""

from app.runs.found import Found


def test_what_a_value_is_made_equal_to_is_a_value_not_its_picture(
    found: dict[str, Found],
) -> None:
    """Both sides are unknown: one is settled, and the other gets that number, not its text."""
    result = found["rows and lines differ"]
    values = {**result["trigger"]["values"], **result["fix"]["changes"]}
    assert all(isinstance(v, int) for v in values.values()), values


def test_a_fix_is_what_the_message_names(found: dict[str, Found]) -> None:
    """Not the same word in capitals, and no word that stands for any."""
    assert found["quick is gone, use 'fast' or 'slow'"]["fix"]["changes"]["name"] in {
        "fast",
        "slow",
    }


def test_the_message_is_the_template_s_not_the_caller_s_words(found: dict[str, Found]) -> None:
    """A text that the call itself gives is another message than the one that was looked for."""
    told = next(r for r in found.values() if r["function"] == "told")
    assert told["trigger"]["message"].startswith("no cores allowed for node ")
    assert "reason" not in told["trigger"]["values"]


def test_only_the_raise_itself_counts_not_what_its_line_makes_first(
    found: dict[str, Found],
) -> None:
    """`mode.value` fails on a number: that is no trigger."""
    known = next(r for r in found.values() if r["function"] == "known")
    assert known["trigger"]["errorClass"] == "ValueError"
    assert known["trigger"]["message"].startswith("mode ")


def test_what_allocates_or_forks_is_recorded_and_the_rest_goes_on(
    found: dict[str, Found],
) -> None:
    """The file's next check is looked at all the same."""
    assert found["after"]["reason"] in {"too-slow", "died", "other-check-first"}
    assert not found["after a fork"]["fix"]
    assert found["the file's next check"]["fix"]
