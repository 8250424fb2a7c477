"""Journeys through a catalog with releases, in a real browser, with JavaScript and without it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.web.browsers import chromium, complaints, wait_for
from tests.web.catalogs import SLUG

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
PAGES = [
    "/", "/releases", "/releases/sglang/2.0", "/releases/sglang/diff", "/families",
    "/families/capacity-exceeded", f"/errors/{SLUG}", "/runs/aaaaaaaaaaaaaaa1",
    "/errors/kda-verify-exceeds-scratch-steps",
]  # fmt: skip
LOG = """[2026-11-29 07:41:10 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/x/sglang/srt/table.py", line 14, in take
ValueError: needs 16 rows, has 8
"""


@pytest.fixture(scope="module", params=[True, False], ids=["with-script", "without-script"])
def browser(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[WebDriver]:
    """Used by journeys that are the same for both."""
    with chromium(tmp_path_factory.mktemp("journey"), script=request.param) as found:
        yield found


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    with chromium(tmp_path_factory.mktemp("scripted")) as found:
        yield found


def click(browser: WebDriver, css: str) -> None:
    browser.find_element(By.CSS_SELECTOR, css).click()


def type_in(box: WebElement, text: str) -> None:
    """Type a text of several lines; Enter alone would send it where a script listens."""
    for number, line in enumerate(text.splitlines()):
        if number:
            box.send_keys(Keys.SHIFT, Keys.ENTER, Keys.NULL)
        box.send_keys(line)


def heading(browser: WebDriver) -> str:
    return browser.find_element(By.TAG_NAME, "h1").text


def test_a_pasted_log_leads_to_its_diagnosis_and_on_to_the_entry(
    browser: WebDriver, served: str
) -> None:
    browser.get(served)
    type_in(browser.find_element(By.NAME, "text"), LOG)
    click(browser, "form.box button.go")
    wait_for(browser, ".exact", "needs 16 rows, has 8")
    assert "/diagnose" in browser.current_url
    assert "Do this first" in browser.find_element(By.TAG_NAME, "main").text
    click(browser, '.card a[href^="/errors/"]')
    wait_for(browser, "h1", "needs {wanted} rows, has {rows}")
    assert complaints(browser) == []


def test_the_heat_map_leads_to_the_errors_of_a_cell(browser: WebDriver, served: str) -> None:
    browser.get(f"{served}/releases")
    cell = browser.find_element(By.CSS_SELECTOR, '.heat a[href*="area=srt"]')
    number = cell.text
    cell.click()
    wait_for(browser, "h1", f"{number} errors in srt")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".rows li")) == int(number)
    assert complaints(browser) == []


def test_two_releases_are_compared_and_one_kind_of_change_has_its_address(
    browser: WebDriver, served: str
) -> None:
    browser.get(f"{served}/releases")
    click(browser, "a.more")
    wait_for(browser, "h1", "sglang 1.1 → 2.0")
    click(browser, 'select[name="from"] option:last-child')
    click(browser, "form.filters button")
    wait_for(browser, "h1", "sglang 1.0 → 2.0")
    click(browser, '.figs a[href*="status=moved"]')
    wait_for(browser, "#moved", "Moved")
    assert "status=moved" in browser.current_url
    assert browser.find_elements(By.ID, "new") == []
    assert "sglang/srt/table.py" in browser.find_element(By.TAG_NAME, "main").text


def test_a_family_is_side_by_side_in_its_packages(browser: WebDriver, served: str) -> None:
    browser.get(f"{served}/families")
    click(browser, 'a[href="/families/capacity-exceeded"]')
    wait_for(browser, "h1", "Capacity exceeded")
    packages = [e.text for e in browser.find_elements(By.CSS_SELECTOR, ".multiples h3")]
    assert len(packages) > 1
    assert packages[0].startswith("sglang")
    bars = browser.find_elements(By.CSS_SELECTOR, ".multiples svg rect")
    assert len(bars) == 3, "one a release"


def test_long_lists_are_paged_and_their_pages_have_addresses(
    browser: WebDriver, served: str
) -> None:
    browser.get(f"{served}/errors?status=explained")
    first = browser.find_element(By.CSS_SELECTOR, ".rows a.msg").get_attribute("href")
    click(browser, 'a[rel="next"]')
    wait_for(browser, ".pages", "Page 2 of")
    assert "page=2" in browser.current_url
    assert browser.find_element(By.CSS_SELECTOR, ".rows a.msg").get_attribute("href") != first
    click(browser, 'a[rel="prev"]')
    wait_for(browser, ".pages", "Page 1 of")


def test_words_that_nothing_has_lead_on(browser: WebDriver, served: str) -> None:
    browser.get(served)
    browser.find_element(By.NAME, "q").send_keys("zzzz qqqq", Keys.ENTER)
    wait_for(browser, ".lead a", "Paste the whole log")


def test_an_issue_has_the_environment_in_it(browser: WebDriver, served: str) -> None:
    browser.get(f"{served}/errors/{SLUG}")
    click(browser, ".report summary")
    said = wait_for(browser, ".report pre", "Environment")
    for part in (SLUG, "sglang 2.0", "Reprobase: 0.1.0", "Run: aaaaaaaaaaaaaaa1", "torch 2.13.0"):
        assert part in said
    assert f"data/errors/{SLUG}.md" in browser.find_element(By.CSS_SELECTOR, ".prov").text


@pytest.mark.parametrize("box", ["text", "q"])
def test_hits_come_while_one_types_and_the_keyboard_is_enough(
    scripted: WebDriver, served: str, box: str
) -> None:
    """In the one box and in the bar: arrows move, Escape closes, Enter opens."""
    scripted.get(f"{served}/{'' if box == 'text' else 'about'}")
    scripted.find_element(By.TAG_NAME, "body").send_keys("/")
    typed = scripted.switch_to.active_element
    assert typed.get_attribute("name") == box
    hits = f"#{typed.get_attribute('data-suggest')} [role=option]"
    typed.send_keys("rows positive")
    wait_for(scripted, hits, "--rows must be positive")
    typed.send_keys(Keys.ARROW_DOWN)
    [chosen] = scripted.find_elements(By.CSS_SELECTOR, f"{hits}.chosen")
    assert typed.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    typed.send_keys(Keys.ESCAPE)
    assert scripted.find_elements(By.CSS_SELECTOR, hits) == []
    typed.send_keys(" ", Keys.BACKSPACE, " g")
    wait_for(scripted, hits, "--rows must be positive")
    typed.send_keys(Keys.ARROW_UP, Keys.ARROW_DOWN, Keys.ENTER)
    wait_for(scripted, "h1", "--rows must be positive")
    assert complaints(scripted) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("needs 16 rows", "error"),
        ("ValueError: needs 16 rows, has 8", "An error message"),
        (LOG, "A log, 3 lines"),
        ("python -m sglang.launch_server --tp 2", "A launch line"),
        ("--model-path x --tp-size 8", "A launch line"),
    ],
)
def test_the_box_says_what_it_was_given(
    scripted: WebDriver, served: str, text: str, said: str
) -> None:
    scripted.get(served)
    type_in(scripted.find_element(By.NAME, "text"), text)
    assert wait_for(scripted, "#box-hits .seen", said)


def test_print_shows_the_content_alone(scripted: WebDriver, served: str) -> None:
    """Navigation, buttons and boxes go; what lies in closed details is there."""
    scripted.get(f"{served}/errors/{SLUG}")
    scripted.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = scripted.execute_script(
        "const seen = css => [...document.querySelectorAll(css)].some(e => e.checkVisibility());"
        "return ['.bar', '.copy', '.report', 'h1', '.not li', 'details pre.code'].map(seen)"
    )
    scripted.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == [False, False, False, True, True, True]


@pytest.mark.parametrize("width", [320, 3840])
def test_pages_with_releases_fit_a_small_phone_and_a_large_screen(
    served: str, tmp_path: Path, width: int
) -> None:
    with chromium(tmp_path, width=width) as browser:
        for path in PAGES:
            browser.get(served + path)
            wide, window = browser.execute_script(
                "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
            )
            assert wide <= window, f"{path} is {wide} wide in a window of {window}"
            assert heading(browser)
