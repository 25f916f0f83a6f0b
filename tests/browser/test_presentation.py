"""Presentation mode and the keys that every page hears."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.access import shuts_no_one_out
from support.rest import at_rest_and_hearing_keys, follow

from headlight.plots.text import chip_text

TEXT = "I love my teacher."
CHROME = ("[data-testid=stSidebar]", "[data-testid=stHeader]")


def open_page(page: Page, address: str, path: str) -> None:
    page.goto(f"{address}/{path}")
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(page.locator("canvas, .main-svg, .token_lines .row.output button").first).to_be_visible()
    at_rest_and_hearing_keys(page)


def size_of_type(page: Page) -> float:
    """Of the page's title, in the screen's pixels."""
    return page.get_by_role("heading", level=1).first.evaluate(
        "place => parseFloat(getComputedStyle(place).fontSize) * place.currentCSSZoom"
    )


def lists_the_keys(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_in_viewport(ratio=0.9)
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("full screen")
    shuts_no_one_out(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_p_takes_everything_but_the_page_away_and_brings_it_back_and_other_keys_work_in_both(page, address, elsewhere):
    """The question mark lists the keys, and F asks for the full screen; typed into the sentence they are letters."""
    open_page(page, address, f"translate?text={quote(TEXT)}")
    page.evaluate("document.documentElement.requestFullscreen = async () => { window.asked = true; }")
    page.keyboard.press("f")
    assert page.evaluate("window.asked")
    lists_the_keys(page)
    before = size_of_type(page)
    page.keyboard.press("p")
    page.wait_for_url("**present=1**")
    for part in CHROME:
        expect(page.locator(part)).to_be_hidden()
    expect(page.locator(".st-key-bar")).to_have_css("opacity", "0")
    assert size_of_type(page) == pytest.approx(1.5 * before)

    other = elsewhere()
    other.goto(page.url)
    expect(other.locator(".row.output button").first).to_be_visible()
    expect(other.locator(CHROME[0])).to_be_hidden()
    at_rest_and_hearing_keys(other)
    lists_the_keys(other)
    assert "present=1" in other.url, "the first Escape closes the list alone"
    # A figure of Plotly's, too, reads what is pointed at.
    box = other.locator(".js-plotly-plot .heatmaplayer").first.bounding_box()
    other.mouse.move(box["x"] + box["width"] * 3 / 12, box["y"] + box["height"] / 12)
    expect(other.locator(".hoverlayer")).to_contain_text("attends to “▁love”")

    page.keyboard.press("Escape")
    expect(page.locator(CHROME[0])).to_be_visible()
    assert "present" not in page.url and size_of_type(page) == before
    page.get_by_role("button", name="Present").click()
    expect(page.locator(CHROME[0])).to_be_hidden()
    at_rest_and_hearing_keys(page)
    page.keyboard.press("Escape")
    expect(page.locator(CHROME[0])).to_be_visible()
    page.get_by_label("Sentence to translate").press("End")
    page.get_by_label("Sentence to translate").press_sequentially(" pf?")
    expect(page.get_by_label("Sentence to translate")).to_have_value(f"{TEXT} pf?")
    assert "present" not in page.url and not page.locator("dialog[open]").count()


def middle(place) -> tuple[float, float]:
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_while_presenting_the_map_reads_what_is_pointed_at_and_the_arrow_keys_step(page, address):
    open_page(page, address, "attention?present=1&explorer_heads=2.3&explorer_kind=cross")
    queries, keys = (page.locator(f".map .{side}_tokens button") for side in ("query", "key"))
    _, y = middle(queries.nth(1))
    x, _ = middle(page.locator(".map canvas"))
    page.mouse.move(x, y)
    expect(page.locator(".readout")).to_contain_text("(output token “liebe”) attends to")
    read = page.locator(".readout").inner_text()
    tokens = [key.get_attribute("aria-label") for key in keys.all()]
    assert any(f"attends to “{chip_text(token)}”" in read for token in tokens[2:4]), "the middle of the keys"

    follow(page, "/decoding?present=1")
    expect(page.locator(".place")).to_contain_text("Step 1 of")
    at_rest_and_hearing_keys(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".place")).to_contain_text("Step 3 of")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".place")).to_contain_text("Step 2 of")
    follow(page, "/inside?present=1&at_step=scale")
    expect(page.locator("li.step:not([hidden]) canvas").first).to_be_visible()
    at_rest_and_hearing_keys(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator("li.step:not([hidden]) h3")).to_contain_text("The mask")
