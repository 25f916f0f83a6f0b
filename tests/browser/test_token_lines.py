"""The token lines of Home beside the map: what mouse, keys and fingers show; and the head's way from page to page."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from support.browser import expect_accessible, go_back, wait_until_idle

from headlight.plots.tokens import chip_text

SENTENCE = "I love my teacher."
HOSTILE = "<img src=x onerror=window.hurt=1> <b>cat</b>"
HEAD = "head=cross.3.5"
LONG = " ".join(["I think that he has never read this book, and that she has not read it."] * 4)


def tokens(page: Page, side: str):
    return page.locator(f".row.{side} button")


def shown_lines(page: Page) -> int:
    """The lines that can be seen."""
    return page.locator(".between path").evaluate_all(
        "paths => paths.filter((path) => getComputedStyle(path).opacity !== '0').length"
    )


def weight_words(weight: float) -> str:
    if 0 < weight < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.995 <= weight < 1 else f"{100 * weight:.0f} %"


def open_lines(page: Page, address: str, text: str = SENTENCE, query: str = "") -> None:
    page.goto(f"{address}/?map=1&text={quote(text)}{query}")
    expect(tokens(page, "source").first).to_be_visible()
    wait_until_idle(page)


@pytest.fixture
def lines(windows, address) -> Iterator[Page]:
    """The lines of one head, on a page that stands open from test to test; no script may fail."""
    page, errors = windows("first"), []

    def note(error) -> None:
        errors.append(str(error))

    page.on("pageerror", note)
    if not page.url.endswith(HEAD):
        open_lines(page, address, query=f"&{HEAD}")
    yield page
    page.remove_listener("pageerror", note)
    assert not errors


def readout(page: Page):
    return page.locator(".token_lines .readout")


def test_pointing_at_an_output_token_leaves_its_lines_and_writes_the_weights_of_the_trace(lines, shipped):
    page, trace = lines, shipped.trace(SENTENCE)
    weights = trace.cross[2, 4].astype(np.float64)
    assert shown_lines(page) == (weights >= 0.01).sum()
    for row, token in enumerate(trace.target_tokens):
        tokens(page, "output").nth(row).hover()
        expect(page.locator(".row.source .weight")).to_have_text([weight_words(each) for each in weights[row]])
        assert shown_lines(page) == (weights[row] >= 0.01).sum()
        expect(readout(page)).to_contain_text(f"“{chip_text(token)}”, output token {row + 1}")
        best = int(weights[row].argmax())
        reads = f"“{chip_text(trace.source_tokens[best])}” {weight_words(weights[row, best])}"
        expect(readout(page)).to_contain_text(reads)
    tokens(page, "source").nth(2).hover()
    expect(page.locator(".row.output .weight")).to_have_text([weight_words(each) for each in weights[:, 2]])
    assert shown_lines(page) == (weights[:, 2] >= 0.01).sum()
    page.mouse.move(5, 5)
    expect(readout(page)).to_contain_text("Point at a word")
    assert shown_lines(page) == (weights >= 0.01).sum()
    page.get_by_text("Table of these weights").click()
    cells = page.locator(".weights_table td")
    expect(cells).to_have_count(weights.size)
    shown = np.array(cells.all_text_contents(), dtype=float).reshape(weights.shape)
    np.testing.assert_allclose(shown, weights, atol=5.1e-5)


def test_tokens_have_their_probabilities_and_names_with_the_mark_of_a_word(lines, shipped):
    page, trace = lines, shipped.trace(SENTENCE)
    expect(page.locator(".row.source .token")).to_have_text(list(map(chip_text, trace.source_tokens)))
    for row, token in enumerate(trace.target_tokens):
        button, both = tokens(page, "output").nth(row), f"“{trace.decoder_input_tokens[row]}” → “{token}”"
        expect(button).to_have_attribute("aria-label", re.compile(rf"^{re.escape(both)}, output token {row + 1}, "))
        percent = button.locator(".chance").text_content()
        assert percent == f"{100 * float(trace.target_probabilities[row]):.0f} %"
    tints = page.locator(".row.output .token").evaluate_all(
        "chips => chips.map((chip) => Number(getComputedStyle(chip).backgroundColor.match(/([.0-9]+)\\)$/)[1]))"
    )
    np.testing.assert_allclose(tints, 0.04 + 0.6 * trace.target_probabilities, atol=0.006)  # stronger = more probable


def test_the_rows_are_gone_through_by_keys(lines, shipped):
    page, trace = lines, shipped.trace(SENTENCE)
    tokens(page, "source").first.focus()
    page.keyboard.press("ArrowRight")
    expect(readout(page)).to_contain_text(f"“{chip_text(trace.source_tokens[1])}”, source token 2, is looked at")
    page.keyboard.press("ArrowDown")
    expect(readout(page)).to_contain_text(", output token ")
    page.keyboard.press("End")
    expect(readout(page)).to_contain_text(f"“⟨end⟩”, output token {len(trace.target_tokens)}")
    assert shown_lines(page) == (trace.cross[2, 4, -1] >= 0.01).sum()
    page.keyboard.press("Escape")
    expect(readout(page)).to_contain_text("Point at a word")
    reached = page.locator(".row button[tabindex='0']")
    expect(reached).to_have_count(2)  # Tab stops once in each row


def test_another_head_draws_other_lines_between_the_same_tokens(lines, shipped):
    page = lines
    kept = tokens(page, "output").first.element_handle()
    page.get_by_role("radiogroup", name="Head").get_by_role("radio", name="2", exact=True).click()
    expect(page).to_have_url(re.compile(r"head=cross\.3\.2"))
    expect(page.locator(".between path")).to_have_count(int((shipped.trace(SENTENCE).cross[2, 1] >= 0.01).sum()))
    assert kept.evaluate("button => button.isConnected"), "tokens that stay are not drawn anew"


# The looks between which lines were changed: [width, opacity] before and after.
_NOTE_LINES = """() => {
    const own = Element.prototype.animate;
    window.changes = [];
    Element.prototype.animate = function (frames, options) {
        const numbers = ({ strokeWidth, strokeOpacity }) => [Number(strokeWidth), Number(strokeOpacity)];
        if (this.matches("path")) window.changes.push(frames.map(numbers));
        return own.call(this, frames, options);
    };
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_lines_change_from_the_weights_of_one_head_to_those_of_another(visitor, address, shipped, motion):
    page = visitor(width=1366, height=768, reduced_motion=motion)
    open_lines(page, address, query=f"&{HEAD}")
    page.evaluate(_NOTE_LINES)
    choose(page, "Head", "2")
    before, after = (shipped.trace(SENTENCE).cross[2, head].astype(np.float64) for head in (4, 1))
    expect(page.locator(".between path")).to_have_count(int((after >= 0.01).sum()))
    if motion == "reduce":
        assert page.evaluate("window.changes") == []
        return

    def look(weight: float) -> list[float]:
        # As long as the page writes them, so that both are sorted alike.
        return [round(0.75 + 4.25 * weight, 2), round(0.06 + 0.94 * weight, 3)] if weight >= 0.01 else [0.75, 0]

    def is_seen(change: list[list[float]]) -> bool:
        return max(map(abs, np.subtract(*change))) > 0.02  # a smaller one may round to none, or none to it

    there = (before >= 0.01) | (after >= 0.01)
    pairs = zip(before[there], after[there], strict=True)
    expected = sorted(filter(is_seen, ([look(one), look(other)] for one, other in pairs)))

    def width_of_none(change: list[list[float]]) -> list[list[float]]:
        return [[0.75, 0] if not opacity else [width, opacity] for width, opacity in change]

    changes = sorted(filter(is_seen, map(width_of_none, page.evaluate("window.changes"))))
    np.testing.assert_allclose(changes, expected, atol=0.006)


def test_a_finger_shows_and_keeps_a_token(visitor, address, shipped):
    page = visitor(width=390, height=844, has_touch=True)
    open_lines(page, address)
    tokens(page, "output").nth(1).tap()
    expect(readout(page)).to_contain_text(f"“{chip_text(shipped.trace(SENTENCE).target_tokens[1])}”, output token 2")
    tokens(page, "source").nth(0).tap()
    expect(readout(page)).to_contain_text("source token 1, is looked at")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_long_sentence_scrolls_in_letters_that_can_be_read(visitor, address, shipped, scheme):
    page = visitor(width=1366, height=768, scheme=scheme)
    open_lines(page, address, LONG)
    count = len(shipped.trace(LONG).source_tokens)
    assert count >= 60
    expect(tokens(page, "source")).to_have_count(count)
    sizes = page.locator(".row *").evaluate_all(
        "all => all.filter((one) => !one.matches('.start')).map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(sizes) >= 12
    scroll = page.locator(".token_lines .scroll")
    assert scroll.evaluate("place => place.scrollWidth > place.clientWidth")
    tokens(page, "output").last.focus()
    assert scroll.evaluate("place => place.scrollLeft > 0"), "both rows go together"
    expect(readout(page)).to_contain_text("output token")
    expect_accessible(page)


def test_a_token_is_text_and_nothing_else(page, address):
    open_lines(page, address, HOSTILE)
    names = "".join(button.get_attribute("title") for button in tokens(page, "source").all())
    assert "<unk>" in names, "the tokenizer has no <, and its name for what is unknown would be an element"
    tokens(page, "source").first.hover()
    page.get_by_text("Table of these weights").click()
    expect(page.locator(".weights_table td").first).to_be_visible()  # filled just after it was opened
    assert page.locator(".token_lines").locator("img, b, unk").count() == 0 and page.evaluate("window.hurt") is None


def chosen(page: Page) -> list[str]:
    wait_until_idle(page)
    layer, head = (page.get_by_role("radiogroup", name=name) for name in ("Layer", "Head"))
    return [group.locator("[aria-checked=true]").text_content() for group in (layer, head)]


def expect_chosen(page: Page, *layer_and_head: str) -> None:
    for name, value in zip(("Layer", "Head"), layer_and_head, strict=True):
        group = page.get_by_role("radiogroup", name=name)
        expect(group.locator("[aria-checked=true]")).to_have_text(value)
    assert chosen(page) == list(layer_and_head), "it stays so"


def choose(page: Page, name: str, value: str) -> None:
    page.get_by_role("radiogroup", name=name).get_by_role("radio", name=value, exact=True).click()
    wait_until_idle(page)


def test_a_head_goes_along_from_page_to_page_and_back_leads_to_the_first(page, address):
    open_lines(page, address)
    first = chosen(page)
    assert "head" not in page.url
    choose(page, "Head", "2")
    expect_chosen(page, first[0], "2")
    expect(page).to_have_url(re.compile(r"head=cross\.\d\.2"))
    go_back(page)
    expect(page).not_to_have_url(re.compile("head="))
    wait_until_idle(page)
    expect_chosen(page, *first)
    choose(page, "Head", "2")
    expect(page).to_have_url(re.compile(r"head=cross\.\d\.2"))  # a person sees that before the link
    page.get_by_role("link", name="Decoding", exact=True).click()
    expect(page.get_by_role("heading", name="Decoding", exact=True)).to_be_visible()
    expect_chosen(page, first[0], "2")
    choose(page, "Head", "6")
    expect(page).to_have_url(re.compile(r"head=cross\.\d\.6"))
    page.get_by_role("link", name="Home", exact=True).click()
    expect(tokens(page, "source").first).to_be_visible()
    expect_chosen(page, first[0], "6")
    choose(page, "Layer", "average")
    expect(page).to_have_url(re.compile(r"head=cross\.all"))
    page.get_by_role("link", name="Inside", exact=True).click()
    expect(page.get_by_role("heading", name="Inside", exact=True)).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("link", name="Home", exact=True).click()
    expect(tokens(page, "source").first).to_be_visible()
    expect_chosen(page, "average", "6")


def test_where_another_page_begins_is_no_choice(page, address):
    open_lines(page, address)
    first = chosen(page)
    for other in ("Decoding", "Inside"):
        page.get_by_role("link", name=other, exact=True).click()
        expect(page.get_by_role("heading", name=other, exact=True)).to_be_visible()
        wait_until_idle(page)
        page.get_by_role("link", name="Home", exact=True).click()
        expect(tokens(page, "source").first).to_be_visible()
        expect_chosen(page, *first)


@pytest.fixture
def messages(windows) -> Iterator[tuple[Page, list[ForwardMsg]]]:
    """A window, and what the server has sent to it."""
    page, sent = windows("messages"), []

    def note(frame: str | bytes) -> None:
        message = ForwardMsg()
        message.ParseFromString(frame if isinstance(frame, bytes) else frame.encode())
        sent.append(message)

    page.on("websocket", lambda socket: socket.on("framereceived", note))
    yield page, sent
    page.goto("about:blank")


def test_a_new_sentence_brings_no_script_and_names_the_page_once(messages, address):
    """What a component is made of is there; each name of the page costs the browser a message to itself."""
    page, sent = messages
    open_lines(page, address)
    sent.clear()
    field = page.get_by_label("Sentence to translate")
    field.fill("You love your teacher.")
    field.press("Enter")
    expect(tokens(page, "source").first).to_contain_text("You")
    wait_until_idle(page)
    elements = [message.delta.new_element for message in sent if message.WhichOneof("type") == "delta"]
    components = [each.bidi_component for each in elements if each.WhichOneof("type") == "bidi_component"]
    assert components and all(len(each.js_content) < 300 for each in components)
    assert sum(message.WhichOneof("type") == "page_config_changed" for message in sent) == 1
    assert sum(message.ByteSize() for message in sent) < 70_000


@pytest.mark.parametrize(
    ("view", "figures"),
    [
        ("?map=1", ["cross_map"]),
        ("inside?inside=masks", ["leaking", "with_the_mask", "next_tokens"]),
        ("decoding?decoding_view=candidates", ["logits_bars", "cut_bars"]),
        ("positions?positions=waves", ["waves"]),
    ],
)
def test_figures_have_the_room_for_their_labels_before_they_are_drawn(messages, address, view, figures):
    """Plotly draws a figure once more for each side where the labels take more room than it was told."""
    page, _ = messages
    page.goto(f"{address}/{view}")
    wait_until_idle(page)
    read = "plot => [plot._fullLayout.margin, plot._fullLayout._size].map(({ l, r, t, b }) => [l, r, t, b])"
    for name in figures:
        expect(page.locator(f".st-key-{name} .ytick").first).to_be_attached()
        given, taken = page.locator(f".st-key-{name} .js-plotly-plot").evaluate(read)
        assert taken == pytest.approx(given, abs=1), name  # it lets a pixel pass
