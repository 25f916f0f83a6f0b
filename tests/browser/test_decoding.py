"""Decoding: its player is stepped and played, a token is forced, and a beam search is continued from a branch."""

import re
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import go_back, wait_until_idle

from headlight.plots.numbers import percent
from headlight.plots.tokens import chip_text, shown_token
from transformer import Beam

SENTENCE = "I love my teacher."


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(SENTENCE)


def expect_step(page: Page, number: int) -> None:
    expect(page.locator(".place")).to_contain_text(f"Step {number} of")


def translation(page: Page) -> Locator:
    return page.locator(".st-key-translation strong")


def test_steps_by_button_key_and_slider_show_prefix_candidates_and_weights(page, address, trace):
    page.goto(f"{address}/decoding?step=2&head=cross.all.all")
    expect_step(page, 2)
    page.get_by_role("button", name="One step forward").click()
    chips = page.locator(".chips.target .chip:not(.later) .token")
    expect(chips).to_have_text(list(map(chip_text, (*trace.decoder_input_tokens[:3], trace.target_tokens[2]))))
    expect(page.locator("td.piece button")).to_have_text(list(map(shown_token, trace.candidate_tokens[2])))
    means = trace.cross[:, :, 2].mean(axis=(0, 1))
    expect(page.locator(".chips.source .note")).to_have_text([f"{100 * weight:.0f} %" for weight in means])
    chance = f"{100 * trace.target_probabilities[2]:.1f} %"
    expect(page.locator(".chip.next .note")).to_have_text(f"predicted · {chance}")
    expect(page).to_have_url(re.compile("step=3"))
    go_back(page)
    expect_step(page, 2)
    wait_until_idle(page)
    page.get_by_role("button", name="One step forward").press("ArrowRight")
    expect_step(page, 3)
    page.get_by_role("slider", name="Step", exact=True).fill("5")
    expect(page).to_have_url(re.compile("step=5"))


def test_another_page_is_one_step_of_the_history_and_brings_its_values_back(page, address):
    def go_to(name: str) -> None:
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        wait_until_idle(page)

    page.goto(f"{address}/decoding?step=2")
    expect_step(page, 2)
    sentence = page.get_by_label("Sentence to translate")
    sentence.fill("Where is my cat?")
    sentence.press("Enter")
    page.wait_for_url("**text=Where**")
    wait_until_idle(page)
    page.get_by_role("slider", name="Step", exact=True).fill("3")
    page.wait_for_url("**step=3")
    left = page.url
    go_to("What if")
    assert "step=" not in page.url and "text=Where" in page.url
    go_to("Decoding")
    page.wait_for_url(lambda url: sorted(urlsplit(url).query.split("&")) == sorted(urlsplit(left).query.split("&")))
    go_back(page)
    page.wait_for_url("**/what_if?text=Where*")
    go_back(page)
    expect(page).to_have_url(left)
    go_back(page)
    expect(page).not_to_have_url(re.compile("step="))
    expect(sentence).to_have_value("Where is my cat?")
    go_back(page)
    expect_step(page, 2)
    expect(sentence).to_have_value(SENTENCE)


def test_it_plays_once_on_arrival_and_rests_at_the_hardest_step(visitor, address, trace):
    page, steps = visitor(reduced_motion="no-preference"), len(trace.target_ids)
    page.goto(f"{address}/decoding?text={quote(SENTENCE)}")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect_step(page, steps)
    expect_step(page, int(trace.entropies.argmax()) + 1)


def test_a_head_is_chosen_among_all_heads_of_a_step(page, address, trace):
    page.goto(f"{address}/decoding?step=4")
    expect_step(page, 4)
    wait_until_idle(page)
    page.get_by_text("Every head in this step").click()
    canvas = page.locator("canvas.all_cross")
    canvas.scroll_into_view_if_needed()
    box, (layers, heads) = canvas.bounding_box(), trace.cross.shape[:2]
    line, gap = 11, 6  # pixels per head, and between layers; labels stand above
    top = box["y"] + box["height"] - layers * (heads * line + gap)
    page.mouse.move(box["x"] + 60, top + heads * line + gap + 4.5 * line)
    expect(page.locator(".readout")).to_contain_text(f": {percent(trace.cross[1, 4, 3, 0])}")
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"head=cross\.2\.5"))
    weights = [f"{100 * weight:.0f} %" for weight in trace.cross[1, 4, 3]]
    expect(page.locator(".chips.source .note")).to_have_text(weights)


def test_a_token_is_forced_shared_taken_back_and_dropped_with_its_sentence(page, address, elsewhere, shipped, trace):
    forced = shipped.hypotheses(SENTENCE, prefix=[*trace.target_ids[:2], int(trace.candidate_ids[2, 1])])[0]
    words = shipped.tokenizer.decode(list(forced.ids))
    button = f"Force {shown_token(trace.candidate_tokens[2][1])}"
    page.goto(f"{address}/decoding?step=3")
    expect_step(page, 3)
    wait_until_idle(page)
    candidate = page.get_by_role("button", name=button, exact=True)
    candidate.click()
    expect(page.locator(".branch dd")).to_have_text([words, trace.target_text])
    expect(page.locator(".chip.forced")).to_have_count(1)
    page.wait_for_url("**prefix=**")
    wait_until_idle(page)
    other = elsewhere(page.url)
    expect(translation(other)).to_have_text(words)
    expect_step(other, 3)
    page.get_by_role("button", name="Back to the model's own choice").click()
    expect(translation(page)).to_have_text(trace.target_text)
    go_back(page)
    expect(translation(page)).to_have_text(words)
    wait_until_idle(page)
    page.get_by_label("Sentence to translate").fill("Where is my cat?")
    page.get_by_label("Sentence to translate").press("Enter")
    expect(translation(page)).to_have_text(shipped.translate(["Where is my cat?"])[0])
    expect(page).not_to_have_url(re.compile("prefix"))


def test_a_beam_search_is_a_tree_to_continue_from(page, address, shipped):
    text = "He bought a ticket at the train station."
    record = shipped.beam_search(text, Beam(4))
    page.goto(f"{address}/decoding?decoding_view=beam+search&text={text}&decoding=beam&beam=4&head=cross.3.2")
    tree = page.locator(".beam_tree .stage")
    expect(tree.locator("button.ended")).to_have_count(len(record.ended))
    wait_until_idle(page)
    dropped = tree.locator("button.dropped").first
    dropped.hover()
    expect(page.locator(".reads .word span")).to_have_count(len(shipped.pieces(text)) + 1)
    dropped.click()
    page.wait_for_url("**prefix=**")
    ids = tuple(map(int, page.url.split("prefix=")[1].split("&")[0].split(".")))
    best = shipped.beam_search(text, Beam(4), prefix=ids).ended[0]
    expect(page.locator(".st-key-beam_table tbody tr").first).to_contain_text(shipped.tokenizer.decode(best.ids))
    wait_until_idle(page)
    page.get_by_role("button", name="From the start").click()
    expect(tree.locator("button.ended")).to_have_count(len(record.ended))
