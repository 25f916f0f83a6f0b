"""A real Chromium."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

PATIENCE = 300_000  # milliseconds: on a busy machine a server that begins takes a minute to read PyTorch and a model
# No script runs for long enough to be worth V8's last and most costly compiler, and few are worth the one before it:
# a function has to run ten times as often for that as V8 thinks. Each takes a tenth off what a page costs.
SCRIPTS = "--js-flags=--no-turbofan --invocation-count-for-maglev=4000 --interrupt-budget-for-maglev=300000"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", SCRIPTS)
expect.set_options(timeout=PATIENCE)


def new_visitor(browser: Browser, **options: Any) -> BrowserContext:
    """Return a context with empty storage, whose actions wait as long as `expect` does."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, without the windows around it where it is packaged so, else Playwright's own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()
