"""Presentation mode and the keys of every page."""

from urllib.parse import quote

from playwright.sync_api import Page, expect
from support.browser import expect_accessible, follow, wait_for_keys

TEXT = "I love my teacher."
SIDEBAR = "[data-testid=stSidebar]"


def open_page(page: Page, address: str, path: str) -> None:
    page.goto(f"{address}/{path}")
    expect(page.locator("canvas, .main-svg, .token_lines .row.output button").first).to_be_visible()
    wait_for_keys(page)


def test_p_shows_the_page_alone_with_typed_letters_as_no_keys_until_escape(page, address, elsewhere):
    open_page(page, address, f"?map=1&text={quote(TEXT)}")
    page.keyboard.press("p")
    page.wait_for_url("**present=1**")
    expect(page.locator(SIDEBAR)).to_be_hidden()

    other = elsewhere(page.url)
    expect(other.locator(SIDEBAR)).to_be_hidden()
    wait_for_keys(other)
    other.keyboard.press("?")
    keys = other.get_by_role("dialog", name="Keys")
    expect(keys).to_be_in_viewport(ratio=0.9)
    expect_accessible(other)
    other.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    assert "present=1" in other.url, "the first Escape closes the list alone"

    wait_for_keys(page)
    page.keyboard.press("e")
    field, bar = page.get_by_label("Sentence to translate"), page.locator(".st-key-bar")
    expect(field).to_be_focused()
    page.keyboard.type("She sleeps pf?")
    page.keyboard.press("Enter")
    expect(page.locator(".row.source")).to_contain_text("sleeps")
    expect(bar).to_have_css("opacity", "0")
    assert "present=1" in page.url and not page.locator("dialog[open]").count()
    wait_for_keys(page)
    page.keyboard.press("Escape")
    expect(page.locator(SIDEBAR)).to_be_visible()


def test_keys_go_from_page_to_page_and_step_within_one(page, address):
    open_page(page, address, f"?present=1&text={quote(TEXT)}")
    names = [name for name in page.locator("[data-testid=stSidebarNavLink]").all_text_contents() if name != "Lessons"]
    for key, number in (("PageDown", 1), ("PageDown", 2), ("PageUp", 1)):
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=names[number], exact=True)).to_be_visible()
        wait_for_keys(page)
    follow(page, "/decoding?present=1&step=1")
    expect(page.locator(".place")).to_contain_text("Step 1 of")
    wait_for_keys(page)
    for key, step in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
        page.keyboard.press(key)
        expect(page.locator(".place")).to_contain_text(f"Step {step} of")
