"""What a person does in the explorer: points, clicks, types on the keys, merges words, shares the place."""

import contextlib
import dataclasses
import re
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from support.browser import expect_accessible, wait_until_idle
from support.chromium import PATIENCE
from support.traces import step_names

from headlight.components.bundle import bundle
from headlight.plots.numbers import percent
from headlight.plots.tokens import shown_token, shown_tokens
from headlight.views.attention.explorer_content import explorer_blob
from transformer import Translator

ROOT = Path(__file__).parents[2]
EXPLORER = ROOT / "headlight" / "components" / "attention_explorer"
SENTENCE = "I don't love my teacher."
QUERIES, KEYS = ".query_tokens button", ".key_tokens button"


@pytest.fixture(scope="module")
def trace():
    return Translator.load(ROOT / "checkpoints" / "en-de", "cpu").trace(SENTENCE)


def open_explorer(page: Page, address: str, **see: str) -> None:
    """Open the explorer for an address."""
    see = {"text": SENTENCE, **see}
    page.goto(f"{address}/attention?" + "&".join(f"{name}={quote(value)}" for name, value in see.items()))
    expect(page.locator(".readout")).not_to_be_empty()
    wait_until_idle(page)


def reads(page: Page, weight: str) -> None:
    """Wait until the sentence below the map names a weight."""
    expect(page.locator(".readout")).to_contain_text(weight)


def title(page: Page):
    return page.locator(".heads_name")


def cell(page: Page, row: int, column: int, rows: int, columns: int) -> dict[str, float]:
    """The middle of a cell of the map: cells are square and end 52 pixels from the right, 4 from below."""
    wide, high = page.locator(".map canvas").evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
    side = (high - 4 - TOP) / rows
    return {"x": wide - 52 - (columns - column - 0.5) * side, "y": TOP + (row + 0.5) * side}


TOP = 0.87 * 7 * len("teacher") + 14  # pixels that the names of the columns take


def options(page: Page) -> None:
    """Open what lies behind the button, which covers a part of the rest."""
    page.locator(".options summary").click()
    expect(page.locator(".options .panel")).to_be_visible()


def thumbnail(page: Page, layer: int, head: int) -> dict[str, float]:
    """The middle of a head's thumbnail in the overview of 3 layers by 8 heads; both count from 1."""
    wide, high = page.locator(".overview canvas").evaluate("canvas => [canvas.clientWidth, canvas.clientHeight]")
    across = (wide - 48) // 8
    return {"x": 46 + (head - 0.5) * across - 4, "y": 18 + (layer - 0.5) * (high - 18) / 3 - 11}


def second_visitor(elsewhere: Callable[[], Page], url: str) -> Page:
    page = elsewhere()
    page.goto(url)
    expect(page.locator(".readout")).not_to_be_empty()
    return page


def test_pointing_at_a_cell_tells_its_numbers_and_marks_its_tokens_everywhere(page, address, trace):
    open_explorer(page, address, head="cross.2.3")
    rows, columns = trace.cross.shape[2:]
    page.locator(".map canvas").hover(position=cell(page, 3, 1, rows, columns))
    weights = trace.cross[1, 2, 3]
    expect(page.locator(f"{QUERIES}.pointed")).to_have_text(step_names(trace)[3])
    expect(page.locator(f"{KEYS}.pointed")).to_have_text(shown_tokens(trace.source_tokens)[1])
    expect(page.locator(f"{KEYS}.pointed")).to_have_attribute("aria-label", shown_tokens(trace.source_tokens)[1])
    expect(page.locator(".readout")).to_contain_text(
        f"this head looks at “{shown_token(trace.source_tokens[1])}”: {percent(weights[1])}."
    )
    page.mouse.move(5, 5)
    expect(page.locator(".pointed")).to_have_count(0)


def opacity(weights: np.ndarray) -> np.ndarray:
    """Of the ramp's colours: 0.03 for nothing, 0.72 for a half, 1 for all."""
    return np.interp(weights, [0, 0.5, 1], [0.03, 0.72, 1])


