"""Attention: the explorer is pointed at, clicked, moved by keys and touched, and its choice goes along."""

import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import expect_accessible, wait_until_idle

from headlight.plots.numbers import percent
from headlight.plots.tokens import shown_token, shown_tokens
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.trace import Trace

SENTENCE = "I don't love my teacher."
QUERIES, KEYS = ".query_tokens button", ".key_tokens button"
CHOSEN = f"{QUERIES}[aria-pressed=true]"


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(SENTENCE)


def open_explorer(page: Page, address: str, **query: str) -> None:
    query = {"text": SENTENCE, **query}
    page.goto(f"{address}/attention?" + "&".join(f"{name}={quote(value)}" for name, value in query.items()))
    expect(page.locator(".readout")).not_to_be_empty()
    wait_until_idle(page)


def expect_weight(page: Page, weight: float) -> None:
    """Expect the sentence below the map to name a weight."""
    expect(page.locator(".readout")).to_contain_text(f": {percent(weight)}.")


def title(page: Page) -> Locator:
    return page.locator(".heads_name")


def cell(page: Page, trace: Trace, row: int, column: int) -> dict[str, float]:
    """Return the middle of a cell of the map: cells are square and end 52 pixels from the right, 4 from below."""
    wide, high = page.locator(".map canvas").evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
    rows, columns = trace.cross.shape[2:]
    names = 0.87 * 7 * max(len(shown_token(token)) for token in trace.source_tokens) + 14  # pixels
    side = (high - 4 - names) / rows
    return {"x": wide - 52 - (columns - column - 0.5) * side, "y": names + (row + 0.5) * side}


def thumbnail(page: Page, layer: int, head: int) -> dict[str, float]:
    """Return the middle of a head's thumbnail among 3 layers of 8 heads, from 1."""
    wide, high = page.locator(".overview canvas").evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
    across = (wide - 48) // 8
    return {"x": 46 + (head - 0.5) * across - 4, "y": 18 + (layer - 0.5) * (high - 18) / 3 - 11}


def test_pointing_shows_weights_and_heads_and_a_click_keeps_them(page, address, trace):
    open_explorer(page, address, head="cross.2.3")
    page.locator(".map canvas").hover(position=cell(page, trace, 3, 1))
    expect(page.locator(f"{QUERIES}.pointed")).to_have_text(shown_tokens(trace.target_tokens)[3])
    expect(page.locator(f"{KEYS}.pointed")).to_have_text(shown_token(trace.source_tokens[1]))
    expect_weight(page, trace.cross[1, 2, 3, 1])
    page.locator(KEYS).nth(2).hover()
    expect_weight(page, trace.cross[1, 2, :, 2].max())
    canvas = page.locator(".overview canvas")
    canvas.hover(position=thumbnail(page, 2, 5))
    expect(title(page)).to_have_text("Cross-attention: layer 2, head 5")
    page.mouse.move(5, 5)
    expect(title(page)).to_have_text("Cross-attention: layer 2, head 3")
    canvas.click(position=thumbnail(page, 3, 2))
    canvas.click(position=thumbnail(page, 1, 4), modifiers=["Shift"])
    page.mouse.move(5, 5)
    expect(page).to_have_url(re.compile(r"head=cross\.3\.2-cross\.1\.4"))
    page.locator(QUERIES).nth(1).click()
    mean = float((trace.cross[2, 1, 1] + trace.cross[0, 3, 1]).max()) / 2
    expect_weight(page, mean)
    page.locator(".options summary").click()
    page.locator("[name=together]").select_option("sum")
    page.keyboard.press("Escape")
    expect(page.locator(".options summary")).to_be_focused()
    expect(page.locator(".readout")).to_contain_text(f": {2 * mean:.2f}.")


def test_tokens_are_chosen_in_both_views_and_the_link_keeps_them(page, address, elsewhere, trace):
    open_explorer(page, address, head="cross.2.3", view="lines")
    page.locator(".readers button").nth(2).click()
    page.locator(".readers button").nth(4).click(modifiers=["Shift"])
    expect_weight(page, (trace.cross[1, 2, 2] + trace.cross[1, 2, 4]).max() / 2)
    page.wait_for_url(re.compile(r"query=3\.5"))
    names = [shown_tokens(trace.target_tokens)[step] for step in (2, 4)]
    other = elsewhere(page.url)
    expect(other.locator(".readers [aria-pressed=true]")).to_have_text(names)
    expect(other.locator(".lines canvas")).to_be_visible()
    page.get_by_role("button", name="map", exact=True).click()
    expect(page.locator(CHOSEN)).to_have_text(names)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("query="))


def weights_table(page: Page) -> np.ndarray:
    """Return the numbers of the table behind the map without entropies; masked and hidden cells are 0."""
    expect(page.locator("details.weights td").first).to_be_visible()
    rows = page.locator("details.weights tbody tr").all()
    texts = [row.locator("td").all_inner_texts()[:-1] for row in rows]
    return np.array([[float(text) if text[0].isdigit() else 0 for text in row] for row in texts])


def test_the_table_has_the_weights_also_of_words_and_of_content(page, address, trace):
    open_explorer(page, address, head="encoder.2.3")
    page.get_by_text("These numbers as a table").click()
    weights = trace.encoder[1, 2]
    np.testing.assert_allclose(weights_table(page), weights, atol=5.1e-5)
    page.locator(".options summary").click()
    page.locator("[name=words]").select_option("words")
    expect(page.locator(KEYS).nth(1)).to_have_text("don't")
    words = word_ranges(trace.source_tokens)
    groups = [*map(list, words), *([position] for position in range(words[-1].stop, len(weights)))]
    merged = np.array([[weights[np.ix_(row, column)].sum() / len(row) for column in groups] for row in groups])
    np.testing.assert_allclose(weights_table(page), merged, atol=5.1e-4)

    open_explorer(page, address, head="cross.2.3")
    page.get_by_text("These numbers as a table").click()
    page.locator(".options summary").click()
    page.locator("[name=specials]").select_option("renormalised")
    content = trace.cross[1, 2, :-1, :-1]
    expect(page.locator(KEYS)).to_have_count(content.shape[1])
    np.testing.assert_allclose(weights_table(page), content / content.sum(axis=1, keepdims=True), atol=5.1e-4)


def test_a_finger_chooses_heads_and_cells_and_opened_tables_fit_a_phone(visitor, address, trace):
    page = visitor(width=390, height=844, scheme="dark", has_touch=True)
    open_explorer(page, address, head="cross.2.3")
    page.get_by_role("button", name="Select multiple").tap()
    page.locator(".overview canvas").tap(position=thumbnail(page, 3, 1))
    expect(title(page)).to_have_text("Cross-attention: mean of 2 heads")
    page.get_by_role("button", name="Select multiple").tap()
    page.locator(".overview canvas").tap(position=thumbnail(page, 2, 3))
    page.locator(".map canvas").tap(position=cell(page, trace, 2, 3))
    expect(page.locator(CHOSEN)).to_have_text(shown_tokens(trace.target_tokens)[2])
    expect_weight(page, trace.cross[1, 2, 2, 3])
    for table in ("heads", "weights"):
        page.locator(f"details.{table} summary").tap()
        expect(page.locator(f"details.{table} td").first).to_be_visible()
    page.locator(".options summary").click()
    expect_accessible(page)
