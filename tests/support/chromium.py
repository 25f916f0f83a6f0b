"""A real Chromium."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

PATIENCE = 60_000  # milliseconds, on a busy machine
# No script runs for long enough to be worth V8's last and most costly compiler: without it a test takes a tenth less.
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--js-flags=--no-turbofan")
expect.set_options(timeout=PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, without the windows around it where it is packaged so, else Playwright's own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
