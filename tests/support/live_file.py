"""Going about in the live model's one file."""

from urllib.parse import quote

from playwright.sync_api import Page, expect
from support.rest import drawn

# The page hears of another address a moment after it was written. What is drawn from there on is of that address.
_GO = """hash => new Promise(done => {
    const before = location.hash;
    addEventListener("hashchange", () => {
        delete document.body.dataset.shown;
        done();
    }, { once: true });
    location.hash = hash;
    if (location.hash === before) done();
})"""


def go_to(page: Page, view: str, **said: str) -> None:
    """Write an address into the page, which need not stay at that view, and wait until the page has heard of it."""
    query = "&".join(f"{name}={quote(value)}" for name, value in said.items())
    page.evaluate(_GO, f"{view}?{query}")


def show(page: Page, view: str, **said: str) -> None:
    """Go to a view by an address, and wait until it is shown as the address asks."""
    go_to(page, view, **said)
    expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
    drawn(page)
