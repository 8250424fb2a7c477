"""A corrected line to copy, and where it differs from the one that was pasted."""

import difflib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import regex

from app.preflight.command import Command

_SAFE = regex.compile(r"[\w@%+=:,./<>-]+")


def quoted(word: str) -> str:
    """A word as a shell needs it; placeholders like <model> stay readable."""
    if regex.fullmatch(r"<[\w .-]+>|[^<>]*", word) and _SAFE.fullmatch(word):
        return word
    return shlex.quote(word)


def rendered(command: Command, argv: Sequence[str], env: Mapping[str, str]) -> str:
    """The line with these arguments and variables, in the form in which it was pasted.

    A line from a manifest or from within quotes is written as a plain command.
    """
    added = {k: v for k, v in env.items() if command.env.get(k) != v}
    words = " ".join(map(quoted, argv))
    if command.before is None or command.as_yaml:
        prefix = " ".join(f"{k}={quoted(v)}" for k, v in {**command.env, **added}.items())
        return " ".join(part for part in (prefix, command.name, words) if part)
    before = " ".join(regex.sub(r"[\\^`][ \t]*\r?\n", " ", command.before).split())
    container = regex.search(r"(?<!\S)(?:\S*/)?(?:docker|podman|nerdctl)\s+run\b", before)
    if added and container:
        options = " ".join(f"-e {k}={quoted(v)}" for k, v in added.items())
        before = f"{before[: container.end()]} {options}{before[container.end() :]}"
    elif added:
        before = " ".join(f"{k}={quoted(v)}" for k, v in added.items()) + " " + before
    after = command.after.rstrip("|& \t") if command.after.rstrip().endswith("|") else command.after
    return f"{before} {words}{after}".strip()


def difference(
    argv: Sequence[str],
    env: Mapping[str, str],
    new_argv: Sequence[str],
    new_env: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Word by word what was kept, taken out and put in: [{"op": "keep|remove|add", "text"}]."""
    old = [f"{k}={v}" for k, v in env.items()] + list(argv)
    new = [f"{k}={v}" for k, v in new_env.items()] + list(new_argv)
    parts: list[dict[str, Any]] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for op, a, b, c, d in matcher.get_opcodes():
        if op == "equal":
            parts.append({"op": "keep", "text": " ".join(map(quoted, old[a:b]))})
            continue
        if b > a:
            parts.append({"op": "remove", "text": " ".join(map(quoted, old[a:b]))})
        if d > c:
            parts.append({"op": "add", "text": " ".join(map(quoted, new[c:d]))})
    return parts
