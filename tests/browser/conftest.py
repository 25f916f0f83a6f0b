"""The real app with the shipped checkpoint, and a real Chromium before it."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect
from support.browser import wait_until_idle
from support.chromium import new_visitor


@pytest.fixture(scope="session")
def windows(browser) -> Callable[..., Page]:
    """Windows by their name, kept from test to test: a new one reads and compiles all scripts anew.

    Whoever asks for one gives it a screen; a touch screen is another window. Their visitors prefer little motion,
    unless a test says otherwise: drawing what fades took a third of the time.
    """
    opened: dict[tuple[str, bool], Page] = {}

    def window(
        name: str,
        width: int = 1440,
        height: int = 1000,
        scheme: str = "light",
        reduced_motion: str = "reduce",
        has_touch: bool = False,
    ) -> Page:
        if (name, has_touch) not in opened:
            opened[name, has_touch] = new_visitor(browser, has_touch=has_touch).new_page()
        page = opened[name, has_touch]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion=reduced_motion)
        return page

    return window


def leave(page: Page) -> None:
    """Leave the app with the mouse in a corner, and clear what the browser keeps of it, such as a closed sidebar."""
    page.mouse.move(0, 0)
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    page.goto("about:blank")


@pytest.fixture(scope="session")
def wanderers(windows, address) -> Callable[[str, dict[str, dict]], Iterator[dict[str, Page]]]:
    """Visitors of this name, one before each screen, who have arrived and go from page to page until they are done.

    No script may fail before any of them.
    """

    def arrive(name: str, screens: dict[str, dict]) -> Iterator[dict[str, Page]]:
        pages = {each: windows(f"{name}, {each}", **screen) for each, screen in screens.items()}
        errors = []

        def note(error) -> None:
            errors.append(str(error))

        for page in pages.values():
            page.on("pageerror", note)
            page.goto(f"{address}/decoding")
            expect(page.locator(".place")).to_be_visible()
            wait_until_idle(page)
        yield pages
        for page in pages.values():
            page.remove_listener("pageerror", note)
            leave(page)
        assert not errors

    return arrive


@pytest.fixture
def visitor(windows) -> Iterator[Callable[..., Page]]:
    """New visitors before screens of the asked sizes: to the server, every address that is opened is one.

    No script may fail before any of them. Each `name` has a browser of its own, and one screen at a time.
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
        leave(page)
    assert not errors


@pytest.fixture
def page(visitor) -> Page:
    """A visitor at a desk."""
    return visitor()


@pytest.fixture
def elsewhere(visitor) -> Callable[[], Page]:
    """Another browser, which has nothing of the one at the desk but the addresses that it is sent."""
    return lambda: visitor("second")


@pytest.fixture
def open_alone(browser, tmp_path) -> Iterator[Callable[..., Page]]:
    """A function that writes a page to a disk and opens it there, offline; nothing may be asked for or go wrong."""
    contexts, asked, wrong = [], [], []
    file = tmp_path / "page.html"

    def open_alone(text: str, scheme: str = "light", width: int = 1366, **screen) -> Page:
        file.write_text(text, encoding="utf-8")
        context = new_visitor(
            browser,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",
            **screen,
        )
        contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))  # a worker's own text comes from a blob
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        page.goto(file.as_uri())
        return page

    yield open_alone
    for context in contexts:
        context.close()
    assert {url for url in asked if not url.startswith("blob:")} == {file.as_uri()}, asked
    assert not wrong


@pytest.fixture
def live(open_alone, file) -> Callable[..., Page]:
    """A function that opens the live page which a module's fixture `file` makes, and waits for its translation."""

    def live(*screen: object, **more: object) -> Page:
        page = open_alone(file, *screen, **more)
        expect(page.locator("#live_translation")).not_to_be_empty()
        return page

    return live
