"""Executes what the page's solutions say, and records what came of it beside each of them.

A solution is code or the change of a launch line. Code is executed as it is printed; of a change
the line before and the line after both go through the release's own parser and checks. The claims
stand under `SOLUTIONS`, their input being the solution's title and the case.
"""

import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from reproducers.snippets import execute, outcome
from reproducers.upstream.subject import Subject

SOLUTIONS: Final = "Solutions"
"""Heading of the claims, and of the snippets: `Solutions: <title>`."""


def code_of(snippets: Mapping[str, str], title: str) -> str:
    """What stands in the fence of the solution of this title.

    Raises:
        LookupError: the page has no such solution, or it is words only.
    """
    code = snippets.get(f"{SOLUTIONS}: {title}")
    if not code:
        raise LookupError(f"the page has no code under a solution {title!r}")
    return code


def carried_out(snippets: Mapping[str, str], title: str, **names: Any) -> dict[str, Any]:
    """Execute a solution's code as it is printed and return the names it leaves."""
    code_of(snippets, title)
    return execute(snippets, f"{SOLUTIONS}: {title}", **names)


def altered(snippets: Mapping[str, str], title: str, old: str, new: str) -> dict[str, str]:
    """The snippets with something put otherwise in a solution's code: what it is told apart from.

    Raises:
        LookupError: the solution's code does not have `old`.
    """
    code = code_of(snippets, title)
    if old not in code:
        raise LookupError(f"the code under the solution {title!r} has no {old!r}")
    return {**snippets, f"{SOLUTIONS}: {title}": code.replace(old, new)}


def swapped(line: str, diff: str) -> str:
    """A launch line after a solution's change: its `-` words are gone, its `+` words are there.

    Raises:
        LookupError: the line does not have the words that the change takes out.
    """
    taken, put = (_words(diff, sign) for sign in "-+")
    words = shlex.split(line.replace("\\\n", " "), comments=True)
    for group in _groups(taken):
        at = next((i for i in range(len(words)) if words[i : i + len(group)] == group), None)
        if at is None:
            raise LookupError(f"{shlex.join(group)!r} is not on the line {line!r}")
        del words[at : at + len(group)]
    return shlex.join([*words, *put])


def lines_of(diff: str) -> tuple[str, str]:
    """The line that a change takes out and the one that it puts in its place."""
    before, after = (shlex.join(_words(diff, sign)) for sign in "-+")
    return before, after


def tried(
    subject: Subject,
    title: str,
    case: str,
    call: Callable[[], Any],
    expected: Any,
) -> None:
    """Claim that a call, made as the solution says, comes to what was expected.

    Args:
        subject: what is run on.
        title: the solution's title in the entry file.
        case: what was tried, in words a reader understands.
        call: returns the result that is claimed; an error is a result too.
        expected: the result; a text that ends in `...` is a beginning of it.
    """
    came: list[Any] = []
    said = outcome(lambda: came.append(call()))
    got = came[0] if came else said
    if isinstance(expected, str) and expected.endswith("..."):
        ok = isinstance(got, str) and got.startswith(expected.removesuffix("..."))
    else:
        ok = bool(got == expected)
    subject.claim(SOLUTIONS, f"{title}: {case}", expected, got, ok=ok)


def tried_change(
    subject: Subject,
    snippets: Mapping[str, str],
    title: str,
    *,
    line: str,
    seen: Callable[[str], Any],
    before: Any,
    after: Any,
) -> None:
    """Claim what a launch line comes to before a solution's change, and after it.

    Args:
        subject: what is run on.
        snippets: curated code by its heading.
        title: the solution's title; its code is the change.
        line: the line that is changed.
        seen: starts a line and gives what is compared.
        before: what the line comes to; see `tried`.
        after: what the changed line comes to.
    """
    changed = swapped(line, code_of(snippets, title))
    tried(subject, title, "the line before", lambda: seen(line), before)
    tried(subject, title, "the line after", lambda: seen(changed), after)


def _words(diff: str, sign: str) -> list[str]:
    lines = [line[1:] for line in diff.splitlines() if line.startswith(sign)]
    return shlex.split(" ".join(lines))


def _groups(words: list[str]) -> list[list[str]]:
    """Each flag with the values that follow it; what stands before the first flag on its own."""
    groups: list[list[str]] = []
    for word in words:
        if word.startswith("--") or not groups:
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups
