"""Faults that raise nothing: a wrong result becomes an error here, so that it can be judged."""

from typing import Any


class WrongResultError(Exception):
    """The engine returned, and what it returned is wrong."""


def expect(got: Any, expected: Any) -> Any:
    """Give `got` back if it is what it has to be.

    Raises:
        WrongResultError: it is not.
    """
    if got != expected:
        raise WrongResultError(f"got {got}, expected {expected}")
    return got
