"""What a page weighs and whether it holds still: bytes, requests and layout shift in a browser."""

import contextlib
import http.server
import itertools
import re
import threading
import time
import urllib.request
from collections.abc import Iterator

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver

from tests.web.browsers import chromium, complaints
from tests.web.catalogs import SLUG

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
KDA = "kda-verify-exceeds-scratch-steps"
PAGES = [
    "/", "/errors", f"/errors/{SLUG}", f"/errors/{KDA}", "/families",
    "/families/capacity-exceeded", "/releases", "/releases/sglang/2.0", "/releases/sglang/diff",
    "/diagnose", "/preflight", "/about", "/runs/aaaaaaaaaaaaaaa1",
]  # fmt: skip
WATCH = """
window.shifts = [];
new PerformanceObserver(list => {
  for (const e of list.getEntries())
    if (!e.hadRecentInput)
      window.shifts.push([
        e.value, ...e.sources.map(s => s.node && (s.node.className || s.node.nodeName))
      ]);
}).observe({type: 'layout-shift', buffered: true});
"""
LOADED = """
return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .map(e => [e.name, e.encodedBodySize, e.decodedBodySize]);
"""


def watched(browser: WebDriver) -> None:
    """Count layout shifts from the first paint of each page on, with nothing in the cache."""
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})


@pytest.fixture(scope="module", params=[1366, 360], ids=["laptop", "phone"])
def browser(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[WebDriver]:
    with chromium(tmp_path_factory.mktemp("weight"), width=request.param) as found:
        watched(found)
        yield found


@pytest.mark.parametrize("key", [SLUG, KDA])
def test_an_entry_page_is_under_60_kb_and_10_requests(
    browser: WebDriver, served: str, key: str
) -> None:
    """All that is loaded for it, as it goes over the wire; and the page alone, unpacked."""
    browser.get(f"{served}/errors/{key}")
    loaded = browser.execute_script(LOADED)
    assert len(loaded) <= 10, loaded
    assert 10_000 < sum(size for _, size, _ in loaded) < 60_000, loaded
    assert loaded[0][2] < 60_000


def test_nothing_moves_while_a_page_loads(browser: WebDriver, served: str) -> None:
    moved = {}
    for path in PAGES:
        browser.get(served + path)
        browser.execute_async_script("setTimeout(arguments[0], 250)")
        if shifts := browser.execute_script("return window.shifts"):
            moved[path] = shifts
    assert moved == {}
    assert complaints(browser) == []


def test_nothing_moves_while_a_page_arrives_in_pieces(browser: WebDriver, served: str) -> None:
    """The frame is painted before its last piece is there, which may push no other aside."""
    with urllib.request.urlopen(f"{served}/releases") as answer:
        page = answer.read()
    head, frame = page.index(b"<body"), page.index(b"<main")
    tags = [head + at.start() for at in re.finditer(rb"<(?=[a-z])", page[head:frame])]
    cuts = [0, *tags, frame, len(page)]
    pieces = [page[a:b] for a, b in itertools.pairwise(cuts)]
    with in_pieces(pieces, served) as address:
        browser.get(address)
        browser.execute_async_script("setTimeout(arguments[0], 250)")
        assert browser.execute_script("return window.shifts") == []
        assert browser.execute_script("return document.querySelectorAll('nav a').length") > 3


@contextlib.contextmanager
def in_pieces(pieces: list[bytes], served: str) -> Iterator[str]:
    """A server that sends a page piece by piece, slowly; its files come from where it is served."""

    class Slow(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = "" if self.path == "/" else self.path
            with urllib.request.urlopen(served + path) as answer:
                body, kind = answer.read(), answer.headers["Content-Type"]
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            if path:
                self.wfile.write(body)
                return
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(0.25)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


def test_a_shift_would_be_seen(browser: WebDriver, served: str) -> None:
    browser.get(f"{served}/about")
    browser.execute_async_script("setTimeout(arguments[0], 600)")
    browser.execute_script(
        "const box = document.createElement('div'); box.textContent = 'x'; box.className = 'card';"
        "document.querySelector('main').prepend(box, box.cloneNode(true), box.cloneNode(true))"
    )
    browser.execute_async_script("setTimeout(arguments[0], 250)")
    assert browser.execute_script("return window.shifts")


@pytest.mark.parametrize("key", [SLUG, KDA])
def test_what_a_reader_needs_first_is_above_the_fold(
    browser: WebDriver, served: str, key: str
) -> None:
    """Message, meaning, badges, the first fix and the first `not this if`, without scrolling."""
    browser.get(f"{served}/errors/{key}")
    seen = browser.execute_script(
        "return ['h1', '.tags', '.lead', '.fix .copy', '.not li'].map("
        "  css => [css, document.querySelector(css).getBoundingClientRect().top + 20])"
    )
    height = browser.execute_script("return innerHeight")
    assert [piece for piece in seen if piece[1] > height] == []
