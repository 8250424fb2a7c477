"""Pictures of every kind of page, narrow and wide, from the site as it is.

    python docs/screenshots.py [--at http://127.0.0.1:8000]

Writes docs/screenshots/NAME-narrow.webp and NAME-wide.webp (a phone of 360 and a window of 1280
pixels; the entry and home also in the dark). Without --at the site is started here, on the
catalog of the environment. Needs Debian's chromium and chromium-driver.
"""

import argparse
import base64
import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from app.settings import load_settings
from tests.web.browsers import chromium, scheme, serving, wait_for

FOLDER = Path(__file__).parent / "screenshots"
KEY = "kda-verify-exceeds-scratch-steps"
WIDTHS = {"narrow": 360, "wide": 1280}
TALLEST = 2000
"""Pixels; what is further down looks like what is above."""
QUALITY = 50
LOG = """[2026-11-29 07:40:02 TP0] Load weight begin. avail mem=23.10 GB
[2026-11-29 07:41:10 TP3] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2802, in run_scheduler_process
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 3 has a total \
capacity of 23.52 GiB of which 105.56 MiB is free.
[2026-11-29 07:44:24 TP1] ValueError: TP rank 1 could finish the model loading, but there are \
other ranks that didn't finish loading. It is likely due to unexpected failures (e.g., OOM) or a \
slow node.
"""
LINE = (
    "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --tp 2 "
    "--speculative-algorithm EAGLE --speculative-draft-model-path DRAFT --speculative-num-steps 3 "
    "--speculative-eagle-topk 4 --speculative-num-draft-tokens 16 --enable-linear-replayssm-spec"
)
PAGES = {
    "home": "/",
    "errors": "/errors?q=speculative+draft+tokens",
    "entry": f"/errors/{KEY}",
    "entry-computed": "",
    "families": "/families",
    "family": "/families/capacity-exceeded",
    "releases": "/releases",
    "release": "",
    "diff": "/releases/sglang/diff",
    "run": "",
    "diagnose": "/diagnose",
    "diagnosis": "",
    "preflight": "/preflight",
    "preflight-report": "",
    "about": "/about",
    "not-found": "/errors/kda-verify",
}
DARK = ("home", "entry")


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--at", metavar="URL", help="the address of a site that is up")
    args = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        site = args.at or stack.enter_context(serving(load_settings()))
        for name, width in WIDTHS.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            browser = stack.enter_context(chromium(folder, width=width))
            for path in pictures(browser, site.rstrip("/"), name, width):
                print(f"{path.name}: {path.stat().st_size >> 10} KB")
    total = sum(path.stat().st_size for path in FOLDER.glob("*.webp"))
    print(f"{total / 1e6:.2f} MB in all")


def pictures(browser: WebDriver, site: str, size: str, width: int) -> Iterator[Path]:
    """The pictures of one width; gives their files."""
    for name in PAGES:
        scheme(browser, "light")
        visit(browser, site, name)
        yield picture(browser, f"{name}-{size}", width)
        if name in DARK:
            scheme(browser, "dark")
            yield picture(browser, f"{name}-dark-{size}", width)


def visit(browser: WebDriver, site: str, name: str) -> None:
    """Open a page; some are reached through another one, as a reader would."""
    if name in ("diagnosis", "preflight-report"):
        form, text = ("diagnose", LOG) if name == "diagnosis" else ("preflight", LINE)
        browser.get(f"{site}/{form}")
        box = browser.find_element(By.CSS_SELECTOR, "main [name=text]")
        browser.execute_script("arguments[0].value = arguments[1]", box, text)
        box.submit()
        wait_for(browser, "h1.answer", seconds=120)
        return
    through = {
        "entry-computed": ("/errors?status=new", "li:not(:has(.about)) > a.msg"),
        "release": ("/releases", "tbody th a"),
        "run": (f"/errors/{KEY}", ".ev td a"),
    }
    path, link = through.get(name, (PAGES[name], ""))
    browser.get(site + path)
    if link:
        found = browser.find_elements(By.CSS_SELECTOR, link)
        if not found:
            raise SystemExit(f"{path} has nothing that leads to {name}: scan two releases first.")
        browser.get(found[0].get_attribute("href") or "")


def picture(browser: WebDriver, name: str, width: int) -> Path:
    """Write the page that is open, from its top."""
    time.sleep(0.3)  # fonts
    height = int(browser.execute_script("return document.documentElement.scrollHeight"))
    metrics = {
        "width": width,
        "height": min(height, TALLEST),
        "deviceScaleFactor": 1,
        "mobile": width < WIDTHS["wide"],
    }
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    metrics["height"] = 740 if width < WIDTHS["wide"] else 900
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    path = FOLDER / f"{name}.webp"
    path.write_bytes(base64.b64decode(shot["data"]))
    return path


if __name__ == "__main__":
    main()
