"""The real app with the shipped checkpoint, and a real Chromium before it."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from support.server import serve

expect.set_options(timeout=60_000)  # milliseconds, on a busy machine


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """One server for all journeys."""
    with serve() as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, else Playwright's own."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def desk(browser) -> Iterator[BrowserContext]:
    """A browser at a desk, which fetches the app's scripts once."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    yield context
    context.close()


@pytest.fixture(scope="session")
def elsewhere(browser) -> Iterator[BrowserContext]:
    """Another browser, which has nothing of the one at the desk but the addresses that it is sent."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    yield context
    context.close()


@pytest.fixture
def page(desk) -> Iterator[Page]:
    """A new visitor at a desk: to the server, every page that is opened is one."""
    page = desk.new_page()
    yield page
    page.close()
