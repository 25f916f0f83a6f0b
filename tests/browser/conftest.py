"""The real app with the shipped checkpoint, and a real Chromium before it."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect
from support.rest import at_rest
from support.server import serve


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """One server for all journeys."""
    with serve() as address:
        yield address


@pytest.fixture(scope="session")
def windows(browser) -> Callable[..., Page]:
    """Windows by their name and screen, kept from test to test: a new one reads and compiles all scripts anew.

    Their visitors prefer little motion, unless a test says otherwise: drawing what fades took a third of the time.
    """
    opened: dict[tuple, Page] = {}

    def window(name: str, width: int = 1440, height: int = 1000, scheme: str = "light", **more) -> Page:
        more = {"reduced_motion": "reduce"} | more
        key = (name, width, height, scheme, *more.items())
        if key not in opened:
            screen = {"width": width, "height": height}
            opened[key] = browser.new_context(viewport=screen, color_scheme=scheme, **more).new_page()
        return opened[key]

    return window


@pytest.fixture(scope="session")
def wanderers(windows, address) -> Callable[[str, dict[str, dict]], Iterator[dict[str, Page]]]:
    """Visitors of this name, one before each screen, who have arrived and go from page to page until they are done.

    No script may fail before any of them.
    """

    def arrive(name: str, screens: dict[str, dict]) -> Iterator[dict[str, Page]]:
        pages = {each: windows(name, **screen) for each, screen in screens.items()}
        errors = []

        def note(error) -> None:
            errors.append(str(error))

        for page in pages.values():
            page.on("pageerror", note)
            page.goto(f"{address}/decoding")
            expect(page.locator(".place")).to_be_visible()
            at_rest(page)
        yield pages
        for page in pages.values():
            page.remove_listener("pageerror", note)
            page.goto("about:blank")
        assert not errors

    return arrive


@pytest.fixture
def visitor(windows) -> Iterator[Callable[..., Page]]:
    """New visitors before screens of the asked sizes: to the server, every address that is opened is one.

    No script may fail before any of them. Each `name` has a browser of its own.
    """
    seen, errors = [], []

    def note(error) -> None:
        errors.append(str(error))

    def visit(name: str = "first", **screen) -> Page:
        page = windows(name, **screen)
        if page not in seen:
            seen.append(page)
            page.on("pageerror", note)
        return page

    yield visit
    for page in seen:
        page.remove_listener("pageerror", note)
        page.goto("about:blank")
    assert not errors


@pytest.fixture
def page(visitor) -> Page:
    """A visitor at a desk."""
    return visitor()


@pytest.fixture
def elsewhere(visitor) -> Callable[[], Page]:
    """Another browser, which has nothing of the one at the desk but the addresses that it is sent."""
    return lambda: visitor("second")
