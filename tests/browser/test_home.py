"""The home before a real browser: a word is hidden and what is lost is said; a phone goes from page to page."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, go_back, wait_for_keys, wait_until_idle

SENTENCE = "The dog is hungry because it has not eaten."
HOSTILE = "<img src=x onerror=window.hurt=1> <b>cat</b>"
PHONE = {"width": 390, "height": 844, "has_touch": True}
SIZES = ({"width": 1366, "height": 768}, {"width": 1280, "height": 720}, {"width": 1093, "height": 614})


def open_home(page: Page, address: str, text: str = SENTENCE, query: str = "") -> None:
    page.goto(f"{address}/?text={quote(text)}{query}")
    expect(page.locator(".row.source button").first).to_be_visible()
    wait_until_idle(page)


def source(page: Page, token: str):
    return page.locator(".row.source button").filter(has_text=re.compile(f"^{re.escape(token)}$"))


def outputs(page: Page) -> list[str]:
    return page.locator(".row.output .token").all_text_contents()


def test_one_click_hides_a_word_says_what_is_lost_and_a_second_brings_it_back(page, address, shipped):
    open_home(page, address)
    before = outputs(page)
    expect(page.locator(".headline").first).to_contain_text("Click a word")
    source(page, "not").click()
    expect(page.locator(".found .headline")).to_contain_text("Without “not”, the translation loses “nicht”.")
    expect(source(page, "not")).to_have_attribute("aria-pressed", "true")
    without = shipped.trace(SENTENCE, interventions=["forbid:cross.*.*:7"])
    expect(page.locator(".row.output button")).to_have_count(len(without.target_tokens))
    assert "nicht" in before and "nicht" not in outputs(page)
    expect(page).to_have_url(re.compile(r"hidden=8\b"))
    wait_until_idle(page)
    expect_accessible(page)
    source(page, "because").click()
    expect(page).to_have_url(re.compile(r"hidden=5\.8"))
    expect(page.locator(".row.source .hidden")).to_have_count(2)
    go_back(page)
    expect(page.locator(".row.source .hidden")).to_have_count(1)
    page.reload()
    expect(page.locator(".row.source .hidden")).to_have_text("not")
    wait_until_idle(page)
    page.get_by_role("button", name="Show all words").click()
    expect(page.locator(".row.source .hidden")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("hidden="))
    expect(page.locator(".row.output .token")).to_have_text(before)


def test_a_word_is_hidden_by_keys_and_what_changed_is_marked(page, address):
    open_home(page, address)
    page.locator(".row.source button").first.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(source(page, "it")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".found .headline")).to_contain_text("Without “it”")
    changed = page.locator(".row.output .changed")
    for button in changed.all():
        expect(button).to_have_attribute("aria-label", re.compile(", changed$"))


def test_the_training_plays_from_noise_to_its_end(page, address):
    open_home(page, address)
    loop = page.locator(".replay_loop")
    expect(loop.locator(".wrote")).to_have_text("Ich liebe meinen Lehrer.")
    loop.get_by_role("button", name="Play").click()
    expect(loop.locator(".about")).to_contain_text(" after 0 training steps")
    expect(loop.locator(".wrote")).not_to_have_text("Ich liebe meinen Lehrer.")
    expect(loop.get_by_role("button", name="Play")).to_be_visible()  # it has come to its end
    expect(loop.locator(".wrote")).to_have_text("Ich liebe meinen Lehrer.")


def test_a_card_is_one_click_and_shows_its_sentence(page, address):
    open_home(page, address, query="&hidden=2")
    page.get_by_role("button", name="I think that he has never read this book.").click()
    expect(page.get_by_label("Sentence to translate")).to_have_value("I think that he has never read this book.")
    expect(page.locator(".row.output .token").nth(-3)).to_have_text("hat")
    expect(page.locator(".row.source .hidden")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_the_act_and_what_comes_of_it_are_in_sight(visitor, address, size, scheme):
    page = visitor(**size, scheme=scheme)
    open_home(page, address, query="&hidden=8")
    for place in (".row.source", ".row.output", ".found .headline"):
        expect(page.locator(place)).to_be_in_viewport(ratio=1)
    letters = page.locator(".row.source .token").first.evaluate("chip => parseFloat(getComputedStyle(chip).fontSize)")
    assert letters >= 16


def test_of_a_long_sentence_the_end_is_reached_by_a_bar_and_the_translation_is_a_text(visitor, address, shipped):
    page, text = visitor(width=1366, height=768), " ".join([SENTENCE] * 4)
    open_home(page, address)
    expect(page.locator(".whole")).to_be_hidden()
    open_home(page, address, text)
    expect(page.locator(".whole")).to_have_text(shipped.translate([text])[0])
    expect(page.locator(".whole")).to_be_in_viewport(ratio=1)
    bar = "place => [getComputedStyle(place).scrollbarColor, getComputedStyle(place, '::-webkit-scrollbar').height]"
    assert page.locator(".token_lines .scroll").evaluate(bar) == ["auto", "10px"], "drawn by the page, never hidden"


def test_on_a_phone_a_tap_hides_a_word_and_the_pages_are_one_tap_away(visitor, address):
    page = visitor(**PHONE)
    open_home(page, address)
    source(page, "not").tap()
    expect(page.locator(".found .headline")).to_contain_text("loses “nicht”")
    page.get_by_role("button", name="Pages", exact=True).tap()
    expect(page.get_by_test_id("stSidebar")).to_be_in_viewport()
    page.get_by_role("link", name="Attention", exact=True).tap()
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).not_to_be_in_viewport()
    wait_until_idle(page)
    page.get_by_role("button", name="Home", exact=True).tap()
    expect(page.locator(".row.source button").first).to_be_visible()
    wait_until_idle(page)
    expect_accessible(page)


def test_a_phone_that_is_sent_a_presentation_keeps_its_pages(visitor, address):
    page = visitor(**PHONE)
    open_home(page, address, query="&present=1")
    expect(page.get_by_role("button", name="Pages", exact=True)).to_be_visible()
    expect(page.get_by_label("Sentence to translate")).to_be_in_viewport()
    page.get_by_role("button", name="End the presentation").tap()
    expect(page).not_to_have_url(re.compile("present="))


def test_while_presenting_page_down_opens_the_next_page_and_a_sign_ends_it(page, address):
    page.set_viewport_size({"width": 1366, "height": 768})
    open_home(page, address, query="&present=1")
    wait_for_keys(page)
    page.keyboard.press("PageDown")
    expect(page.get_by_role("heading", name="Lessons", exact=True)).to_be_visible()
    wait_for_keys(page)
    page.keyboard.press("PageDown")
    expect(page.get_by_role("heading", name="Decoding", exact=True)).to_be_visible()
    expect(page.locator(".st-key-translation")).to_contain_text(f"{SENTENCE} →")
    wait_for_keys(page)
    page.keyboard.press("PageUp")
    expect(page.get_by_role("heading", name="Lessons", exact=True)).to_be_visible()
    wait_for_keys(page)
    page.keyboard.press("PageUp")
    expect(page.locator(".token_lines .row.source button").first).to_be_visible()
    page.get_by_role("button", name="End the presentation").click()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


def test_a_word_of_the_field_is_explained_where_it_stands(page, address):
    page.goto(f"{address}/decoding?text={quote(SENTENCE)}")
    expect(page.get_by_role("heading", name="Decoding", exact=True)).to_be_visible()
    wait_until_idle(page)
    page.wait_for_function("CSS.highlights.get('glossary')?.size > 3")
    x, y = page.evaluate(
        """() => {
          const ranges = [...CSS.highlights.get("glossary")];
          const { left, top, width, height } = ranges.find((each) => /^decoder$/i.test(each)).getBoundingClientRect();
          return [left + width / 2, top + height / 2];
        }"""
    )
    page.mouse.move(x, y)
    expect(page.locator(".tip")).to_contain_text("The half of the model that writes the translation")
    page.mouse.move(3, 3)
    expect(page.locator(".tip")).to_be_hidden()
    wait_for_keys(page)
    page.keyboard.press("?")
    expect(page.locator("dialog .words dt").filter(has_text=re.compile("^decoder$"))).to_be_in_viewport()
    expect_accessible(page)


def test_what_is_typed_is_text_and_nothing_else(page, address):
    open_home(page, address, HOSTILE, "&hidden=2")
    assert page.locator(".token_lines").locator("img, b").count() == 0 and page.evaluate("window.hurt") is None
