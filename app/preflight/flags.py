"""What an unknown flag is called here, and which releases know it.

Foreign names come from the table of vLLM's flags; which release has which flag was written down by
running each release's own parser (`data/launch/flags.json`, see `app.services.preflight_flags`).
"""

import functools
import json
from collections.abc import Iterable
from typing import Any, Final

import regex
from packaging.version import Version

from app.diagnosis.vllm_flags import VLLM_FLAGS
from app.settings import DATA_DIR

FILE: Final = DATA_DIR / "launch" / "flags.json"
_UNRECOGNIZED: Final = regex.compile(r"unrecognized arguments: (.*)", regex.DOTALL)


@functools.cache
def known_flags() -> dict[str, Any]:
    """`{"releases": {program: [...]}, "flags": {program: {flag: [[from, to]]}}}` of the file."""
    try:
        content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"releases": {}, "flags": {}}
    return content


def translations() -> dict[str, list[list[str]]]:
    """For each flag of another engine what to write here; an empty list of words: nothing."""
    found: dict[str, list[list[str]]] = {}
    for flag, note in VLLM_FLAGS.items():
        found[flag] = [[note.flag]] if note.flag else [[]]
    return found


def advice(flag: str) -> str:
    """What the table of foreign flags says about one, in a sentence; empty if nothing."""
    note = VLLM_FLAGS.get(flag) or VLLM_FLAGS.get("--" + flag.lstrip("-").replace("_", "-"))
    return note.text if note else ""


def releases_of(program: str) -> list[str]:
    """Releases whose flags of this program are written down, oldest first."""
    return list(known_flags()["releases"].get(_parser_of(program), []))


def releases_with(flag: str, program: str) -> list[str]:
    """Releases whose parser takes this flag, oldest first."""
    every = releases_of(program)
    spans = known_flags()["flags"].get(_parser_of(program), {}).get(flag, [])
    return [v for v in every if any(Version(a) <= Version(v) <= Version(b) for a, b in spans)]


def came_or_went(flag: str, program: str, version: str) -> str:
    """Since or until when there is a flag that `version` lacks, in a sentence."""
    having = releases_with(flag, program)
    if not having or version in having:
        return ""
    here = Version(version)
    later = [v for v in having if Version(v) > here]
    earlier = [v for v in having if Version(v) < here]
    if later:
        return f"`{flag}` came with {later[0]}."
    return f"`{flag}` was last in {earlier[-1]}."


def elsewhere(flag: str, program: str) -> str:
    """Whether the other of the two servers has the flag, in a sentence."""
    other = "launch_server" if _parser_of(program) == "diffusion" else "diffusion"
    if not releases_with(flag, other):
        return ""
    name = "the language model server" if other == "launch_server" else "the diffusion server"
    return f"It is a flag of {name}."


def unrecognized(message: str) -> list[str]:
    """The flags that an argparse message calls unrecognized."""
    m = _UNRECOGNIZED.search(message)
    return regex.findall(r"(?<!\S)--?[A-Za-z][\w-]*", m[1]) if m else []


def spans_text(versions: Iterable[str], known: Iterable[str]) -> str:
    """`0.5.16 to 0.5.19, 0.5.21` of versions among the known ones."""
    every = sorted(set(known), key=Version)
    chosen = set(versions)
    parts: list[str] = []
    i = 0
    while i < len(every):
        if every[i] in chosen:
            j = i
            while j + 1 < len(every) and every[j + 1] in chosen:
                j += 1
            parts.append(every[i] if i == j else f"{every[i]} to {every[j]}")
            i = j
        i += 1
    return ", ".join(parts)


def _parser_of(program: str) -> str:
    return "diffusion" if program == "diffusion" else "launch_server"
