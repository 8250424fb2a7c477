"""A request that accepted no token commits the state of a node it did not accept.

Symptom
-------
Nothing is raised. With linear attention the output of a request goes astray after a verify, and the
same prompt without speculation is fine.

Mechanism
---------
After a verify the state of the last accepted node is committed. Its step is looked up in the
accepted nodes at `accept_lens - 1`. The bonus token makes `accept_lens` at least 1; a 0 becomes -1,
and in torch that is the last column. There stands -1, which becomes a negative step, or a node that
was accepted earlier or not at all. No check is in the way.
"""

from collections.abc import Mapping
from functools import partial

from reproducers.calls.commit_steps import ACCEPT_INDEX, NODES, committed_steps
from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
COUNT = "Count the bonus token"
RAISE = "Raise a 0 to 1"


def right_steps(accept_lens: list[int]) -> list[int | None]:
    """Step of each request's last accepted node; None where nothing was accepted."""
    return [
        nodes[n - 1] - b * NODES if n else None
        for b, (nodes, n) in enumerate(zip(ACCEPT_INDEX, accept_lens, strict=True))
    ]


def trigger(subject: Subject) -> None:
    """Two requests; the second accepted nothing, not even the bonus token."""
    subject.value("accept_lens", [1, 0])
    got = committed_steps(subject)([1, 0])
    subject.wrong_result(expected=right_steps([1, 0]), got=got)


def fix(subject: Subject) -> None:
    """The same requests with the bonus token counted."""
    same(subject, "steps", committed_steps(subject)([1, 1]), right_steps([1, 1]))
    same(subject, "steps-of-accepted-drafts", committed_steps(subject)([2, 2]), [1, 1])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the lookup."""
    steps = committed_steps(subject)

    def commit(accept_lens: list[int]) -> list[int]:
        found: list[int] = expect(steps(accept_lens), right_steps(accept_lens))
        return found

    hold_page(
        subject,
        snippets,
        commit,
        cases={
            "[1, 0]": ([1, 0],),
            "[1, 1]": ([1, 1],),
            "[2, 1]": ([2, 1],),
            "[0, 2]": ([0, 2],),
        },
        error=WrongResultError,
        text="expected [0, None]",
        rescued=(([1, 0],), [0, 0]),
        passed_on=lambda: int("no number"),
        names={"commit": commit, "accepted_drafts": [0, -1]},
    )
    solutions(subject, snippets)

    same(subject, "last-column-is-committed", steps([1, 0])[1], 1)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the lookup; 1 is the foreign step."""
    steps = committed_steps(subject)
    numbers = subject.torch.tensor([1, 0])

    def found(title: str) -> list[int]:
        names = {"num_correct_drafts": numbers, "accept_lens": numbers}
        return steps(carried_out(snippets, title, **names)["accept_lens"].tolist())

    for title, lens in ((COUNT, [2, 1]), (RAISE, [1, 1])):
        tried(subject, title, "[1, 0] as they are: steps", partial(steps, [1, 0]), [0, 1])
        tried(subject, title, "[1, 0]: steps", partial(found, title), right_steps(lens))
