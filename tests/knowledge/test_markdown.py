"""Markdown becomes HTML that may be put into a page as it is."""

from html.parser import HTMLParser

import pytest

from app.knowledge.markdown import code_html, inline_html, markdown_html, plain_text


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "![x](https://elsewhere.example/pixel.png)",
        '[x](https://a.example "a\\" onclick=\\"b")',
        "<style>body{display:none}</style>",
        '```python" onmouseover="alert(1)\nx\n```',
        "[x](data:text/html;base64,AAAA)",
    ],
)
def test_nothing_that_runs_or_loads_comes_through(hostile: str) -> None:
    for html in (markdown_html(hostile), inline_html(hostile)):
        found = _Elements()
        found.feed(html)
        assert {tag for tag, _ in found.seen} <= {"p", "a", "pre", "code", "span"}
        for _, attributes in found.seen:
            assert {name for name, _ in attributes} <= {"href", "title", "class"}
            for name, value in attributes:
                assert name != "href" or str(value).startswith(("https:", "/")), html


class _Elements(HTMLParser):
    """The elements of some HTML with their attributes, as a browser reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))


def test_code_is_coloured_by_classes_and_never_by_style() -> None:
    html = markdown_html("```python\ndef f():\n    return 1  # one\n```")
    assert '<pre class="code python"><code>' in html
    assert '<span class="k">def</span>' in html
    assert "style=" not in html


def test_the_second_word_of_a_fence_is_a_class() -> None:
    assert '<pre class="code python broken">' in markdown_html("```python broken\nx\n```")


def test_an_unknown_language_is_plain_text() -> None:
    assert code_html("a < b", "no-such-language") == "a &lt; b"


def test_headings_stay_below_those_of_the_page() -> None:
    html = markdown_html("Symptom\n-------\n\ntext\n\n# Top\n")
    assert "<h1" not in html
    assert "<h2" not in html
    assert "<h3>Symptom</h3>" in html


def test_tables_and_strikethrough_are_read() -> None:
    assert "<td>1</td>" in markdown_html("| a |\n|---|\n| 1 |")
    assert "<s>no</s>" in inline_html("~~no~~")


def test_plain_text_keeps_words_and_drops_marks() -> None:
    assert plain_text("A **bold** `code` and\na [link](/x).") == "A bold code and a link."
