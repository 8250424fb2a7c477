"""Debian's Chromium, driven by Selenium, and the site as a process of its own."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from app.settings import Settings

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
    "--disable-dev-shm-usage",
)  # fmt: skip


@contextlib.contextmanager
def chromium(folder: Path, *, script: bool = True, width: int = 1440) -> Iterator[webdriver.Chrome]:
    """A browser with a profile of its own.

    Args:
        folder: where the profile lies.
        script: whether pages may run JavaScript.
        width: of the window; below 500 a phone is emulated.
    """
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.fail("Chromium is not installed: apt-get install chromium chromium-driver")
    options = Options()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900"):
        options.add_argument(flag)
    if not script:
        options.add_experimental_option(
            "prefs", {"profile.managed_default_content_settings.javascript": 2}
        )
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        browser.set_page_load_timeout(60)
        if width < 500:
            metrics = {"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": True}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield browser
    finally:
        browser.quit()


def scheme(browser: webdriver.Chrome, name: str) -> None:
    """Prefer `dark` or `light` colours from now on."""
    features = [{"name": "prefers-color-scheme", "value": name}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the console complained of: a violated policy, a script's error, a missing file."""
    return [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]


def wait_for(browser: webdriver.Chrome, css: str, words: str = "", seconds: float = 40) -> str:
    """Wait until some element of a selector shows some words; gives its text."""

    def there(driver: webdriver.Chrome) -> str | bool:
        texts = [e.text for e in driver.find_elements(By.CSS_SELECTOR, css) if e.is_displayed()]
        return next((text or " " for text in texts if words in text), False)

    try:
        return str(WebDriverWait(browser, seconds, ignored_exceptions=[Exception]).until(there))
    except TimeoutException:
        shown = browser.find_element(By.TAG_NAME, "body").text
        pytest.fail(f"{browser.current_url} never showed {words!r} in {css}, but:\n{shown[:3000]}")


@contextlib.contextmanager
def serving(settings: Settings, *, as_it_is: bool = False) -> Iterator[str]:
    """The site on a free port; gives its address.

    Args:
        settings: where its catalog lies.
        as_it_is: serve what is in the catalog; otherwise `reprobase serve` loads `data/` first.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--no-scan"]
    if as_it_is:
        command = [sys.executable, "-m", "uvicorn", "--factory", "app.main:create_app"]
        command += ["--port", str(port), "--log-level", "warning"]
    environment = os.environ | {
        "REPROBASE_DATABASE_URL": settings.database_url,
        "REPROBASE_CACHE_DIR": str(settings.cache_dir),
    }
    process = subprocess.Popen(command, env=environment)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, "the site ended"
                assert time.monotonic() < deadline, "the site did not answer within a minute"
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(20)
