"""Chromium in front of the real app with the shipped checkpoints, and in front of files on a disk."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page
from support.chromium import new_visitor


@pytest.fixture(scope="session")
def windows(browser) -> Callable[..., Page]:
    """Open windows by name and reuse them: a new one reads and compiles all scripts again.

    A touch screen is a window of its own. Visitors prefer reduced motion unless a test asks for motion: animations took
    a third of the time.
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
    """Leave the app with the mouse in a corner, and clear the browser's storage."""
    page.mouse.move(0, 0)
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    page.goto("about:blank")


@pytest.fixture
def visitor(windows) -> Iterator[Callable[..., Page]]:
    """Give new visitors a window by name and screen; no script may fail in it."""
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
def elsewhere(visitor) -> Callable[[str], Page]:
    """Open an address in another browser, which shares nothing with the first one."""

    def open_elsewhere(address: str) -> Page:
        other = visitor("second")
        other.goto(address)
        return other

    return open_elsewhere


@pytest.fixture(scope="module")
def files(browser, tmp_path_factory) -> Iterator[Callable[..., Page]]:
    """Write pages to a disk and open them offline; they may request nothing, and no script may fail."""
    contexts, requests, errors, paths = [], [], [], set()
    folder = tmp_path_factory.mktemp("files")

    def open_file(text: str, scheme: str = "light", width: int = 1366, **screen) -> Page:
        file = folder / f"{len(contexts)}.html"
        file.write_text(text, encoding="utf-8")
        paths.add(file.as_uri())
        size = {"width": width, "height": 900}
        context = new_visitor(browser, viewport=size, color_scheme=scheme, reduced_motion="reduce", **screen)
        contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.goto(file.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert {url for url in requests if not url.startswith("blob:")} <= paths  # a worker's script is a blob
    assert not errors
