"""HTML as a test reads it: words in order, elements with their attributes."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img", "wbr"}


class Page(HTMLParser):
    """The elements and the words of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._words: list[str] = []
        self._open: list[str] = []
        self.unclosed: list[str] = []
        self.feed(html)
        self.close()
        self.unclosed += [
            tag for tag in self._open if tag not in {"html", "body", "head", "p", "li"}
        ]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while (last := self._open.pop()) != tag:
                self.unclosed.append(last)
        else:
            self.unclosed.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self._open):
            self._words.append(data)

    @property
    def words(self) -> str:
        """The visible text with single spaces."""
        return " ".join("".join(self._words).split())

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        """The attributes of all elements of a tag that have these."""
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(k.rstrip("_")) == v for k, v in attributes.items())
        ]

    def links(self) -> set[str]:
        """Where the page leads on this site, without fragments."""
        wanted = {a["href"].split("#")[0] for _, a in self.elements if "href" in a}
        wanted |= {a["src"] for _, a in self.elements if "src" in a}
        return {href for href in wanted if href.startswith("/")}
