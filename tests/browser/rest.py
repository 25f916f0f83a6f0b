"""Waiting for the app, not for the clock."""

from playwright.sync_api import Page, expect


def at_rest(page: Page) -> None:
    """Wait until the server has nothing more to send for this page."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
