"""What stands around a pasted command and is not part of it: prompts, fences, notebook marks.

Nothing is replaced but taken out, and each character that is left keeps its place.
"""

from typing import Final

import regex

from app.preflight.shell import Source

_FENCE: Final = regex.compile(r"^[ \t]*(?:```+|~~~+)[\w-]*[ \t]*\r?\n?", regex.MULTILINE)
_INLINE_CODE: Final = regex.compile(r"\A\s*`([^`\n]+)`\s*\Z")
_PROMPTS: Final = tuple(
    regex.compile(r"^[ \t]*" + p, regex.MULTILINE)
    for p in (
        r"(?:\([\w.-]+\)[ \t]*)?[\w.-]+@[\w.-]+(?::[^\s$#%]*)?[ \t]*[$#%][ \t]+",  # user@host:~/x$
        r"(?:\([\w.-]+\)[ \t]*)?\[[\w.-]+@[\w.-]+[ \t]+[^\]\n]*\][$#][ \t]*",  # [user@host x]$
        r"PS [A-Z]:\\[^>\n]*>[ \t]*",
        r"In \[\d*\]:[ \t]*",
        r"\([\w.-]+\)[ \t]*[$#][ \t]+",  # (venv) $
        "(?:\\$|>>>|\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}|➜)[ \t]+",
        r">[ \t]+(?=--|[A-Za-z])",  # a quoted mail, the continuation prompt of bash
        r"%%(?:bash|sh|shell)\b[^\n]*",
        r"![ \t]*(?=[A-Za-z_])",
    )
)
_KEYWORDS: Final = regex.compile(
    r"^[ \t]*(?:RUN|ExecStart[ \t]*=[ \t]*[-@:+!]*|CMD|ENTRYPOINT|ENV|Environment[ \t]*=)[ \t]*"
    r"(?=[^\s\[])",
    regex.MULTILINE,
)
_ENVIRONMENT: Final = regex.compile(r"^[ \t]*(?:ENV|Environment[ \t]*=)", regex.MULTILINE)
_ROOT_PROMPT: Final = regex.compile(r"^[ \t]*#[ \t]+(?=[^\n]*sglang)", regex.MULTILINE)


def clean(text: str) -> tuple[Source, list[str]]:
    """Take out what surrounds a command.

    Returns:
        The text with the places of its characters, and notes on what was read otherwise.
    """
    notes: list[str] = []
    cuts: list[tuple[int, int, str]] = []
    inline = _INLINE_CODE.match(text)
    if inline:
        cuts += [(0, inline.start(1), ""), (inline.end(1), len(text), "")]
    cuts += [(*m.span(), "") for m in _FENCE.finditer(text)]
    for pattern in _PROMPTS:
        cuts += [(*m.span(), "") for m in pattern.finditer(text)]
    for m in _KEYWORDS.finditer(text):
        environment = _ENVIRONMENT.match(m.group()) is not None
        cuts.append((*m.span(), "export " if environment else ""))
    bare = _apply(text, cuts)
    if "sglang" not in _without_comments(bare.text):
        # `# python -m sglang.launch_server`: root's prompt, not a comment.
        roots = [(*m.span(), "") for m in _ROOT_PROMPT.finditer(text)]
        if roots:
            notes.append("A leading # was read as the prompt of root, not as a comment.")
            bare = _apply(text, cuts + roots)
    return bare, notes


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def _apply(text: str, cuts: list[tuple[int, int, str]]) -> Source:
    kept: list[str] = []
    offsets: list[int] = []
    at = 0
    for start, end, instead in sorted(cuts):
        if start < at:
            continue
        kept.append(text[at:start])
        offsets += range(at, start)
        kept.append(instead)
        offsets += [start] * len(instead)
        at = end
    kept.append(text[at:])
    offsets += range(at, len(text))
    return Source("".join(kept), tuple(offsets))
