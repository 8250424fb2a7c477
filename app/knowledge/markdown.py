"""Markdown in, safe HTML out: code is coloured with CSS classes, everything else is sanitised.

Curated text is ours, but it is rendered as if it were not: raw HTML in it is shown as text, and
what comes out has passed an allow-list, so no page needs an inline script or style.
"""

import re
from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

_TAGS = {
    "a", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "h3", "h4", "h5", "hr", "kbd",
    "li", "ol", "p", "pre", "s", "span", "strong", "sub", "sup", "table", "tbody", "td", "th",
    "thead", "tr", "ul", "div",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "div": {"class"},
    "span": {"class"},
    "pre": {"class"},
    "ol": {"start"},
}
_GLUED = re.compile(r"^([+-])(?=\S)", re.MULTILINE)
_MARK = re.compile(r"[a-z][a-z0-9]*")
_BELOW = {"h1": "h3", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h5", "h6": "h5"}
_FORMATTER = HtmlFormatter(nowrap=True)


def code_html(code: str, language: str = "") -> str:
    """Colour one piece of code.

    Returns:
        Escaped HTML with `<span class>` tokens; plain escaped text for an unknown language.
    """
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    return str(highlight(code, lexer, _FORMATTER)).rstrip("\n")


def numbered_html(code: str, first: int, marked: int | None = None) -> str:
    """Python code with the numbers of its lines, one of them marked.

    Args:
        code: the lines.
        first: number of the first one.
        marked: number of the line that matters.
    """
    lines = code_html(code, "python").split("\n")  # Pygments closes its spans at each line's end
    numbered = []
    for number, line in enumerate(lines, first):
        kind = "ln at" if number == marked else "ln"
        numbered.append(f'<span class="{kind}">{number}</span>{line}')
    return "\n".join(numbered)


def _fence(code: str, language: str, rest: str) -> str:
    """A fenced block: `<pre class="code LANG"><code>…`; the second word of the info is a class."""
    marks = [word for word in (language, *rest.split()) if _MARK.fullmatch(word)]
    if language == "diff":
        code = _GLUED.sub(
            r"\1 ", code
        )  # `---tp 4` reads as a rule; `- --tp 4` as what is taken out
    body = code_html(code.rstrip("\n"), language)
    return f'<pre class="{" ".join(["code", *marks])}"><code>{body}</code></pre>'


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _fence})
    parser.core.ruler.push("lower_headings", _lower_headings)
    return parser.enable(["table", "strikethrough"])


def _lower_headings(state: StateCore) -> None:
    """The page has its own first two levels; those of a text come below."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = _BELOW[token.tag]


def markdown_html(text: str) -> str:
    """Render a block of Markdown to HTML that may be put into a page as it is."""
    return nh3.clean(
        _parser().render(text),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"https", "http", "mailto"},
        link_rel=None,
    )


def inline_html(text: str) -> str:
    """Render one line of Markdown without a paragraph around it."""
    return nh3.clean(
        _parser().renderInline(" ".join(text.split())),
        tags={"a", "br", "code", "del", "em", "s", "strong"},
        attributes={"a": {"href", "title"}},
        url_schemes={"https", "http", "mailto"},
        link_rel=None,
    )


def plain_text(text: str) -> str:
    """The words of a piece of Markdown, for a description, a feed or a terminal."""
    kept = [
        child.content if child.type in {"text", "code_inline"} else " "
        for token in _parser().parseInline(" ".join(text.split()))
        for child in token.children or ()
        if child.type in {"text", "code_inline", "softbreak", "hardbreak"}
    ]
    return "".join(kept).strip()
