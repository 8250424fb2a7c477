"""What might a line that the parser refuses have meant? Guesses, best first; each is tried.

Sources: the parser's own flags and choices, and a table of names from elsewhere (other engines,
other releases) that comes with the request.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from reproducers.launch.options import Option, Options
from reproducers.launch.words import Change, Piece, is_flag, pieces, renamed, replaced, without

Translations = Mapping[str, Sequence[Sequence[str]]]
"""For a foreign flag what to write instead, best first; `{value}` stands for its value."""

_UNRECOGNIZED: Final = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
_ARGUMENT: Final = re.compile(r"argument ([^:]+): (.*)", re.DOTALL)
_AMBIGUOUS: Final = re.compile(r"ambiguous option: (\S+) could match (.*)", re.DOTALL)
_REQUIRED: Final = re.compile(r"the following arguments are required: (.*)", re.DOTALL)
_CHOICES: Final = re.compile(r"invalid choice: '?(.*?)'? \(choose from (.*)\)", re.DOTALL)
_SIZES: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_NEAR: Final = 0.72
_STARTS: Final = ("enable-", "disable-")
_MEANT: Final = {"fp8": ("fp8_e4m3",), "half": ("float16",), "fp16": ("float16",)}
"""Values that other engines and torch take, by what they mean there."""
_NUMBERS: Final = {
    w: str(i)
    for i, w in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
}


def blamed(message: str, argv: tuple[str, ...], options: Options) -> list[str]:
    """The flags that the parser complains about, in the order of the line."""
    m = _UNRECOGNIZED.search(message)
    if m is not None:
        unknown = [p for p in pieces(argv, options) if _is_unknown(p, m[1])]
        return [p.name or p.values[0] for p in unknown]
    for pattern in (_AMBIGUOUS, _ARGUMENT, _REQUIRED):
        m = pattern.search(message)
        if m is not None:
            names = [n.strip() for part in m[1].split("/") for n in part.split(",")]
            written = [p.name for p in pieces(argv, options) if p.option and _same(p.option, names)]
            return written or names[:1]
    return []


def _same(option: Option, names: list[str]) -> bool:
    return any(n in option.names for n in names)


def _is_unknown(piece: Piece, listed: str) -> bool:
    if piece.option is not None:
        return False
    words = [piece.name] if piece.name else list(piece.values)
    return all(w in listed for w in words)


def guesses(
    message: str, argv: tuple[str, ...], options: Options, translations: Translations
) -> Iterator[Change]:
    """Lines that may have been meant, best first."""
    line = pieces(argv, options)
    if (m := _UNRECOGNIZED.search(message)) is not None:
        unknown = [p for p in line if _is_unknown(p, m[1])]
        if unknown:
            yield from _for_unknown(argv, unknown[0], line, options, translations)
    elif (m := _AMBIGUOUS.search(message)) is not None:
        piece = next((p for p in line if p.name == m[1].partition("=")[0]), None)
        for name in m[2].split(","):
            option = options.by_name.get(name.strip())
            if piece and option:
                yield renamed(argv, piece, option, name.strip())
    elif (m := _REQUIRED.search(message)) is not None:
        yield from _for_required(argv, m[1].split(",")[0].split("/")[0].strip(), options)
    elif (m := _ARGUMENT.search(message)) is not None:
        names = m[1].split("/")
        piece = next((p for p in line if p.option and _same(p.option, names)), None)
        if piece is not None and piece.option is not None:
            yield from _for_value(argv, piece, piece.option, m[2])


def _for_required(argv: tuple[str, ...], name: str, options: Options) -> Iterator[Change]:
    apart = _taken_apart(argv, options)
    if apart is not None:
        yield apart
    for piece in pieces(argv, options):
        if piece.option is None and piece.name:
            for found in _spelled(piece.name, options) + near(piece.name, options):
                if name in options.by_name[found].names:
                    yield renamed(argv, piece, options.by_name[found], found)
    if name == "--model-path":
        yield Change((*argv, name, "<model>"), f"add `{name}`, the model to serve", (name,))


def _for_unknown(
    argv: tuple[str, ...],
    piece: Piece,
    line: list[Piece],
    options: Options,
    translations: Translations,
) -> Iterator[Change]:
    if not piece.name:
        yield from _for_stray(argv, piece, line, options)
        return
    for name in _spelled(piece.name, options):
        yield renamed(argv, piece, options.by_name[name], name)
    plain = "--" + piece.name.lstrip("-").replace("_", "-")
    for words in translations.get(piece.name, ()) or translations.get(plain, ()):
        change = _translated(argv, piece, words, options)
        if change is not None:
            yield change
    for name in near(piece.name, options):
        yield renamed(argv, piece, options.by_name[name], name)
    yield without(argv, piece)


def _spelled(name: str, options: Options) -> list[str]:
    """The known flag that this is with other hyphens or capitals; at most one."""
    plain = "--" + name.lstrip("-").replace("_", "-")
    return [n for n in (plain, name.lower(), plain.lower()) if n in options.by_name][:1]


def near(name: str, options: Options) -> list[str]:
    """Spellings of known flags that look like this one, best first."""
    wanted = name.lstrip("-").replace("_", "-").lower()
    long = [n for n in options.by_name if n.startswith("--")]
    scored = [(_alike(wanted, n[2:]), n) for n in long]
    words = set(wanted.split("-"))
    scored = [
        (max(score, _NEAR if len(words) > 1 and words == set(n[2:].split("-")) else 0), n)
        for score, n in scored
    ]
    return [n for score, n in sorted(scored, reverse=True)[:3] if score >= _NEAR]


def _alike(one: str, other: str) -> float:
    """How much two names look alike; what half of all flags begin with says nothing."""
    whole = difflib.SequenceMatcher(None, one, other).ratio()
    for start in _STARTS:
        if one.startswith(start) and other.startswith(start):
            rest = difflib.SequenceMatcher(None, one[len(start) :], other[len(start) :]).ratio()
            return min(whole, rest)
    return whole


def _for_stray(
    argv: tuple[str, ...], piece: Piece, line: list[Piece], options: Options
) -> Iterator[Change]:
    word = piece.values[0]
    inner = tuple(word.split())
    if len(inner) > 1 and options.named(inner[0]):
        text = f"write `{word}` as {len(inner)} separate arguments"
        yield replaced(argv, piece, inner, text)
    before = next((p for p in reversed(line) if p.end == piece.start), None)
    if before is not None and before.name == "-" + word:
        yield without(argv, before)
    change = without(argv, piece)
    yield Change(change.argv, change.text, (word,))


def _taken_apart(argv: tuple[str, ...], options: Options) -> Change | None:
    """The line with flags and values that stand in one word as words of their own."""
    parts = [w.split() if w.startswith("--") and " " in w else [w] for w in argv]
    joined = [w for w, p in zip(argv, parts, strict=True) if len(p) > 1 and options.named(p[0])]
    if not joined:
        return None
    shown = ", ".join(f"`{w}`" for w in joined)
    words = tuple(word for part in parts for word in part)
    return Change(words, f"write {shown} as separate arguments")


def _translated(
    argv: tuple[str, ...], piece: Piece, words: Sequence[str], options: Options
) -> Change | None:
    """The line with a foreign flag translated; None if the release has no such flag either."""
    value = " ".join(piece.values)
    new = tuple(w.replace("{value}", value) for w in words)
    if any(is_flag(w) and not options.named(w) for w in new):
        return None
    if not new:
        return Change(
            argv[: piece.start] + argv[piece.end :],
            f"remove `{piece.name}`",
            (piece.name,),
        )
    known = options.named(new[0])
    if known is not None and not known.is_flag and len(new) == 1:
        new = (*new, *piece.values)
    return replaced(argv, piece, new, f"write `{' '.join(new)}` instead of `{piece.name}`")


def _for_value(
    argv: tuple[str, ...], piece: Piece, option: Option, complaint: str
) -> Iterator[Change]:
    given = piece.values[0] if piece.values else ""
    if (m := _CHOICES.search(complaint)) is not None:
        given = m[1]
        for choice in _near_choices(given, [c.strip(" '") for c in m[2].split(",")]):
            yield _set(argv, piece, given, choice)
    elif "invalid" in complaint and option.kind in ("int", "float"):
        for number in _numbers(given, option.kind):
            yield _set(argv, piece, given, number)
    elif "ignored explicit argument" in complaint and option.is_flag:
        yield replaced(argv, piece, (piece.name,), f"write `{piece.name}` without a value")
    yield without(argv, piece)


def _set(argv: tuple[str, ...], piece: Piece, given: str, value: str) -> Change:
    new = tuple(
        w.replace(given, value) if given and w.endswith(given) else w
        for w in argv[piece.start : piece.end]
    )
    return replaced(argv, piece, new, f"set `{piece.name}` to `{value}`")


def _near_choices(given: str, choices: list[str]) -> list[str]:
    def folded(text: str) -> str:
        return re.sub(r"[-_. ]", "", text.lower())

    if given.lstrip("-").isdigit() and all(c.lstrip("-").isdigit() for c in choices):
        return sorted(choices, key=lambda c: abs(int(c) - int(given)))[:1]
    same = [c for c in choices if folded(c) == folded(given)]
    initials = "".join(w[:1] for w in re.split(r"[-_. ]", given.lower()))
    short = [c for c in choices if len(c) > 1 and folded(c) == initials]
    meant = [c for c in _MEANT.get(given.lower(), ()) if c in choices]
    longer = [c for c in choices if len(given) > 1 and folded(c).startswith(folded(given))]
    close = difflib.get_close_matches(given.lower(), choices, n=3, cutoff=0.6)
    holding = [c for c in choices if folded(c) and folded(c) in folded(given)]
    return list(dict.fromkeys([*same, *meant, *short, *longer, *close, *holding]))[:4]


def _numbers(given: str, kind: str) -> list[str]:
    found = []
    text = given.strip().lower().replace(",", "").replace("_", "")
    if kind == "float" and (m := re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text)) is not None:
        found.append(f"{float(m[1]) / 100:g}")
    if text in _NUMBERS:
        found.append(_NUMBERS[text])
    if (m := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg])(?:i?b)?", text)) is not None:
        found.append(str(int(float(m[1]) * _SIZES[m[2]])))
    if (m := re.search(r"\d+", text)) is not None:
        found.append(m.group())
    return found
