"""A replay commit leaves the state of slot 0 as it was.

Symptom
-------
Nothing is raised. The request in slot 0 writes as if its accepted tokens had never been.

Mechanism
---------
Slots at or below a null id are padding and are skipped. The null id of the KDA commit is 0 by
default, while pools number their slots from 0 and mark padding by -1. A caller that leaves the
argument out so skips a live request. The GDN commit's default is -1. This runs the release's own
Triton kernel, on a CPU in Triton's interpreter.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import apart, filled, fold, folded
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
REAL = ("triton",)
MINUS_1 = "Pass `null_block_id=-1`"
KEEP_FREE = "Keep slot 0 free"
SLOTS, ACCEPTED = [0, 3], [2, 4]


def moved(subject: Subject, states: object) -> list[int]:
    """Slots whose states are no longer what they were."""
    before = filled(subject)[0]
    return [slot for slot in range(len(before)) if bool((states[slot] != before[slot]).any())]  # type: ignore[index]  # a tensor


def trigger(subject: Subject) -> None:
    """Two requests in slots 0 and 3, with the default null id."""
    states = fold(subject)(SLOTS, ACCEPTED)
    subject.wrong_result(
        expected={"slots committed": sorted(SLOTS)},
        got={"slots committed": moved(subject, states)},
    )


def fix(subject: Subject) -> None:
    """The same requests with a null id of -1; states against the reference."""
    states = fold(subject)(SLOTS, ACCEPTED, null_block_id=-1)
    same(subject, "slots-committed", moved(subject, states), sorted(SLOTS))
    error = apart(states, folded(subject, SLOTS, ACCEPTED))
    subject.check("states", error < 1e-3, got=error, expected="below 0.001 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel."""
    commit = fold(subject)

    def slots_committed(slots: list[int], null_block_id: int = 0) -> list[int]:
        live = sorted(slot for slot in slots if slot >= 0)
        found: list[int] = expect(moved(subject, commit(slots, ACCEPTED, null_block_id)), live)
        return found

    hold_page(
        subject,
        snippets,
        slots_committed,
        cases={
            "slot 0, null id 0": ([0, 3], 0),
            "slot 0, null id -1": ([0, 3], -1),
            "slots 1 and 3, null id 0": ([1, 3], 0),
        },
        error=WrongResultError,
        text="expected [0, 3]",
        rescued=(([0, 3], 0), [0, 3]),
        passed_on=lambda: int("no number"),
        names={"slots_committed": slots_committed, "slots": SLOTS},
    )
    solutions(subject, snippets)

    padding = moved(subject, commit([-1, 3], ACCEPTED, -1))
    same(subject, "padding-stays-padding", padding, [3])


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the kernel: which slots are committed."""
    commit = fold(subject)

    def passed(code: Mapping[str, str]) -> list[int]:
        states: list[Any] = []
        names: dict[str, Any] = {"rings": (), "sizes": {}, "slots": SLOTS, "accept_lens": ACCEPTED}
        names["commit_kda_replayssm_spec"] = lambda *given, **options: states.append(
            commit(*given, **options)
        )
        carried_out(code, MINUS_1, **names)
        return moved(subject, states[0])

    tried(subject, MINUS_1, "slots 0 and 3", partial(passed, snippets), [0, 3])
    without = altered(snippets, MINUS_1, ", null_block_id=-1", "")
    tried(subject, MINUS_1, "slots 0 and 3 without it", partial(passed, without), [3])

    def shifted() -> list[int]:
        left = carried_out(snippets, KEEP_FREE, slots=[0, 2])
        return moved(subject, commit(left["slots"], ACCEPTED))

    tried(subject, KEEP_FREE, "slots 0 and 2, one further", shifted, [1, 3])
