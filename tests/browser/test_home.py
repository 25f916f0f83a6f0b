"""Home: a sentence is translated, its words are hidden, and its lines are read by mouse, keys and finger."""

import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from support.browser import expect_accessible, go_back, wait_for_keys, wait_until_idle

from headlight.plots.tokens import chip_text

SENTENCE = "The dog is hungry because it has not eaten."
SHORT = "I love my teacher."
HOSTILE = "<img src=x onerror=window.hurt=1> <b>cat</b>"


def open_home(page: Page, address: str, text: str = SENTENCE, query: str = "") -> None:
    page.goto(f"{address}/?text={quote(text)}{query}")
    expect(page.locator(".row.source button").first).to_be_visible()
    wait_until_idle(page)


def source(page: Page, token: str) -> Locator:
    return page.locator(".row.source button").filter(has_text=re.compile(f"^{re.escape(token)}$"))


def outputs(page: Page) -> Locator:
    return page.locator(".row.output .token")


def type_sentence(page: Page, text: str) -> None:
    page.get_by_label("Sentence to translate").fill(text)
    page.get_by_label("Sentence to translate").press("Enter")


def test_any_text_is_translated_as_text_and_nothing_is_requested_from_others(page, address, shipped):
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{address}/?map=1")
    translation, maps = page.locator(".token_lines .whole"), page.locator(".heatmaplayer image")
    for text in (SHORT, HOSTILE):
        type_sentence(page, text)
        expect(translation).to_have_text(shipped.translate([text])[0])
        expect(maps).to_have_count(1)
    assert page.evaluate("window.hurt") is None
    assert not page.locator(".token_lines").locator("img, b").count()
    allowed = (address, "data:", "blob:", address.replace("http", "ws"))
    assert [url for url in requests if not url.startswith(allowed)] == [] and len(requests) > 10


def test_words_are_hidden_by_click_and_key_kept_in_the_address_and_shown_again(page, address, elsewhere, shipped):
    open_home(page, address)
    before = outputs(page).all_text_contents()
    source(page, "not").click()
    number = list(shipped.trace(SENTENCE).source_tokens).index("▁not")
    without = shipped.trace(SENTENCE, interventions=[f"forbid:cross.*.*:{number}"])
    expect(outputs(page)).to_have_text(list(map(chip_text, without.target_tokens)))
    expect(source(page, "not")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(rf"hidden={number + 1}\b"))
    expect(elsewhere(page.url).locator(".row.source .hidden")).to_have_text("not")
    wait_until_idle(page)
    page.locator(".row.source button").first.focus()
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(rf"hidden=2\.{number + 1}"))
    expect(page.locator(".row.source .hidden")).to_have_count(2)
    for button in page.locator(".row.output .changed").all():
        expect(button).to_have_attribute("aria-label", re.compile(", changed$"))
    go_back(page)
    expect(page.locator(".row.source .hidden")).to_have_count(1)
    wait_until_idle(page)
    page.get_by_role("button", name="Show all words").click()
    expect(page).not_to_have_url(re.compile("hidden="))
    expect(outputs(page)).to_have_text(before)


def shown_lines(page: Page) -> int:
    return page.locator(".between path").evaluate_all(
        "paths => paths.filter((path) => getComputedStyle(path).opacity !== '0').length"
    )


