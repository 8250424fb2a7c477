"""Axe finds nothing serious on any kind of page, in the dark and in the light."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By

from app.settings import load_settings
from tests.web.browsers import chromium, scheme, serving, wait_for
from tests.web.catalogs import SLUG
from tests.web.conftest import settings_in
from tests.web.test_preflight import LINE

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
AXE = (Path(__file__).parent / "axe/axe-4.14.1.min.js").read_text(encoding="utf-8")
KDA = "kda-verify-exceeds-scratch-steps"
PAGES = [
    "/", "/errors", "/errors?q=rows", "/errors?q=zzzz", f"/errors/{SLUG}", f"/errors/{KDA}",
    "/families", "/families/capacity-exceeded", "/releases", "/releases/sglang/2.0",
    "/releases/sglang/diff", "/releases/sglang/diff?status=new", "/diagnose", "/preflight",
    "/about", "/runs/aaaaaaaaaaaaaaa1", "/errors/none",
]  # fmt: skip
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOG = """[2026-11-29 07:41:10 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/x/sglang/srt/table.py", line 14, in take
    raise ValueError(
ValueError: needs 16 rows, has 8
[2026-11-29 07:41:11 TP1] ValueError: needs 16 rows, has 8
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    with chromium(tmp_path_factory.mktemp("axe")) as found:
        found.set_script_timeout(60)
        yield found


def faults(browser: WebDriver) -> list[str]:
    """What axe says of the page that is open, all details open: rule, impact, where."""
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true;")
    browser.execute_script(AXE)
    found: list[dict[str, Any]] = browser.execute_async_script(
        "const done = arguments[1];"
        "axe.run({runOnly: arguments[0]}).then(r => done(r.violations), e => done([{id: `${e}`}]))",
        RULES,
    )
    return [
        f"{v['id']} ({v.get('impact')}): {[n['target'] for n in v.get('nodes', [])][:3]}"
        for v in found
        if v.get("impact") != "minor"
    ]


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_axe_finds_nothing_on_any_kind_of_page(
    browser: WebDriver, served: str, colors: str
) -> None:
    scheme(browser, colors)
    found = {}
    for path in PAGES:
        browser.get(served + path)
        heading = browser.find_element(By.TAG_NAME, "h1").text
        assert (heading == "Not found") == (path == "/errors/none"), path
        assert heading != "Something went wrong", path
        if said := faults(browser):
            found[path] = said
    assert found == {}


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_axe_finds_nothing_in_a_diagnosis_or_in_a_list_of_hits(
    browser: WebDriver, served: str, colors: str
) -> None:
    scheme(browser, colors)
    browser.get(served)
    browser.find_element(By.NAME, "text").send_keys("scratch steps")
    wait_for(browser, "#box-hits a", "KDA")
    assert faults(browser) == []
    browser.get(f"{served}/diagnose")
    box = browser.find_element(By.NAME, "text")
    browser.execute_script("arguments[0].value = arguments[1]", box, LOG)
    box.submit()
    wait_for(browser, "h1", "rows")
    assert faults(browser) == []


@pytest.mark.wheel
def test_axe_finds_nothing_in_the_report_of_a_launch_line(
    browser: WebDriver, tmp_path: Path
) -> None:
    settings = settings_in(tmp_path, CACHE_DIR=str(load_settings().cache_dir))
    with serving(settings) as address:
        browser.get(f"{address}/preflight")
        box = browser.find_element(By.NAME, "text")
        browser.execute_script("arguments[0].value = arguments[1]", box, LINE)
        box.submit()
        wait_for(browser, "h1", "refused")
        for colors in ("light", "dark"):
            scheme(browser, colors)
            assert faults(browser) == []


def test_axe_would_find_a_fault(browser: WebDriver, served: str) -> None:
    browser.get(f"{served}/about")
    browser.execute_script(
        "document.querySelector('main').innerHTML += '<img src=x><a href=x></a>'"
    )
    assert len(faults(browser)) >= 2
