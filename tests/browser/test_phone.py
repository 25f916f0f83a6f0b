"""A phone: its pages are one tap away, and fingers have room."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.browser import follow, wait_until_idle
from support.chromium import new_visitor

UPRIGHT = {"width": 390, "height": 844}
AGENT = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari"
TWENTY_WORDS = "The old man next door who lives alone says that he has never seen such a beautiful garden before today."
LISTED = "[data-testid=stSidebar][data-collapsed=false]"


@pytest.fixture(scope="module")
def phone(browser, address):
    """A visitor with a phone in the dark, who goes from page to page; no script may fail."""
    screen = {"viewport": UPRIGHT, "is_mobile": True, "has_touch": True}
    context = new_visitor(browser, **screen, user_agent=AGENT, color_scheme="dark", reduced_motion="reduce")
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/decoding")
    expect(page.locator(".place")).to_be_visible()
    yield page
    context.close()
    assert not errors


def visit(page: Page, path: str) -> None:
    follow(page, path)
    wait_until_idle(page)


def test_a_tap_hides_a_word_and_pages_are_one_tap_away(phone):
    visit(phone, f"/?map=1&text={quote(TWENTY_WORDS)}")
    expect(phone.locator(".stage.upright")).to_be_visible()
    expect(phone.locator(".token_lines .whole")).to_be_hidden()  # it stands where words are out of sight
    for selector in (".st-key-head_buttons [role=radiogroup] button", ".finding summary", ".download"):
        heights = [box["height"] for each in phone.locator(selector).all() if (box := each.bounding_box())]
        assert min(heights) >= 40, f"{selector} has no room for a finger"
    phone.locator(".row.source button").nth(2).tap()
    expect(phone.locator(".row.source .hidden")).to_have_count(1)
    phone.get_by_role("button", name="Pages", exact=True).tap()
    expect(phone.locator(LISTED)).to_be_in_viewport()
    phone.get_by_role("link", name="Attention", exact=True).tap()
    expect(phone.locator(".explorer")).to_be_visible()
    expect(phone.locator(LISTED)).to_have_count(0)


def test_a_finger_on_a_sliders_track_changes_nothing_and_changed_words_stay_in_sight(phone):
    visit(phone, "/decoding?decoding_view=candidates")
    value = phone.locator(".st-key-draw_topk [data-testid=stSliderThumbValue]")
    box = phone.locator(".st-key-draw_topk [role=group]").bounding_box()
    phone.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    wait_until_idle(phone)
    expect(value).to_have_text("0")
    visit(phone, "/what_if")
    phone.locator(".switches td button").last.scroll_into_view_if_needed()
    wait_until_idle(phone)
    expect(phone.locator(".translations .line")).to_be_in_viewport(ratio=1)
