"""What the program found, in a real browser: the page offers it, and its copy button copies it."""

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from app.db import session
from app.loading.releases import load_release
from app.scanner.release import scan_wheel
from app.services.found import load_found
from app.services.synthesizing import Wish, synthesize_release
from app.wheels import open_wheel
from tests.synthesis.engine import CHECKS
from tests.web.browsers import chromium, complaints, serving, wait_for
from tests.web.conftest import settings_in
from tests.wheels.making import make_wheel

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_copy_gives_the_snippet_that_is_shown(tmp_path: Path) -> None:
    """Trigger and fix of a found error stand on its page, each with a button that copies it."""
    settings = settings_in(tmp_path)
    folder = settings.wheels_dir / "tiny"
    folder.mkdir(parents=True)
    files = {"tiny/__init__.py": "", "tiny/checks.py": CHECKS}
    wheel = open_wheel(make_wheel(folder, files, package="tiny", version="1.0"))
    results = synthesize_release(wheel, Wish(limit=8), settings, jobs=1)
    with session(settings) as db:
        load_release(db, scan_wheel(wheel))
        load_found(db, settings)
    found = next(r for r in results if r["fix"])
    with serving(settings, as_it_is=True) as address, chromium(tmp_path) as browser:
        grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
        browser.execute_cdp_cmd("Browser.grantPermissions", grant | {"origin": address})
        browser.get(f"{address}/errors?evidence=synthesized")
        browser.find_element(By.CSS_SELECTOR, f'a.msg[href="/errors/{found["entryId"]}"]').click()
        wait_for(browser, "#found", "Found by the program")
        pairs = browser.find_elements(By.CSS_SELECTOR, "section[aria-labelledby=found] .pair")
        assert len(pairs) == 2
        copied = []
        for pair in pairs:
            shown = pair.find_element(By.CSS_SELECTOR, "pre").text
            pair.find_element(By.CSS_SELECTOR, "button.copy").click()
            wait_for(browser, ".pair button.copy", "Copied")
            copied.append(browser.execute_script("return navigator.clipboard.readText()").strip())
            assert copied[-1] == shown.strip()
            assert "from tiny.checks import" in shown
        assert copied[0] != copied[1]
        assert complaints(browser) == []
