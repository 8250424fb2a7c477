"""Values that a message carries in its own text, or that follow from what is around it."""

import re
from typing import Any, Final

from app.diagnosis.causes import Draft
from app.diagnosis.echoes import asynchronous
from app.diagnosis.facts import Facts
from app.diagnosis.fit import value
from app.diagnosis.patterns import lazy
from app.diagnosis.places import ENGINES, MODULE, canonical, leaf

_NAMED: Final = lazy(
    r"(?<![\w.])(?P<name>[A-Za-z_][\w.]{0,80}?)(?:\(\))?=(?P<value>'[^'\n]{0,300}'"
    r"|[+-]?\d[\d.]{0,40}(?![\w.-])"
    r"|True\b|False\b|None\b)"
)
_TOKENS: Final = lazy(r"\b(?P<name>[A-Z][a-z]{2,20}) tokens: (?P<n>\d{1,18})")
_INNER: Final = lazy(
    r"\b(?P<cls>[A-Z]\w{2,60}(?:Error|Exception))(?:\([^()\n]{0,300}\))?: (?P<text>[^\n]{1,1000})"
)
_NONE: Final = lazy(r"'NoneType' object (?:has no attribute '(?P<attribute>\w+)'|is not)")
_PROGRESS: Final = lazy(r"(\d+/\d+) \[")
_LAST_ERROR: Final = lazy(r"Last error:[ ]{0,4}\n?([^\n]{1,400})")
"""What NCCL says itself, on the line behind these words."""
_MOST: Final = 24


def facts_in(message: str) -> dict[str, Any]:
    """`name=value` facts that the text of a message holds."""
    found: dict[str, Any] = {}
    if "=" in message or " tokens: " in message:
        for m in _NAMED().finditer(message[:8_000]):
            if m["name"].isupper():
                continue  # an environment variable that the message recommends
            name = m["name"].removeprefix("self.").removeprefix("decode_req.req.")
            found.setdefault(name, value(m["value"].rstrip(".")))
            if len(found) >= _MOST:
                break
        for m in _TOKENS().finditer(message[:8_000]):
            found.setdefault(f"{m['name'].lower()}_tokens", int(m["n"]))
    return found


def derived(draft: Draft, facts: Facts, optional: frozenset[str]) -> dict[str, Any]:
    """What follows from the chain, the frames and the set-up.

    Args:
        draft: the unit.
        facts: the set-up.
        optional: attributes of the engine's data that may be None.
    """
    found: dict[str, Any] = {}
    _balance(draft.unit.message, found)
    for other in draft.chain:
        if other is draft:
            break
        first = other.unit
        found.setdefault("first_exception", f"{first.error_class}: {first.message}"[:300])
    for told in draft.match.values.values() if draft.match else ():
        inner = _INNER().match(told[:4_000]) if isinstance(told, str) else None
        if inner:
            found["inner"] = inner["text"].strip()
            found["inner_class"] = inner["cls"]
    _none(draft, facts, optional, found)
    if draft.match is None or draft.match.record.package not in ENGINES:
        _deepest(draft, found)
    if draft.match and draft.match.record.condition and not draft.unit.message:
        found["condition"] = draft.match.record.condition.removeprefix("assert ")
    _memory(draft, facts, found)
    if asynchronous(draft.unit.text):
        found["async"] = True
    last = _LAST_ERROR().search(draft.unit.text) if "Last error:" in draft.unit.text else None
    if last:
        found["last_error"] = last[1].strip()
    _progress(draft, facts, found)
    return found


def _memory(draft: Draft, facts: Facts, found: dict[str, Any]) -> None:
    """Whose memory ran out, and what was left of it after the weights."""
    small = draft.unit.message.lower()
    if "out of memory" in small and draft.unit.rank:
        found["failing_rank"] = draft.unit.rank
    if "memory" in small and "leak" not in small and "avail_mem_after_load" in facts.values:
        found["avail_mem_after_load"] = facts.values["avail_mem_after_load"]


def _deepest(draft: Draft, found: dict[str, Any]) -> None:
    """Where the engine called what raised a library's error."""
    raised = draft.unit.raised
    for frame in reversed(raised.frames if raised else ()):
        package, path = canonical(frame.file)
        if package in ENGINES:
            found[f"deepest_{package}_frame"] = f"{path}::{leaf(frame.function) or MODULE}"
            return


def _progress(draft: Draft, facts: Facts, found: dict[str, Any]) -> None:
    """How far it had come, where a progress bar stands on the traceback's line."""
    raised = draft.unit.raised
    if raised is None or not raised.progress:
        return
    progress = _PROGRESS().search(raised.progress)
    if progress:
        found["progress"] = progress[1]
    if "avail_mem" in facts.values:
        found["avail_mem"] = facts.values["avail_mem"]


def _none(draft: Draft, facts: Facts, optional: frozenset[str], found: dict[str, Any]) -> None:
    """Which name of the code line was None, as far as the line and the engine's types tell."""
    m = _NONE().search(draft.unit.message)
    raised = draft.unit.raised
    if m is None or raised is None or not raised.frames:
        return
    source = raised.frames[-1].source
    attribute = m["attribute"]
    if attribute:
        names = re.findall(rf"([A-Za-z_][\w.]*)\.{attribute}\b", source)
        found["attribute"] = attribute
    else:
        names = re.findall(r"([A-Za-z_][\w.]*)(?=\[|\()", source)
    names = list(dict.fromkeys(names))
    likely = [n for n in names if leaf(n) in optional] or names
    if len(likely) == 1:
        found["variable"] = likely[0]
    elif likely:
        found["variable_candidates"] = likely
    for name in ("attention_backend", "speculative_algorithm"):
        if isinstance(facts.values.get(name), str):
            found[name] = facts.values[name]


def _balance(message: str, found: dict[str, Any]) -> None:
    """How far a pool's books are off."""
    if "leak" not in message:
        return
    said = facts_in(message)
    free, kept, total = (
        said.get(n) for n in ("available_size", "protected_size", "max_total_num_tokens")
    )
    if isinstance(free, int) and isinstance(total, int):
        held = kept if isinstance(kept, int) else 0
        off = free + held - total
        found["surplus" if off > 0 else "lost"] = abs(off)
