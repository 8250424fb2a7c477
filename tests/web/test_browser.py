"""From home to a run that shows itself, in a real browser, with JavaScript and without it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from app.settings import load_settings
from tests.web.browsers import chromium, complaints, serving, wait_for
from tests.web.conftest import settings_in

pytestmark = [pytest.mark.browser, pytest.mark.wheel, pytest.mark.xdist_group("browser")]
KDA = "kda-verify-exceeds-scratch-steps"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site with the curated entries; wheels come from the user's own cache."""
    real = load_settings()
    settings = settings_in(tmp_path_factory.mktemp("site"), CACHE_DIR=str(real.cache_dir))
    with serving(settings) as found:
        yield found


@pytest.mark.parametrize("script", [True, False], ids=["with-script", "without-script"])
def test_from_home_to_a_run_that_shows_itself(address: str, tmp_path: Path, script: bool) -> None:  # noqa: FBT001  # a parameter
    """Home, words, list, entry, Run: trigger red and fix green, and the same without JavaScript."""
    with chromium(tmp_path, script=script) as browser:
        browser.get(address)
        box = browser.find_element(By.NAME, "text")
        box.send_keys("scratch steps intermediate_ssm")
        browser.find_element(By.CSS_SELECTOR, "form.box button").click()
        wait_for(browser, "h1", "scratch steps")
        browser.find_element(By.CSS_SELECTOR, f'a.msg[href="/errors/{KDA}"]').click()
        wait_for(browser, "h1", "KDA verify needs {draft_token_num} scratch steps")
        assert "Not this if" in browser.find_element(By.TAG_NAME, "main").text
        button = browser.find_element(By.CSS_SELECTOR, "form.again button")
        button.click()
        if script:
            wait_for(browser, "[data-live]", "trigger on sglang==")
            wait_for(browser, "[data-live] a", "permanent link", 120)
            assert browser.current_url == f"{address}/errors/{KDA}"
        wait_for(browser, ".run.t header", "Trigger · raises", 120)
        wait_for(browser, ".run.f header", "Fix · passes", 120)
        if not script:
            assert f"{address}/runs/" in browser.current_url
        message = wait_for(browser, ".run.t .out", "RuntimeError: KDA verify needs")
        assert "scratch steps" in message
        assert complaints(browser) == []


def test_the_slash_leads_to_the_box_and_copy_copies(address: str, tmp_path: Path) -> None:
    with chromium(tmp_path) as browser:
        browser.get(f"{address}/errors/{KDA}")
        browser.find_element(By.TAG_NAME, "body").send_keys("/")
        focused = browser.switch_to.active_element
        assert focused.get_attribute("name") == "q"
        focused.send_keys("unknown speculative phase", Keys.ENTER)
        wait_for(browser, "a.msg", "Unknown speculative phase")
        browser.execute_cdp_cmd(
            "Browser.grantPermissions",
            {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": address},
        )
        browser.get(f"{address}/errors/{KDA}")
        fix = browser.find_element(By.CSS_SELECTOR, ".fix")
        code = fix.find_element(By.CSS_SELECTOR, "pre").text
        fix.find_element(By.CSS_SELECTOR, "button.copy").click()
        wait_for(browser, ".fix button.copy", "Copied")
        copied = browser.execute_script("return navigator.clipboard.readText()")
        for line in copied.splitlines():
            assert line in code
        assert not any(line.startswith(("+", "- ")) for line in copied.splitlines())
        assert complaints(browser) == []


def test_results_come_while_one_types_and_the_keyboard_is_enough(
    address: str, tmp_path: Path
) -> None:
    """Slash, words, arrows and Enter lead to an entry; the box says what a pasted text is."""
    with chromium(tmp_path) as browser:
        browser.get(address)
        browser.find_element(By.TAG_NAME, "body").send_keys("/")
        box = browser.switch_to.active_element
        assert box.get_attribute("name") == "text"
        box.send_keys("scratch steps intermediate_ssm")
        wait_for(browser, "#box-hits a", "KDA verify needs")
        box.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
        wait_for(browser, "h1", "KDA verify needs {draft_token_num} scratch steps")
        assert browser.current_url == f"{address}/errors/{KDA}"
        browser.back()
        box = browser.find_element(By.NAME, "text")
        box.clear()
        box.send_keys("python -m sglang.launch_server --tp 2")
        wait_for(browser, "#box-hits .seen", "A launch line")
        assert complaints(browser) == []


@pytest.mark.parametrize("width", [320, 360, 768, 1440])
def test_nothing_sticks_out_of_a_page(address: str, tmp_path: Path, width: int) -> None:
    """No page scrolls sideways, from a small phone to a desk."""
    pages = ["/", "/errors", f"/errors/{KDA}", "/errors/stale-speculative-width", "/families",
             "/families/capacity-exceeded", "/releases", "/about", "/errors/none",
             "/diagnose", "/preflight"]  # fmt: skip
    with chromium(tmp_path, width=width) as browser:
        for path in pages:
            browser.get(address + path)
            sizes = browser.execute_script(
                "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
            )
            assert sizes[0] <= sizes[1], f"{path} is {sizes[0]} wide in a window of {sizes[1]}"
            covered = browser.execute_script(
                "return [...document.querySelectorAll('button.copy')].filter(b => {"
                "  const at = b.getBoundingClientRect();"
                "  const pre = b.parentElement.querySelector('pre');"
                "  const top = pre.getBoundingClientRect().top + pre.clientTop;"
                "  const right = pre.getBoundingClientRect().left + pre.clientWidth;"
                "  return at.height && at.bottom > top + 2 && at.left < right - 2;"
                "}).length"
            )
            assert covered == 0, f"{covered} copy buttons of {path} cover code"
