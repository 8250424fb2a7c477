"""What argparse refused, and what was meant.

`did you mean` is answered from the flags of the release's own command line, from the choices or the
usage text that the log shows, and from a table of vLLM's flags with what SGLang calls them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.diagnosis.patterns import lazy
from app.diagnosis.vllm_flags import VLLM_FLAGS

_USAGE: Final = lazy(r"(?<![\w-])--[a-z][a-z0-9-]{1,60}")
_ERROR: Final = lazy(r"(?P<prog>[\w./ -]{1,120}?): error: (?P<rest>.{1,20000})", re.DOTALL)
_UNRECOGNIZED: Final = lazy(r"unrecognized arguments?: (?P<args>.{1,4000})", re.DOTALL)
_CHOICE: Final = lazy(
    r"argument (?P<option>[^:\n]{1,200}): invalid choice: (?P<value>'[^'\n]{0,300}'"
    r"|\"[^\"\n]{0,300}\"|\S{1,200})"
    r" \(choose from (?P<choices>.{1,8000})",
    re.DOTALL,
)
_CLOSE: Final = 0.72


@dataclass(slots=True)
class Advice:
    """What to say about a refused argument."""

    params: dict[str, Any] = field(default_factory=dict)
    fixes: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


def usage_flags(texts: Iterable[str]) -> list[str]:
    """The flags that a usage text lists, in its order."""
    found: dict[str, None] = {}
    for text in texts:
        if "--" in text and ("[-" in text or "usage:" in text):
            found.update(dict.fromkeys(_USAGE().findall(text)))
    return list(found)


def read(text: str, flags: Mapping[str, Sequence[int]], usage: Sequence[str]) -> Advice:
    """Read an error line of argparse.

    Args:
        text: the line, from the program's name on.
        flags: the engine's flags, each with the releases that have it; may be empty.
        usage: flags that the log's own usage text lists.
    """
    advice = Advice()
    whole = _ERROR().search(text)
    if whole:
        advice.params["prog"] = whole["prog"].strip().rsplit("/", 1)[-1]
    rest = whole["rest"] if whole else text
    unknown = _UNRECOGNIZED().search(rest)
    choice = _CHOICE().search(rest)
    if unknown:
        words = unknown["args"].split()
        named = [w for w in words if w.startswith("-")] or words
        advice.params["args"] = words
        known = list(dict.fromkeys([*flags, *usage]))
        for word in named:
            _unknown(word, known, advice)
    elif choice:
        _choice(choice, advice)
    return advice


def _unknown(word: str, known: Sequence[str], advice: Advice) -> None:
    flag, _, given = word.partition("=")
    hyphens = flag.replace("_", "-")
    note = VLLM_FLAGS.get(hyphens)
    near = _near(hyphens, known) if known else None
    if hyphens != flag and hyphens in known:
        _suggest(advice, flag, hyphens)
        advice.fixes.append(
            f"**Write `{hyphens}`.** The flag is spelt with hyphens: `{flag}` is not known."
        )
    elif note is not None:
        if note.flag:
            _suggest(advice, flag, note.flag)
        advice.fixes.append(f"**{note.title(hyphens)}** `{flag}` is vLLM's. {note.text}".strip())
        advice.params.setdefault("vllm_flag", hyphens)
    elif near:
        _suggest(advice, flag, near)
        value = f" {given}" if given else ""
        advice.fixes.append(
            f"**Did you mean `{near}{value}`?** `{flag}` is no flag of this program."
        )
    else:
        advice.hints.append(
            f"`{flag}` is no flag that {'any scanned release' if known else 'this program'} has,"
            f" and none"
            " is spelt like it; `--help` of the installed version lists all."
        )


def _suggest(advice: Advice, flag: str, instead: str) -> None:
    """Note what was meant; of several flags the first stands alone as well."""
    advice.params.setdefault("suggest", instead)
    advice.params.setdefault("suggestions", {})[flag] = instead


def _choice(m: re.Match[str], advice: Advice) -> None:
    option = m["option"].split("/")[0] if "/--" in m["option"] else m["option"]
    given = m["value"].strip("'\"")
    choices = re.findall(r"'([^']*)'|([\w./+-]+)", m["choices"].split(")")[0])
    names = [a or b for a, b in choices]
    advice.params |= {"option": m["option"], "value": given, "choices": names}
    near = _near(given, names)
    if near:
        advice.params["suggest"] = near
        advice.fixes.append(
            f"**Write `{option} {near}`.** `{given}` is none of the choices; `{near}` is."
        )
    elif names:
        shown = ", ".join(f"`{n}`" for n in names[:40])
        advice.fixes.append(f"**Choose one of the values `{option}` takes.** They are {shown}.")


def _near(word: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415  # only a refused argument needs it

    dense = {_dense(k): k for k in reversed(known)}
    exact = dense.get(_dense(word))
    if exact:
        return exact
    found = get_close_matches(word, known, 1, _CLOSE)
    return found[0] if found else None


def _dense(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())
