"""Which words does a shell text hold, and where does each of their characters stand?

Reads what people paste, not only what a shell would take: continuations of three shells, comments
between continued lines, typographic quotes and dashes, non-breaking blanks, `<placeholders>`. Each
liberty taken is said in a note. Every character of a word knows its place in the pasted text, so
that a word inside `bash -c "..."` can still be pointed at.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import regex

QUOTES: Final = {
    '"': '"',
    "'": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{DOUBLE LOW-9 QUOTATION MARK}": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}
DASHES: Final = {
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "--",
    "\N{HYPHEN}": "-",
    "\N{NON-BREAKING HYPHEN}": "-",
    "\N{MINUS SIGN}": "-",
    "\N{FULLWIDTH HYPHEN-MINUS}": "-",
}
BLANKS: Final = frozenset(" \t\r\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}")
INVISIBLE: Final = frozenset("\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NO-BREAK SPACE}\N{WORD JOINER}")

_CONTINUATION: Final = regex.compile(r"[\\^`](?P<blanks>[ \t\xa0]*)\r?\n")
_BLANK_LINES: Final = regex.compile(r"[ \t\r\xa0\n]*+")
_LAST_BACKSLASH: Final = regex.compile(r"\\\s*+\Z")
_COMMENT_LINE: Final = regex.compile(r"[ \t\xa0]*#[^\n]*(?:\n|$)")
_PLACEHOLDER: Final = regex.compile(r"<(?![<(&])[^<>\n|&;]{1,60}>|\{\{[^{}\n]{1,80}\}\}")
_REDIRECTION: Final = regex.compile(r"(?:\d|&)?>>?(?:&\d|&-|\|)?|<<?<?")
_VARIABLE: Final = regex.compile(
    r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?:(?::?-)(?P<default>[^}]*))?[^}]*\}|(?P<plain>[A-Za-z_]\w*))"
)
_QUERY: Final = regex.compile(r"\?\S*$")
_SEPARATORS: Final = ("&&", "||", ";;", ";", "|&", "|", "&")


@dataclass(slots=True)
class Word:
    """One word after quotes and expansions, with the place of each of its characters."""

    text: str = ""
    offsets: list[int] = field(default_factory=list)
    """`offsets[i]` is where `text[i]` stands in the pasted text."""
    start: int = 0
    end: int = 0
    quoted: bool = False
    holes: list[str] = field(default_factory=list)
    """What is left to be filled in: `<model>`, `$MODEL`, `$(nproc)`."""

    def add(self, text: str, offset: int) -> None:
        """Append characters that all come from one place."""
        self.text += text
        self.offsets += [offset] * len(text)


@dataclass(frozen=True, slots=True)
class Source:
    """Text to read, and where each of its characters stands in what was pasted."""

    text: str
    offsets: tuple[int, ...] | None = None

    def at(self, i: int) -> int:
        """Place of character `i` in the pasted text."""
        if self.offsets is None:
            return i
        return self.offsets[min(i, len(self.offsets) - 1)] if self.offsets else 0


class Lexer:
    """Splits a source into statements, each a list of words."""

    def __init__(self, source: Source, variables: Mapping[str, str]) -> None:
        self.source = source
        self.text = source.text
        self.variables = variables
        self.notes: list[str] = []
        self.i = 0

    def note(self, text: str) -> None:
        """Say once what was read as something else."""
        if text not in self.notes:
            self.notes.append(text)

    def statements(self) -> Iterator[tuple[list[Word], str]]:
        """Each statement with the separator that ended it (a newline, `;`, `|`, ...)."""
        words: list[Word] = []
        while self.i < len(self.text):
            c = self.text[self.i]
            if c in BLANKS or c in INVISIBLE:
                self.i += 1
            elif self._continuation():
                continue
            elif c == "\n":
                self.i += 1
                if words and self._goes_on():
                    self.note("A line break before a flag was read as a continued line.")
                    continue
                yield words, "\n"
                words = []
            elif c == "#" and (not words or self.text[self.i - 1] not in "-_=/"):
                self._comment(inside=bool(words))
            elif (separator := self._separator()) is not None:
                yield words, separator
                words = []
            elif self._redirection():
                continue
            else:
                word = self._word()
                if word is not None:
                    words.append(word)
        yield words, ""

    def _continuation(self) -> bool:
        m = _CONTINUATION.match(self.text, self.i)
        if m is None:
            # A lone backslash at the very end, or before blanks only, continues nothing.
            if _LAST_BACKSLASH.match(self.text, self.i):
                self.i = len(self.text)
                return True
            return False
        if m["blanks"]:
            self.note(
                "A backslash followed by blanks does not continue a line in a shell; it was read "
                "as if it did."
            )
        self.i = m.end()
        # `\` at the end, then a comment, then more flags: a shell would stop at the comment.
        while (comment := _COMMENT_LINE.match(self.text, self.i)) is not None:
            self.i = comment.end()
            self.note("A comment between continued lines ends the command in a shell; skipped.")
        return True

    def _goes_on(self) -> bool:
        at = self.i
        while (comment := _COMMENT_LINE.match(self.text, at)) is not None and comment.end() > at:
            at = comment.end()
        blanks = _BLANK_LINES.match(self.text, at)
        at = blanks.end() if blanks else at
        head = self.text[at : at + 3]
        return bool(head) and (head[0] == "-" or head[0] in DASHES) and not head.startswith("---")

    def _comment(self, *, inside: bool) -> None:
        end = self.text.find("\n", self.i)
        end = len(self.text) if end < 0 else end
        if inside and self.text[self.i : end].rstrip().endswith("\\"):
            # `--tp 8 # eight GPUs \`: meant to go on.
            self.note("A comment between continued lines ends the command in a shell; skipped.")
            end += 1
        self.i = end

    def _separator(self) -> str | None:
        for s in _SEPARATORS:
            if self.text.startswith(s, self.i):
                if s == "&" and self.text.startswith("&>", self.i):
                    return None
                self.i += len(s)
                return s
        return None

    def _redirection(self) -> bool:
        if _PLACEHOLDER.match(self.text, self.i):
            return False
        m = _REDIRECTION.match(self.text, self.i)
        if m is None or not m.group():
            return False
        self.i = m.end()
        if not regex.search(r"&[\d-]$", m.group()):
            while self.i < len(self.text) and self.text[self.i] in BLANKS:
                self.i += 1
            if self.i < len(self.text) and self.text[self.i] not in "\n;|&":
                self._word()
        return True

    def _word(self) -> Word | None:
        word = Word(start=self.source.at(self.i))
        begun = self.i
        while self.i < len(self.text) and not self._word_ends(self.text[self.i]):
            c = self.text[self.i]
            placeholder = _PLACEHOLDER.match(self.text, self.i)
            if placeholder:
                word.holes.append(placeholder.group())
                for i in range(self.i, placeholder.end()):
                    word.add(self.text[i], self.source.at(i))
                self.i = placeholder.end()
            elif c in QUOTES:
                self._quoted(word, c)
            elif c == "\\" and self.i + 1 < len(self.text):
                word.add(self.text[self.i + 1], self.source.at(self.i + 1))
                self.i += 2
            elif c == "$" or (c == "`" and self.text.find("`", self.i + 1) > 0):
                self._expansion(word)
            else:
                self._plain(word, c)
        if self.i == begun:  # a lone `<` or `&`: never stand still
            self.i += 1
            return None
        word.end = self.source.at(self.i - 1) + 1
        return word

    def _word_ends(self, c: str) -> bool:
        if c in BLANKS or c in "\n;|":
            return True
        if c in "&>":
            return not self._inside_url()
        if c == "<":
            return _PLACEHOLDER.match(self.text, self.i) is None
        return c in "\\^`" and _CONTINUATION.match(self.text, self.i) is not None

    def _inside_url(self) -> bool:
        return (
            self.text[self.i] == "&"
            and _QUERY.search(self.text[max(0, self.i - 300) : self.i]) is not None
        )

    def _plain(self, word: Word, c: str) -> None:
        if c in INVISIBLE:
            self.i += 1
            return
        if c in DASHES and word.text.strip("-") == "":
            dashes = DASHES[c] if not word.text or DASHES[c] == "-" else "-"
            self.note(f"The dash {c} before a flag was read as {dashes}.")
            word.add(dashes, self.source.at(self.i))
        else:
            word.add(c, self.source.at(self.i))
        self.i += 1

    def _quoted(self, word: Word, opening: str) -> None:
        quote = QUOTES[opening]
        if opening != quote:
            self.note("Typographic quotes were read as plain ones.")
        ends = [
            q for q, plain in QUOTES.items() if plain == quote and (opening != quote or q == quote)
        ]
        word.quoted = True
        self.i += 1
        while self.i < len(self.text):
            c = self.text[self.i]
            if c in ends:
                self.i += 1
                return
            if (
                quote == '"'
                and c == "\\"
                and self.text[self.i + 1 : self.i + 2] in ('"', "\\", "$", "`", "\n")
            ):
                if self.text[self.i + 1] != "\n":
                    word.add(self.text[self.i + 1], self.source.at(self.i + 1))
                self.i += 2
            elif quote == '"' and c == "$":
                self._expansion(word)
            else:
                word.add(c, self.source.at(self.i))
                self.i += 1
        self.note("A quote is opened and never closed.")

    def _expansion(self, word: Word) -> None:
        start = self.i
        if self.text.startswith("$(", start) or self.text[start] == "`":
            self.i = self._closing(start)
            hole = self.text[start : self.i]
            word.holes.append(hole)
            word.add(hole, self.source.at(start))
            return
        m = _VARIABLE.match(self.text, start)
        if m is None:
            word.add(self.text[start], self.source.at(start))
            self.i += 1
            return
        name = m["braced"] or m["plain"]
        value = self.variables.get(name, m["default"] or "")
        if value:
            word.add(value, self.source.at(start))
        else:
            word.holes.append(m.group())
            word.add(m.group(), self.source.at(start))
        self.i = m.end()

    def _closing(self, start: int) -> int:
        if self.text[start] == "`":
            end = self.text.find("`", start + 1)
            return len(self.text) if end < 0 else end + 1
        depth = 0
        for i in range(start + 1, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[i], 0)
            if depth == 0:
                return i + 1
        return len(self.text)