def test_lines_and_numbers_are_the_weights_of_the_chosen_head(page, address, shipped):
    trace = shipped.trace(SHORT)
    weights = trace.cross[2, 4].astype(float)
    open_home(page, address, SHORT, "&map=1&head=cross.3.5")
    rows, readout = page.locator(".row.output button"), page.locator(".token_lines .readout")

    def percents(numbers: np.ndarray) -> list[re.Pattern]:
        return [re.compile(rf"^(< 1|> 99|{100 * number:.0f}) %$") for number in numbers]

    expect(page.locator(".between path")).to_have_count(int((weights >= 0.01).sum()))
    for row in (0, len(weights) - 1):
        rows.nth(row).hover()
        expect(page.locator(".row.source .weight")).to_have_text(percents(weights[row]))
        assert shown_lines(page) == (weights[row] >= 0.01).sum()
    page.locator(".row.source button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(readout).to_contain_text("“⟨end⟩” looks at")
    assert shown_lines(page) == (weights[-1] >= 0.01).sum()
    expect(page.locator(".row button[tabindex='0']")).to_have_count(2)  # Tab stops once in each row
    page.get_by_text("These numbers as a table").click()
    cells = page.locator(".weights_table td")
    expect(cells).to_have_count(weights.size)
    np.testing.assert_allclose(np.array(cells.all_text_contents(), float), weights.ravel(), atol=5.1e-5)

    first = rows.first.element_handle()
    page.get_by_role("radiogroup", name="Head").get_by_role("radio", name="2", exact=True).click()
    expect(page).to_have_url(re.compile(r"head=cross\.3\.2"))
    expect(page.locator(".between path")).to_have_count(int((trace.cross[2, 1] >= 0.01).sum()))
    assert first.evaluate("button => button.isConnected"), "tokens are not drawn again"
    chosen = page.get_by_role("radiogroup", name="Head").locator("[aria-checked=true]")
    go_back(page)
    expect(chosen).to_have_text("5")
    page.get_by_role("link", name="Decoding", exact=True).click()
    expect(page.locator(".place")).to_be_visible()
    expect(chosen).to_have_text("5")


@pytest.mark.parametrize("way", ["mouse", "keys"])
def test_a_doubtful_token_leads_to_its_step_in_decoding(page, address, shipped, way):
    text = "I went to the bank."
    step = int((shipped.trace(text).target_probabilities < 0.5).argmax())
    open_home(page, address, text)
    button = page.locator(".row.output button").nth(step)
    if way == "mouse":
        button.locator(".doubt").click()
    else:
        button.focus()
        page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/decoding\?.*step={step + 1}\b"))
    expect(page.locator(".candidates")).to_be_visible()


def test_a_word_of_the_field_is_explained_by_pointing_at_it_and_in_a_list(page, address):
    page.goto(f"{address}/decoding?text={quote(SENTENCE)}")
    expect(page.locator(".place")).to_be_visible()
    wait_until_idle(page)
    page.wait_for_function("CSS.highlights.get('glossary')?.size > 3")
    point = page.evaluate(
        """() => {
          const ranges = [...CSS.highlights.get("glossary")];
          const { left, top, width, height } = ranges.find((each) => /^decoder$/i.test(each)).getBoundingClientRect();
          return [left + width / 2, top + height / 2];
        }"""
    )
    page.mouse.move(*point)
    expect(page.locator(".tip")).to_be_visible()
    page.mouse.move(3, 3)
    expect(page.locator(".tip")).to_be_hidden()
    wait_for_keys(page)
    page.keyboard.press("?")
    expect(page.locator("dialog .words dt").filter(has_text=re.compile("^decoder$"))).to_be_in_viewport()
    expect_accessible(page)


def test_a_new_sentence_sends_no_script_again(windows, address):
    page, messages = windows("messages"), []

    def note(frame: str | bytes) -> None:
        message = ForwardMsg()
        message.ParseFromString(frame if isinstance(frame, bytes) else frame.encode())
        messages.append(message)

    page.on("websocket", lambda socket: socket.on("framereceived", note))
    open_home(page, address, SHORT, "&map=1")
    messages.clear()
    type_sentence(page, "You love your teacher.")
    expect(page.locator(".row.source button").first).to_contain_text("You")
    wait_until_idle(page)
    elements = [message.delta.new_element for message in messages if message.WhichOneof("type") == "delta"]
    components = [each.bidi_component for each in elements if each.WhichOneof("type") == "bidi_component"]
    assert components and all(len(each.js_content) < 300 for each in components)
    assert sum(message.ByteSize() for message in messages) < 70_000
    page.goto("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_loop_of_the_training_ends_as_it_began(page, address, scheme):
    page.emulate_media(color_scheme=scheme)
    open_home(page, address, SHORT)
    cells, play = page.locator(".replay_loop .cells i"), page.locator(".replay_loop .play")
    colours = "cells => cells.map(cell => getComputedStyle(cell).backgroundColor)"
    before = cells.evaluate_all(colours)
    play.click()
    expect(play).to_have_text("Stop")
    assert cells.evaluate_all(colours) != before
    expect(play).to_have_text("Play")
    assert cells.evaluate_all(colours) == before
