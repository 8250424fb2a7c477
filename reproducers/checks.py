"""Assertions about what a run saw, each recorded with what was found and what was expected."""

from typing import Any

from reproducers.upstream.subject import Subject


def same(subject: Subject, check_id: str, got: Any, expected: Any) -> None:
    """Record the check `check_id`: `got` equals `expected`."""
    subject.check(check_id, got == expected, got=got, expected=expected)
