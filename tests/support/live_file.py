"""Going about in the live model's one file."""

from urllib.parse import quote

from playwright.sync_api import Page, expect


def go_to(page: Page, view: str, **said: str) -> None:
    """Write an address into the page, which need not stay at that view."""
    query = "&".join(f"{name}={quote(value)}" for name, value in said.items())
    page.evaluate("hash => { location.hash = hash; }", f"{view}?{query}")


def show(page: Page, view: str, **said: str) -> None:
    """Go to a view by an address, and wait until it is shown."""
    go_to(page, view, **said)
    expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