def test_pointing_at_a_token_colours_what_it_reads_and_what_reads_it(page, address, trace):
    open_explorer(page, address, head="cross.3.1")
    colour = "button => Number(getComputedStyle(button).backgroundColor.match(/[\\d.]+/g)[3] ?? 1)"
    for tokens, others, weights in (
        (QUERIES, KEYS, trace.cross[2, 0, 2]),
        (KEYS, QUERIES, trace.cross[2, 0, :, 2]),
    ):
        page.locator(tokens).nth(2).hover()
        expect(page.locator(tokens).nth(2)).to_have_class(re.compile("pointed"))
        shares = [button.evaluate(colour) for button in page.locator(others).all()]
        np.testing.assert_allclose(shares, opacity(weights / max(1, weights.sum(), weights.max())), atol=0.006)
        reads(page, f": {percent(weights.max())}.")


def test_pointing_at_a_head_shows_it_and_a_click_keeps_it(page, address, trace):
    open_explorer(page, address, head="cross.1.1")
    canvas = page.locator(".overview canvas")
    canvas.hover(position=thumbnail(page, 2, 5))
    expect(title(page)).to_have_text("Cross-attention: layer 2, head 5")
    expect(page.locator(".readout")).to_contain_text("layer 2, head 5")
    page.mouse.move(5, 5)
    expect(title(page)).to_have_text("Cross-attention: layer 1, head 1")
    canvas.click(position=thumbnail(page, 3, 2))
    canvas.click(position=thumbnail(page, 1, 4), modifiers=["Shift"])
    page.mouse.move(5, 5)
    expect(title(page)).to_have_text("Cross-attention: mean of 2 heads")
    expect(page).to_have_url(re.compile(r"head=cross\.3\.2-cross\.1\.4"))
    page.locator(QUERIES).nth(1).click()
    mean = float((trace.cross[2, 1, 1] + trace.cross[0, 3, 1]).max()) / 2
    expect(page.locator(".readout")).to_contain_text(f": {percent(mean)}.")
    options(page)
    page.locator("[name=together]").select_option("sum")
    page.keyboard.press("Escape")
    expect(page.locator(".options .panel")).to_be_hidden()
    expect(page.locator(".options summary")).to_be_focused()
    expect(title(page)).to_have_text("Cross-attention: sum of 2 heads")
    expect(page.locator(".readout")).to_contain_text(f": {2 * mean:.2f}.")
    canvas.click(position={"x": 15, "y": thumbnail(page, 2, 1)["y"]})
    expect(title(page)).to_have_text("Cross-attention: sum of the 8 heads of layer 2")


def test_tokens_are_chosen_and_summed_and_escape_clears(page, address, elsewhere, trace):
    open_explorer(page, address, head="cross.2.3", view="lines")
    page.locator(".readers button").nth(2).click()
    page.locator(".readers button").nth(4).click(modifiers=["Shift"])
    expect(page.locator(".readers [aria-pressed=true]")).to_have_count(2)
    expect(page.locator(".readers [aria-pressed=true]")).to_have_text([step_names(trace)[step] for step in (2, 4)])
    sums = trace.cross[1, 2, 2] + trace.cross[1, 2, 4]
    expect(page.locator(".readout")).to_contain_text(
        f"look most at “{shown_token(trace.source_tokens[sums.argmax()])}”: {percent(sums.max() / 2)}."
    )
    page.wait_for_url(re.compile(r"query=3\.5"))
    other = second_visitor(elsewhere, page.url)
    expect(other.locator(".readers [aria-pressed=true]")).to_have_text([step_names(trace)[step] for step in (2, 4)])
    expect(title(other)).to_have_text("Cross-attention: layer 2, head 3")
    expect(other.locator(".lines canvas")).to_be_visible()
    page.get_by_role("button", name="map", exact=True).click()
    expect(page.locator(f"{QUERIES}[aria-pressed=true]")).to_have_text([step_names(trace)[step] for step in (2, 4)])
    page.keyboard.press("Escape")
    expect(page.locator(f"{QUERIES}[aria-pressed=true]")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("query="))


