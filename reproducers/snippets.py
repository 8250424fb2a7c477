"""Executes the curated code of an entry page and holds its verdicts against the engine's own.

A page carries a validator, a type guard, a try/except wrapper and an example fix. None of them is
believed: each runs here, on good and on bad input, and what it says is recorded as a claim beside
what the engine does with the same input. A claim is right only if both agree.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reproducers.upstream.subject import Subject

VALIDATOR = "Validation code"
TYPE_GUARD = "Type guard"
TRY_AND_EXCEPT = "Try and except"
BROKEN = "Example fix (broken)"
FIXED = "Example fix (fixed)"

Arguments = tuple[Any, ...]


def define(snippets: Mapping[str, str], section: str, **names: Any) -> Callable[..., Any]:
    """Execute a section's code and return the function it defines.

    Args:
        snippets: curated code by its heading.
        section: `VALIDATOR` (defines `validate`), `TYPE_GUARD` (`is_...`) or `TRY_AND_EXCEPT`
            (`guarded`).
        names: what the code may use beside what it imports itself.

    Raises:
        LookupError: the page has no such section, or its code defines no such function.
    """
    prefix = {VALIDATOR: "validate", TYPE_GUARD: "is_", TRY_AND_EXCEPT: "guarded"}[section]
    namespace = execute(snippets, section, **names)
    for name, value in namespace.items():
        if name.startswith(prefix) and callable(value) and name not in names:
            return value  # type: ignore[no-any-return]  # callable() does not narrow to Callable
    raise LookupError(f"the code under {section!r} defines no function {prefix}...")


def execute(snippets: Mapping[str, str], section: str, **names: Any) -> dict[str, Any]:
    """Execute a section's code in a namespace of its own and return that namespace."""
    if section not in snippets:
        raise LookupError(f"no code was given for the section {section!r}")
    namespace: dict[str, Any] = {"__name__": f"curated:{section}", **names}
    exec(compile(snippets[section], f"<{section}>", "exec"), namespace)  # noqa: S102  # our own pages' code, run behind the wall
    return namespace


def judge(
    subject: Subject,
    snippets: Mapping[str, str],
    cases: Mapping[str, Callable[[], Arguments]],
    engine: Callable[..., Any],
    *,
    only: str | None = None,
) -> None:
    """Hold the validator's and the type guard's verdict on each case against the engine's.

    Args:
        subject: what is run on; each verdict becomes a claim of the run.
        snippets: curated code by its heading.
        cases: what is tried, by a name a reader understands; each makes fresh arguments.
        engine: the engine's real call. It accepts a case if it returns and refuses it if it raises.
        only: the one section to judge, where the two look at different things.
    """
    said = {name: outcome(partial(engine, *make())) for name, make in cases.items()}
    verdicts = {name: text == "returns" for name, text in said.items()}
    if len(set(verdicts.values())) != 2:  # accepted and refused
        raise ValueError(f"cases must hold both good and bad input, the engine says {said}")
    for section in (only,) if only else (VALIDATOR, TYPE_GUARD):
        function = define(snippets, section)
        for name, make in cases.items():
            arguments = make()
            got = (
                _accepts(function, arguments)
                if section == VALIDATOR
                else function(*arguments) is True
            )
            _claim(subject, section, name, verdicts[name], got)


def example(
    subject: Subject,
    snippets: Mapping[str, str],
    names: Callable[[], dict[str, Any]],
    error: type[BaseException],
    text: str,
) -> None:
    """Run the page's broken example, which must fail with this very error, and the fixed one.

    Args:
        subject: what is run on.
        snippets: curated code by its heading.
        names: makes afresh what the example uses without defining it.
        error: class of the error on the page.
        text: what its message contains; empty for an error without words.
    """
    for section, expected in ((BROKEN, worded(error, text)), (FIXED, "returns")):
        got = outcome(partial(execute, snippets, section, **names()))
        wanted = is_error(got, error, text)
        ok = wanted if section == BROKEN else got == "returns"
        subject.claim(section, "as printed", expected, got, ok=ok)


def worded(error: type[BaseException], text: str) -> str:
    """An error as an outcome tells it, `...` standing for what varies."""
    return f"{error.__name__}: ...{text}..." if text else f"{error.__name__}: "


def is_error(said: str, error: type[BaseException], text: str) -> bool:
    """Whether an outcome is this error; without text only an error that says nothing is."""
    start = f"{error.__name__}: "
    return said.startswith(start) and text in said if text else said == start


def outcome(call: Callable[[], Any]) -> str:
    """What came of a call, as text: `returns`, or the error's class and message."""
    try:
        call()
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever the engine raises is the answer
        return f"{type(error).__name__}: {error}"
    return "returns"


def _accepts(call: Callable[..., Any], arguments: Arguments) -> bool:
    return outcome(lambda: call(*arguments)) == "returns"


def _claim(subject: Subject, section: str, name: str, expected: bool, got: bool) -> None:  # noqa: FBT001  # a verdict is a truth value
    words = {True: "accepts", False: "refuses"}
    subject.claim(section, name, f"engine {words[expected]}", words[got], ok=expected == got)
