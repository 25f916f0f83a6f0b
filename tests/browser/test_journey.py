"""What a person does: opens the app, translates, looks at heads, shares the view."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser import follow, wait_until_idle

from headlight.plots.tokens import chip_text

ROOT = Path(__file__).parents[2]
SENTENCE = "Where is my cat?"
LONGER = "I can't swim, and I don't want to learn it."
MARKUP = "<img src=x onerror=window.hurt=1> <b>cat</b>"


def translation(page: Page):
    return page.locator(".token_lines .whole")


def field(page: Page):
    return page.get_by_label("Sentence to translate")


def type_sentence(page: Page, text: str) -> None:
    field(page).fill(text)
    field(page).press("Enter")


def charts(page: Page):
    return page.locator("[data-testid=stPlotlyChart] .heatmaplayer image")


def test_the_first_page_translates_at_once_and_whatever_is_typed_and_asks_nobody_else(page, address, shipped):
    """In one visit the example, a sentence, markup, nothing, a sentence again, and another page."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/?map=1")
    expect(translation(page)).to_have_text(shipped.translate(["I love my teacher."])[0])
    expect(charts(page)).to_have_count(1)
    type_sentence(page, SENTENCE)
    expect(translation(page)).to_have_text(shipped.translate([SENTENCE])[0])
    pieces = page.get_by_role("list", name="Source tokens with their ids").locator(".token")
    expect(pieces).to_have_text([*(chip_text(piece.text) for piece in shipped.pieces(SENTENCE)), "⟨end⟩"])

    type_sentence(page, MARKUP)
    expect(translation(page)).to_have_text(shipped.translate([MARKUP])[0])
    expect(field(page)).to_have_value(MARKUP)
    expect(charts(page)).to_have_count(1)
    assert page.evaluate("window.hurt") is None
    assert page.locator("[data-testid=stMain] img[src=x]").count() == 0

    type_sentence(page, "")
    expect(page.get_by_text("The text is empty: please write a sentence.")).to_be_visible()
    expect(charts(page)).to_have_count(0)
    type_sentence(page, SENTENCE)
    expect(field(page)).to_have_value(SENTENCE)
    expect(charts(page)).to_have_count(1)

    page.get_by_role("link", name="Attention", exact=True).click()
    expect(page.locator(".readout")).not_to_be_empty()
    outside = [url for url in asked if not url.startswith((address, "data:", "blob:", address.replace("http", "ws")))]
    assert asked and outside == []


def test_hovering_a_cell_tells_in_words_which_token_reads_which(page, address, shipped):
    page.goto(f"{address}/?map=1&head=cross.3.2&text=Where+is+my+cat%3F")
    expect(charts(page)).to_have_count(1)
    trace = shipped.trace(SENTENCE)
    wait_until_idle(page)  # nothing moves what is pointed at any more
    page.locator(".st-key-cross_map .heatmaplayer image").scroll_into_view_if_needed()
    area = page.locator(".st-key-cross_map .nsewdrag").bounding_box()
    rows, columns = trace.cross.shape[2:]
    page.mouse.move(area["x"] + area["width"] * 0.5 / columns, area["y"] + area["height"] * 1.5 / rows, steps=5)
    hover = page.locator(".st-key-cross_map .hoverlayer .hovertext")
    expect(hover).to_contain_text("Layer 3, head 2")
    expect(hover).to_contain_text(f"{100 * trace.cross[2, 1, 1, 0]:.1f} %")
    expect(hover).to_contain_text(f"output token “{trace.target_tokens[1]}”")


def test_a_view_is_chosen_by_click_and_restored_from_its_url_in_another_browser(page, address, elsewhere):
    page.goto(f"{address}/?map=1")
    type_sentence(page, SENTENCE)
    expect(page).to_have_url(re.compile("text=Where"))
    page.get_by_role("link", name="Attention", exact=True).click()
    expect(page.locator(".readout")).not_to_be_empty()
    wait_until_idle(page)
    page.get_by_role("button", name="decoder", exact=True).click()
    page.get_by_text("Table of the heads").click()
    page.get_by_role("button", name="layer 2, head 5", exact=True).click()
    page.locator(".options summary").click()
    page.get_by_label("Label decoder rows by").select_option("input token")
    heading = "Masked decoder self-attention: layer 2, head 5"
    expect(page.locator(".heads_name")).to_have_text(heading)
    expect(page).to_have_url(re.compile(r"rows=input\+token.*head=decoder\.2\.5|head=decoder\.2\.5.*rows=input\+token"))

    second = elsewhere()
    second.goto(page.url)
    expect(second.locator(".heads_name")).to_have_text(heading)
    expect(field(second)).to_have_value(SENTENCE)
    expect(second.locator("[name=rows]")).to_have_value("input token")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_too_wide_and_the_numbers_of_many_columns_are_left_out(visitor, address, shipped, scheme):
    page = visitor(width=390, height=844, scheme=scheme)
    page.goto(f"{address}/?map=1")
    expect(charts(page)).to_have_count(1)
    wait_until_idle(page)
    width = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= 390
    for chart in page.locator("[data-testid=stPlotlyChart]").all():
        assert chart.bounding_box()["width"] <= 390
    numbers = page.locator(".st-key-cross_map .scatterlayer text")
    expect(numbers.first).to_be_visible()
    type_sentence(page, LONGER)
    expect(translation(page)).to_have_text(shipped.translate([LONGER])[0])
    expect(charts(page)).to_have_count(1)
    expect(numbers.first).to_be_visible(visible=False)


@pytest.mark.parametrize("width, height", [(1366, 768), (1280, 720)])
def test_what_the_causal_mask_prevents_is_two_clicks_from_home_and_in_sight(visitor, address, width, height):
    page = visitor(width=width, height=height)
    page.goto(address)
    page.get_by_role("link", name="Inside", exact=True).click()
    page.get_by_role("radio", name="masks", exact=True).click()
    lefts, figures = [], (".st-key-with_the_mask", ".st-key-leaking", ".st-key-next_tokens")
    for figure in figures:
        expect(page.locator(f"{figure} .main-svg").first).to_be_visible()
    wait_until_idle(page)
    for figure in figures:
        box = page.locator(figure).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, figure
        lefts.append(box["x"])
    assert lefts[0] + 100 < lefts[1] and lefts[1] + 100 < lefts[2], "side by side"
    expect(page.locator(".finding .headline").first).to_contain_text("Without the mask ")


def test_the_bar_offers_the_sentence_where_the_view_uses_it(page, address):
    page.goto(address)
    for path, used in (
        ("training", False),
        ("positions", True),
        ("positions?positions=waves", False),
        ("lessons", False),
        ("lessons?lessons=for+the+teacher", True),
        ("research?research=calibration", False),
        ("research", True),
    ):
        follow(page, f"{address}/{path}")
        expect(page.locator(".st-key-title_row")).to_be_visible()
        expect(field(page)).to_be_visible(visible=used)
        expect(page.get_by_label("Checkpoint")).to_be_visible()
