"""Presentation mode and the keys that every page hears."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import expect_accessible, follow, record_texts, wait_for_keys, wait_until_idle

TEXT = "I love my teacher."
PROJECTOR = {"width": 1366, "height": 768}
SENTENCE = "Sentence to translate"
CHROME = ("[data-testid=stSidebar]", "[data-testid=stHeader]")


def open_page(page: Page, address: str, path: str) -> None:
    page.goto(f"{address}/{path}")
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(page.locator("canvas, .main-svg, .token_lines .row.output button").first).to_be_visible()
    wait_for_keys(page)


def size_of_type(page: Page) -> float:
    """Of the page's title, in the screen's pixels."""
    return page.get_by_role("heading", level=1).first.evaluate(
        "place => parseFloat(getComputedStyle(place).fontSize) * place.currentCSSZoom"
    )


def lists_the_keys(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_in_viewport(ratio=0.9)
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("full screen")
    expect_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_p_takes_everything_but_the_page_away_and_brings_it_back_and_other_keys_work_in_both(page, address, elsewhere):
    """The question mark lists the keys, and F asks for the full screen; typed into the sentence they are letters."""
    open_page(page, address, f"?map=1&text={quote(TEXT)}")
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
    wait_until_idle(page)
    assert size_of_type(page) == pytest.approx(1.5 * before)

    other = elsewhere()
    other.goto(page.url)
    expect(other.locator(".row.output button").first).to_be_visible()
    expect(other.locator(CHROME[0])).to_be_hidden()
    wait_for_keys(other)
    lists_the_keys(other)
    wait_until_idle(other)
    assert "present=1" in other.url, "the first Escape closes the list alone"
    # A figure of Plotly's, too, reads what is pointed at.
    box = other.locator(".js-plotly-plot .heatmaplayer").first.bounding_box()
    other.mouse.move(box["x"] + box["width"] * 3 / 12, box["y"] + box["height"] / 12)
    expect(other.locator(".hoverlayer")).to_contain_text("attends to “▁love”")

    page.keyboard.press("Escape")
    expect(page.locator(CHROME[0])).to_be_visible()
    wait_until_idle(page)
    assert "present" not in page.url and size_of_type(page) == before
    page.get_by_role("button", name="Present").click()
    expect(page.locator(CHROME[0])).to_be_hidden()
    wait_for_keys(page)
    page.keyboard.press("Escape")
    expect(page.locator(CHROME[0])).to_be_visible()
    page.get_by_label("Sentence to translate").press("End")
    page.get_by_label("Sentence to translate").press_sequentially(" pf?")
    expect(page.get_by_label("Sentence to translate")).to_have_value(f"{TEXT} pf?")
    wait_until_idle(page)
    assert "present" not in page.url and not page.locator("dialog[open]").count()


def middle(place) -> tuple[float, float]:
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_while_presenting_the_map_reads_what_is_pointed_at_and_the_arrow_keys_step(page, address):
    open_page(page, address, "attention?present=1&head=cross.2.3")
    queries, keys = (page.locator(f".map .{side}_tokens button") for side in ("query", "key"))
    _, y = middle(queries.nth(1))
    x, _ = middle(page.locator(".map canvas"))
    page.mouse.move(x, y)
    expect(page.locator(".readout")).to_contain_text("To write “liebe”, this head looks at")
    read = page.locator(".readout").inner_text()
    tokens = [key.get_attribute("aria-label") for key in keys.all()]
    assert any(f"looks at “{token}”" in read for token in tokens[2:4]), "the middle of the keys"

    follow(page, "/decoding?present=1&step=1")
    expect(page.locator(".place")).to_contain_text("Step 1 of")
    wait_for_keys(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".place")).to_contain_text("Step 3 of")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".place")).to_contain_text("Step 2 of")
    follow(page, "/inside?present=1&at_step=scale")
    expect(page.locator("li.step:not([hidden]) canvas").first).to_be_visible()
    wait_for_keys(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator("li.step:not([hidden]) h3")).to_contain_text("The mask")


def test_the_sentence_is_asked_for_by_a_key_taken_with_enter_and_left_with_escape(page, address):
    """While presenting the field stands alone above the page; the bar's other parts stay out of sight."""
    open_page(page, address, f"?map=1&present=1&text={quote(TEXT)}")
    field = page.get_by_label(SENTENCE)
    page.keyboard.press("e")
    expect(field).to_be_focused()
    expect(page.locator(".st-key-bar")).to_have_css("opacity", "1")
    expect(field).to_be_in_viewport(ratio=1)
    for other in page.locator(".st-key-bar > :not(:first-child)").all():
        expect(other).to_have_css("opacity", "0")
    expect_accessible(page)
    page.keyboard.type("She sleeps.")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=She+sleeps.**")
    expect(page.locator(".row.output")).to_contain_text("schläft")
    expect(page.locator(".st-key-bar")).to_have_css("opacity", "0")
    wait_for_keys(page)
    page.keyboard.press("e")
    page.keyboard.type("Never mind pf?")
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-bar")).to_have_css("opacity", "0")
    wait_for_keys(page)
    expect(field).to_have_value("She sleeps.")
    assert "text=She+sleeps." in page.url and "present=1" in page.url


def test_a_page_that_is_opened_by_its_key_is_named_for_a_moment_from_the_home_too(page, address):
    open_page(page, address, "?present=1")
    names = [link.text_content() for link in page.locator("[data-testid=stSidebarNavLink]").all()]
    for key, at in (("PageDown", 1), ("PageDown", 2), ("PageUp", 1)):
        record_texts(page.locator("body"), ".opened_page[role=status]")
        page.keyboard.press(key)
        page.wait_for_function("told => window.heard.at(-1) === told", arg=f"{at + 1} of {len(names)} · {names[at]}")
        expect(page.get_by_role("heading", name=names[at], exact=True)).to_be_visible()
        wait_for_keys(page)
    expect(page.locator(".opened_page")).to_be_hidden()


def assert_labelled(figure: Locator, axis: str, count: int) -> None:
    """The figure has so many labels along the axis, and all of them are seen."""
    labels = figure.locator(f".{axis}tick > text")
    expect(labels).to_have_count(count)
    for label in labels.all():
        expect(label).to_be_visible()


def test_presented_figures_have_all_their_labels_and_headings(visitor, address):
    page = visitor(**PROJECTOR)
    open_page(page, address, "decoding?present=1&decoding_view=candidates")
    for figure in (".st-key-logits_bars", ".st-key-cut_bars"):
        assert_labelled(page.locator(figure), "y", 10)


def test_presented_controls_of_a_row_have_their_labels_on_one_line(visitor, address):
    page = visitor(**PROJECTOR)
    open_page(page, address, "research?present=1&research=rollout")
    labels = [page.locator(f".st-key-{key} label").first.bounding_box() for key in ("rollout", "residual")]
    middles = [box["y"] + box["height"] / 2 for box in labels]
    assert middles[0] == pytest.approx(middles[1], abs=3)


def test_every_row_and_column_of_a_presented_mask_has_its_label(visitor, address, shipped):
    page = visitor(**PROJECTOR)
    text = "The dog didn't eat because it was too old."
    open_page(page, address, f"inside?inside=masks&present=1&text={quote(text)}")
    figure, tokens = page.locator(".st-key-leaking [data-testid=stPlotlyChart]"), shipped.trace(text).decoder_input_ids
    for axis, count in (("x", len(tokens) + 1), ("y", len(tokens))):  # the last column is the leaked weight
        assert_labelled(figure, axis, count)
