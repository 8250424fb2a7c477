"""Holds everything that a page's code claims against one call of the engine."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from reproducers.snippets import (
    TRY_AND_EXCEPT,
    TYPE_GUARD,
    VALIDATOR,
    Arguments,
    define,
    example,
    is_error,
    judge,
    outcome,
    worded,
)
from reproducers.upstream.plain import plain
from reproducers.upstream.subject import Subject


def hold_page(
    subject: Subject,
    snippets: Mapping[str, str],
    call: Callable[..., Any],
    *,
    cases: Mapping[str, Arguments],
    error: type[BaseException],
    text: str,
    rescued: tuple[Arguments, Any],
    passed_on: Arguments | Callable[[], Any],
    names: Mapping[str, Any],
    seen: Callable[[Any], Any] = lambda result: result,
) -> None:
    """Run the four snippets of a page: validator, type guard, try/except and example fix.

    Args:
        subject: what is run on; each verdict becomes a claim of the run.
        snippets: curated code by its heading.
        call: the engine's real call.
        cases: what is tried, by a name a reader understands; good and bad input.
        error: class of the entry's error.
        text: what its message contains; empty for an error without words.
        rescued: arguments with which the call raises this error, and what `guarded(call, *them)`
            gives instead; an exception class and message as text if it raises another.
        passed_on: arguments with which the call raises something else, which `guarded` lets
            through; or a call of its own that does.
        names: what the example uses without defining it.
        seen: what is compared of a rescued result.
    """
    makers: dict[str, Callable[[], Arguments]] = {
        name: functools.partial(tuple, given) for name, given in cases.items()
    }
    for section in (VALIDATOR, TYPE_GUARD):
        judge(subject, snippets, makers, call, only=section)
    guarded = define(snippets, TRY_AND_EXCEPT)
    arguments, wanted = rescued
    got = outcome(lambda: call(*arguments))
    raises = is_error(got, error, text)
    subject.claim(TRY_AND_EXCEPT, "the call alone", worded(error, text), got, raises)
    found: list[Any] = []
    got = outcome(lambda: found.append(seen(guarded(call, *arguments))))
    result = plain(found[0]) if found else got
    subject.claim(TRY_AND_EXCEPT, "guarded", wanted, result, ok=result == plain(wanted))

    if callable(passed_on):
        fails, given = _without_arguments(passed_on), arguments
    else:
        fails, given = call, passed_on
    alone = outcome(lambda: fails(*given))
    through = outcome(lambda: guarded(fails, *given))
    kept = alone == through != "returns" and not is_error(alone, error, text)
    subject.claim(TRY_AND_EXCEPT, "another error", f"passes through: {alone}", through, ok=kept)

    example(subject, snippets, lambda: dict(names), error, text)


def _without_arguments(call: Callable[[], Any]) -> Callable[..., Any]:
    """A call that is made whatever it is given."""
    return lambda *_arguments: call()
