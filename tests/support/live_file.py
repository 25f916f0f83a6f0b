"""Going about in the live model's one file."""

from urllib.parse import quote

from playwright.sync_api import Page, expect


def show(page: Page, view: str, **said: str) -> None:
    """Go to a view by an address."""
    query = "&".join(f"{name}={quote(value)}" for name, value in said.items())
    page.evaluate("hash => { location.hash = hash; }", f"{view}?{query}")
    expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
