"""What to do: the entry's fixes for this phase, the engine's own advice, the user's own values."""

from typing import Final

from app.diagnosis.facts import Facts
from app.diagnosis.index import TemplateRecord
from app.diagnosis.patterns import lazy
from app.diagnosis.phases import NAMES, Phase, fitting
from app.diagnosis.redact import redact
from app.diagnosis.remedies import foreign_remedies, remedies

_FLAG: Final = lazy(r"`(?P<flag>--[a-z][a-z0-9-]+)")
_SENTENCE: Final = lazy(r"[^.!?\n]{0,300}(?:[.!?](?=\s|$)|\n|$)")
_URGES: Final = lazy(
    r"\b(?:[Pp]lease|[Tt]ry|[Cc]onsider|[Yy]ou (?:can|may|should|need to)|[Uu]se|[Ss]et"
    r"|[Ii]ncrease|[Rr]educe"
    r"|[Ll]ower|[Dd]isable|[Ee]nable|[Ii]nstall|[Ss]pecify|[Pp]ass|[Uu]pgrade)\b"
)
_NOT_ADVICE: Final = lazy(
    r"[Ff]or debugging|report|ping @|file an issue|open an issue|[Tt]ry to allocate|[Tt]ried to"
)
_SGLANG_FLAG: Final = lazy(
    r"--(?:mem-fraction-static|chunked-prefill|cuda-graph|disable-|enable-|max-running)"
)


def fixes_for(
    record: TemplateRecord | None,
    message: str,
    facts: Facts,
    phase: Phase | None,
    engine: str | None,
) -> list[str]:
    """Advice, best first.

    Args:
        record: the entry; None for an unknown error.
        message: what was said.
        facts: the user's set-up.
        phase: how far the server had got.
        engine: whose log it is; SGLang's flags are no advice for another engine.
    """
    fixes = fitting(list(record.fixes), phase) if record else []
    if engine not in (None, "sglang"):
        fixes = [f for f in fixes if not _SGLANG_FLAG().search(f) or "vllm" in f.lower()]
    if engine == "vllm":
        fixes = foreign_remedies(message) + fixes
    if not fixes and engine in (None, "sglang"):
        fixes = remedies(message, record.condition if record else "")
    if not fixes:
        fixes = [redact(text)[0] for text in engines_own(message)]
    return [_with_values(f, facts) for f in fixes]


def exclusions(record: TemplateRecord | None, engine: str | None) -> list[str]:
    """When it is another error after all; what speaks of SGLang's flags only in SGLang's logs."""
    texts = list(record.not_this_if) if record else []
    if engine in (None, "sglang"):
        return texts
    return [text for text in texts if not _SGLANG_FLAG().search(text)]


def engines_own(message: str) -> list[str]:
    """The sentences of a message that tell what to do, marked as the engine's own."""
    found: list[str] = []
    if not _URGES().search(message):
        return found
    for m in _SENTENCE().finditer(message[:4_000]):
        sentence = m[0].strip(" \n-*")
        if len(sentence) > 12 and _URGES().search(sentence) and not _NOT_ADVICE().search(sentence):  # noqa: PLR2004  # a word or two is no advice
            found.append(f"**The message itself says:** {sentence}")
    return found[:4]


def _with_values(text: str, facts: Facts) -> str:
    """Add what the user gave for the flags that a fix names."""
    named = dict.fromkeys(m["flag"] for m in _FLAG().finditer(text))
    given = [(flag, facts.given[flag]) for flag in named if facts.given.get(flag)]
    said = [
        (flag, facts.values[name])
        for flag in named
        if flag not in facts.given and (name := flag[2:].replace("-", "_")) in facts.values
    ]
    parts = [f"`{flag} {redact(value)[0]}` on your launch line" for flag, value in given]
    parts += [f"`{flag}` is {redact(str(value))[0]} by the log" for flag, value in said]
    return f"{text} (Now: {', '.join(parts)}.)" if parts else text


def phase_hint(phase: Phase | None, message: str) -> list[str]:
    """Say in which phase memory ran out, since the advice turns on it."""
    if phase is None or "memory" not in message.lower():
        return []
    return [f"It happened {NAMES[phase]}."]