def test_everything_is_reached_by_keys(page, address, trace):
    open_explorer(page, address, head="cross.1.1")
    page.locator(".overview canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(title(page)).to_have_text("Cross-attention: layer 2, head 2")
    page.keyboard.press("Enter")
    page.locator(".map canvas").focus()
    expect(title(page)).to_have_text("Cross-attention: layer 2, head 2")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # the first only goes to the first cell
        page.keyboard.press(key)
    reads(page, f": {percent(trace.cross[1, 1, 1, 1])}.")
    page.keyboard.press("Enter")
    expect(page.locator(f"{QUERIES}[aria-pressed=true]")).to_have_text(step_names(trace)[1])
    page.locator(QUERIES).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    expect(page.locator(QUERIES).last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(f"{QUERIES}[aria-pressed=true]")).to_have_text(step_names(trace)[-1])
    page.keyboard.press("Tab")
    expect(page.locator(KEYS).first).to_be_focused()


def weights_table(page: Page) -> np.ndarray:
    """The numbers of the table behind the map, masked and left out ones as 0, without the entropies."""
    expect(page.locator("details.weights td").first).to_be_visible()  # it is filled just after it was opened
    rows = page.locator("details.weights tbody tr").all()
    texts = [row.locator("td").all_inner_texts()[:-1] for row in rows]
    return np.array([[float(text) if text[0].isdigit() else 0 for text in row] for row in texts])


def test_the_table_has_the_weights_and_merged_words_sum_columns_and_average_rows(page, address, trace):
    open_explorer(page, address, head="encoder.2.3")
    assert page.locator("details.weights td").count() == 0, "only filled while it is open"
    page.get_by_text("Table of these weights").click()
    weights = trace.encoder[1, 2]
    np.testing.assert_allclose(weights_table(page), weights, atol=5.1e-5)
    options(page)
    page.locator("[name=words]").select_option("words")
    notes = page.locator(".notes")
    expect(notes).to_contain_text("summed over the subwords of a key and averaged over those of a query")
    expect(page.locator(KEYS).nth(1)).to_have_text("don't")
    tokens = trace.source_tokens
    assert tokens[1:4] == ("▁don", "'", "t")
    groups = [[0], [1, 2, 3], *([place] for place in range(4, len(tokens)))]
    merged = np.array([[weights[np.ix_(row, column)].sum() / len(row) for column in groups] for row in groups])
    np.testing.assert_allclose(weights_table(page), merged, atol=5.1e-4)


def test_specials_and_small_weights_are_left_out_and_it_says_so(page, address, trace):
    open_explorer(page, address, head="cross.2.3")
    page.get_by_text("Table of these weights").click()
    left = trace.cross[1, 2, :-1, :-1]
    options(page)
    page.locator("[name=specials]").select_option("hidden")
    expect(page.locator(".notes")).to_contain_text("rows are not divided by what remains")
    np.testing.assert_allclose(weights_table(page), left, atol=5.1e-5)
    page.locator("[name=specials]").select_option("renormalised")
    expect(page.locator(".notes")).to_contain_text("sums to what it did before")
    np.testing.assert_allclose(weights_table(page), left / left.sum(axis=1, keepdims=True), atol=5.1e-4)
    page.locator("[name=rows]").select_option("input token")
    expect(page.locator(QUERIES).first).to_have_text(shown_tokens(trace.decoder_input_tokens)[1])

    page.locator("[name=specials]").select_option("shown")
    page.get_by_role("button", name="decoder", exact=True).click()
    expect(page.locator(".options .panel")).to_be_hidden()  # a click elsewhere closes it
    options(page)
    page.locator("[name=top]").fill("60")
    expect(page.locator(".notes")).to_contain_text("largest weights that together hold 60 %")
    weights, shown = trace.decoder[1, 2], weights_table(page)
    kept = shown.sum(axis=1)
    assert (kept >= 0.6 - 1e-3).all()
    assert (kept - np.where(shown > 0, shown, 2).min(axis=1) < 0.6 + 1e-3).all(), "one less would hold too little"
    np.testing.assert_allclose(shown[shown > 0], weights[shown > 0], atol=5.1e-5)
    assert page.locator("details.weights td", has_text="masked").count() == len(weights) * (len(weights) - 1) // 2


def test_heads_are_found_by_a_measure(page, address):
    open_explorer(page, address)
    options(page)
    page.locator("[name=sort]").select_option("alignment")
    page.locator("[name=least]").fill("80")
    page.get_by_text("Table of the heads").click()
    expect(page.locator("details.heads thead th", has_text="alignment").first).to_be_visible()
    head = page.locator("details.heads thead th").all_inner_texts()
    rows = [row.locator("td").all_inner_texts() for row in page.locator("details.heads tbody tr").all()]
    shares = [int(row[head.index("alignment") - 1].removesuffix(" %")) for row in rows]
    assert shares == sorted(shares, reverse=True) and min(shares) >= 80 and 0 < len(shares) < 24
    expect(page.locator(".count")).to_have_text(f"{len(shares)} of 24 fit, the others are faint")
    page.locator("details.heads tbody button").last.click()
    expect(page.locator("details.heads tbody button").last).to_be_focused()
    expect(page.locator("details.heads tbody button").last).to_have_attribute("aria-pressed", "true")
    look = page.locator(".look button").first
    layer, number = re.match(r"Layer (\d), head (\d)", look.inner_text()).groups()
    look.click()
    expect(look).to_be_focused()
    expect(title(page)).to_have_text(f"Cross-attention: layer {layer}, head {number}")


def test_what_the_server_answers_draws_nothing_anew(page, address):
    open_explorer(page, address, head="cross.2.3")
    page.get_by_text("Table of the heads").click()
    page.get_by_role("button", name="layer 1, head 5", exact=True).click()
    cell = page.locator("details.heads td").first.element_handle()
    page.wait_for_url(re.compile(r"head=cross\.1\.5"))
    wait_until_idle(page)
    expect(page.get_by_role("link", name="Inside this head, step by step")).to_have_attribute(
        "href", re.compile(r"head=cross\.1\.5")
    )
    assert cell.evaluate("cell => cell.isConnected"), "a choice made meanwhile would be undone by one's own echo"


def test_a_head_chosen_just_before_a_link_goes_along_and_the_page_that_is_left_is_silent(browser, address):
    """What it would say before the other page has come, Streamlit takes for a wish to be back: a page without content.

    The server is busy: what it sends is held while for the page minutes pass.
    """
    sent, held, busy = [], [], threading.Event()

    def between(page_side: WebSocketRoute) -> None:
        server = page_side.connect_to_server()
        page_side.on_message(lambda message: (sent.append(BackMsg.FromString(message)), server.send(message)))
        server.on_message(lambda message: held.append(message) if busy.is_set() else page_side.send(message))
        sides.append(page_side)

    sides: list[WebSocketRoute] = []
    with contextlib.closing(browser.new_page(viewport={"width": 1366, "height": 768})) as page:
        page.set_default_timeout(PATIENCE)
        page.clock.install()
        page.route_web_socket(re.compile("_stcore/stream"), between)
        open_explorer(page, address, head="cross.1.1")
        busy.set()
        sent.clear()
        page.locator(".overview canvas").click(position=thumbnail(page, 2, 5))
        page.get_by_role("link", name="Decoding", exact=True).click()
        page.clock.run_for(120_000)
        page.locator(".overview canvas").click(position=thumbnail(page, 3, 2))
        page.clock.run_for(120_000)
        assert [bool(each.rerun_script.fragment_id) for each in sent if each.HasField("rerun_script")] == [True]
        while held:  # what comes while these are sent comes after them
            sides[-1].send(held.pop(0))
        busy.clear()
        expect(page.locator(".place")).to_contain_text("Step 1 of")
        assert [bool(each.rerun_script.fragment_id) for each in sent if each.HasField("rerun_script")] == [True, False]
        expect(page.get_by_role("radiogroup", name="Head").get_by_role("radio", name="5")).to_be_checked()


def test_another_checkpoint_brings_its_own_heads_and_no_token_of_the_sentence_before(page, address):
    open_explorer(page, address, head="cross.3.8", query="5")
    page.get_by_role("combobox", name="Checkpoint").click()
    page.get_by_role("option", name="reverse").click()
    expect(title(page)).to_have_text(re.compile("Cross-attention: layer [12], head [1-4]$"))
    expect(page.locator(f"{QUERIES}[aria-pressed=true]")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("query=5"))


def test_hostile_tokens_are_only_text(page, trace):
    # No tokenizer of ours has such a piece; a stranger's checkpoint may.
    evil = "<img src=x onerror=window.hurt=1>"
    sides = {
        name: (evil, *getattr(trace, name)[1:]) for name in ("source_tokens", "decoder_input_tokens", "target_tokens")
    }
    blob = explorer_blob(dataclasses.replace(trace, **sides))
    page.set_content(f"<div id=place>{(EXPLORER / 'explorer.html').read_text()}</div>")
    page.evaluate(
        """async ([script, bytes]) => {
          const explorer = await import(URL.createObjectURL(new Blob([script], {type: "text/javascript"})));
          const parentElement = document.getElementById("place");
          explorer.default({ parentElement, data: new Uint8Array(bytes), setTriggerValue: () => {} });
        }""",
        [bundle(EXPLORER / "explorer.js"), list(blob)],
    )
    page.get_by_text("Table of these weights").click()
    page.locator(QUERIES).first.hover()
    expect(page.locator(KEYS).first).to_have_attribute("title", evil)  # the label of a column is shortened
    expect(page.locator(KEYS).first).to_have_text(f"{evil[:11]}…")
    for place in (".readout", "details.weights thead th"):
        expect(page.locator(place).filter(has_text=evil).first).to_be_visible()
    page.get_by_role("button", name="lines", exact=True).click()
    expect(page.locator(".read button").first).to_have_attribute("title", evil)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hurt") is None


@pytest.mark.parametrize(
    "scheme, width, see",
    [
        ("dark", 390, {"view": "lines", "key": "2"}),
        ("light", 1440, {"label": "alignment"}),
    ],
)
def test_it_shuts_no_one_out_and_is_no_wider_than_the_screen(visitor, address, scheme, width, see):
    page = visitor(width=width, height=844, scheme=scheme, has_touch=width < 400)
    open_explorer(page, address, **see)
    for text in ("Table of the heads", "Table of these weights"):
        page.get_by_text(text).click()
    for table in ("heads", "weights"):  # filled just after it was opened
        expect(page.locator(f"details.{table} td").first).to_be_visible()
    expect_accessible(page)
    options(page)
    expect_accessible(page)


def test_a_finger_chooses_heads_and_cells_and_nothing_covers_them(visitor, address, trace):
    page = visitor(width=390, height=844, scheme="dark", has_touch=True)
    open_explorer(page, address, head="cross.2.3")
    page.get_by_role("button", name="Select multiple").tap()
    page.locator(".overview canvas").tap(position=thumbnail(page, 3, 1))
    expect(title(page)).to_have_text("Cross-attention: mean of 2 heads")
    page.get_by_role("button", name="Select multiple").tap()
    page.locator(".overview canvas").tap(position=thumbnail(page, 2, 3))
    expect(title(page)).to_have_text("Cross-attention: layer 2, head 3")
    rows, columns = trace.cross.shape[2:]
    page.locator(".map canvas").tap(position=cell(page, 2, 3, rows, columns))
    expect(page.locator(f"{QUERIES}[aria-pressed=true]")).to_have_text(step_names(trace)[2])
    expect(page.locator(".readout")).to_contain_text(f": {percent(trace.cross[1, 2, 2, 3])}.")
    fixed = "place => [...place.querySelectorAll('*')].map(each => getComputedStyle(each).position)"
    assert not {"fixed", "sticky"} & set(page.locator(".explorer").evaluate(fixed))
