"""What a person does on the decoding page: steps, plays, chooses a head, takes another piece, shares the step."""

import dataclasses
import re

import pytest
from playwright.sync_api import Page, expect
from support.browser import go_back, record_texts, texts_shown, wait_until_idle

from headlight.components.bundle import bundle, read_parts
from headlight.plots.numbers import percent
from headlight.plots.tokens import chip_text, shown_token
from headlight.views.decoding.content import decoding_facts
from transformer import Beam
from transformer.interpret.trace import attention_map

SENTENCE = "I love my teacher."


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(SENTENCE)


def place(page: Page):
    return page.locator(".place")


def chips(*tokens: str) -> list[str]:
    return list(map(chip_text, tokens))


def target_chips(page: Page):
    """The tokens that stand in the row of the translation, those still to come left out."""
    return page.locator(".chips.target .chip:not(.later) .token")


def test_stepping_shows_what_was_fed_what_follows_and_the_models_candidates(page, address, trace):
    page.goto(f"{address}/decoding?step=2&head=cross.all.all")
    expect(place(page)).to_have_text(f"Step 2 of {len(trace.target_ids)}: Ich → liebe")
    expect(target_chips(page)).to_have_text(chips(*trace.decoder_input_tokens[:2], trace.target_tokens[1]))
    page.get_by_role("button", name="One step forward").click()
    expect(target_chips(page)).to_have_text(chips(*trace.decoder_input_tokens[:3], trace.target_tokens[2]))
    expect(page.locator("td.piece button")).to_have_text(list(map(shown_token, trace.candidate_tokens[2])))
    notes = page.locator(".chips.source .note")
    expect(notes).to_have_text(
        [f"{weight:.0%}".replace("%", " %") for weight in trace.cross[:, :, 2].mean(axis=(0, 1))]
    )
    expect(page).to_have_url(re.compile("step=3"))


def test_playing_runs_to_the_end_in_the_browser_alone_and_then_says_where_it_is(visitor, address, trace):
    page = visitor(reduced_motion="no-preference")
    steps = len(trace.target_ids)
    page.goto(f"{address}/decoding?step=1")
    expect(place(page)).to_contain_text(f"Step 1 of {steps}: ")
    page.get_by_label("Speed").select_option("4")
    page.locator("section.player").evaluate("player => { player.marked = true; }")
    record_texts(page.locator("section.player"), ".play")
    page.get_by_role("button", name="Play").click()
    expect(place(page)).to_contain_text(f"Step {steps} of {steps}: ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert texts_shown(page) == ["Play", "Pause", "Play"]
    expect(page).to_have_url(re.compile(f"step={steps}"))
    assert page.locator("section.player").evaluate("player => player.marked"), "drawn anew while playing"


def test_on_arrival_it_plays_once_and_rests_at_the_hardest_step(visitor, address, trace):
    page, steps, hardest = visitor(reduced_motion="no-preference"), len(trace.target_ids), int(trace.entropies.argmax())
    page.goto(f"{address}/decoding")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(place(page)).to_contain_text(f"Step {steps} of {steps}: ", timeout=20_000)
    expect(place(page)).to_contain_text(f"Step {hardest + 1} of {steps}: ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert "step=" not in page.url
    wait_until_idle(page)
    page.get_by_label("Sentence to translate").fill("Where is my cat?")
    page.get_by_label("Sentence to translate").press("Enter")
    expect(page.locator(".st-key-translation strong")).to_contain_text("Katze")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_arrow_keys_and_the_slider_step(page, address, trace):
    page.goto(f"{address}/decoding?step=2")
    page.get_by_role("button", name="One step forward").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(place(page)).to_contain_text("Step 4 of")
    page.keyboard.press("Home")
    expect(place(page)).to_contain_text("Step 1 of")
    page.get_by_role("slider", name="Step", exact=True).fill("5")
    expect(place(page)).to_contain_text("Step 5 of")
    expect(page).to_have_url(re.compile("step=5"))


def test_a_head_chosen_among_all_is_the_one_that_colours_the_sentences(page, address, trace):
    page.goto(f"{address}/decoding?step=4")
    expect(place(page)).to_contain_text("Step 4 of")
    wait_until_idle(page)  # nothing moves what is pointed at any more
    canvas = page.locator("canvas.all_cross")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    layers, heads = trace.cross.shape[:2]
    line = 11  # pixels a head; layers are 6 apart; the labels stand above
    below = layers * (heads * line + 6)
    top = box["y"] + box["height"] - below
    page.mouse.move(box["x"] + 60, top + (heads * line + 6) + 4.5 * line)
    expect(page.locator(".readout")).to_contain_text(f": {percent(trace.cross[1, 4, 3, 0])}")
    page.mouse.click(box["x"] + 60, top + (heads * line + 6) + 4.5 * line)
    expect(page).to_have_url(re.compile(r"head=cross\.2\.5"))
    expect(place(page)).to_contain_text("Step 4 of")
    expect(page.locator(".chips.source .note")).to_have_text(
        [f"{weight:.0%}".replace("%", " %") for weight in trace.cross[1, 4, 3]]
    )


def test_another_piece_is_taken_shared_and_left_again(page, address, elsewhere, shipped, trace):
    other = int(trace.candidate_ids[2, 1])
    bent = shipped.hypotheses(SENTENCE, prefix=[*trace.target_ids[:2], other])[0]
    words = shipped.tokenizer.decode(list(bent.ids))
    page.goto(f"{address}/decoding?step=3")
    expect(place(page)).to_contain_text("Step 3 of")
    page.get_by_role("button", name=f"Force {shown_token(trace.candidate_tokens[2][1])}", exact=True).click()
    translation = page.locator(".st-key-translation strong")
    expect(translation).to_have_text(words)
    expect(page.get_by_text("Left to itself, the model writes")).to_be_visible()
    expect(page.locator(".branch dd")).to_have_text([words, trace.target_text])
    expect(page.locator(".branch")).to_be_in_viewport(ratio=1)
    expect(page.locator(".chip.forced")).to_have_count(1)
    page.wait_for_url("**prefix=**")

    second = elsewhere()
    second.goto(page.url)
    expect(second.locator(".st-key-translation strong")).to_have_text(words)
    expect(place(second)).to_contain_text("Step 3 of")

    page.get_by_role("button", name="Back to the model's own choice").click()
    expect(translation).to_have_text(trace.target_text)
    expect(page).not_to_have_url(re.compile("prefix"))


def test_the_step_survives_a_visit_to_another_page(page, address):
    page.goto(f"{address}/decoding?step=4")
    expect(place(page)).to_contain_text("Step 4 of")
    page.get_by_role("link", name="Attention", exact=True).click()
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    expect(page).not_to_have_url(re.compile("step"))
    page.get_by_role("link", name="Decoding").click()
    expect(place(page)).to_contain_text("Step 4 of")
    expect(page).to_have_url(re.compile("step=4"))


def test_a_hypothesis_of_beam_search_is_stepped_through(page, address, shipped):
    found = shipped.hypotheses(SENTENCE, Beam(size=3, alpha=0.6))
    page.goto(f"{address}/decoding?decoding=beam&beam=3&hypothesis=2&step=1")
    expect(page.locator(".st-key-translation strong")).to_have_text(shipped.tokenizer.decode(list(found[1].ids)))
    page.get_by_role("radiogroup", name="Hypothesis").get_by_role("radio", name="3", exact=True).click()
    third = shipped.tokenizer.piece_text(found[2].ids[0])
    expect(page.locator(".chips.target .next .token")).to_have_text(chips(third))
    expect(page).to_have_url(re.compile("hypothesis=3"))


def box_of(page: Page, selector: str) -> dict[str, float]:
    return page.locator(selector).bounding_box()


def test_all_of_a_step_is_in_sight_and_a_forced_token_moves_no_candidate(visitor, address, shipped):
    page, text = visitor(width=1366, height=768), "I think that he has never read this book."
    assert len(shipped.trace(text).source_tokens) == 11
    page.goto(f"{address}/decoding?text={text}&step=4")
    expect(place(page)).to_contain_text("Step 4 of")
    wait_until_idle(page)
    for part in (".controls", ".rows", ".candidates", ".strips"):
        box = box_of(page, part)
        assert box["y"] + box["height"] <= 740, part
    tops = [chip.bounding_box()["y"] for chip in page.locator(".rows .chip:not(.later)").all()]
    assert max(tops) - min(tops) < 5, "each sentence is one row"
    second = page.locator("td.piece button").nth(1)
    before, list_before = second.bounding_box(), box_of(page, ".list")
    assert list_before["y"] < 400 and before["height"] == 24
    second.click()
    expect(page.get_by_text("Left to itself, the model writes")).to_be_visible()
    wait_until_idle(page)
    assert second.bounding_box() == before and box_of(page, ".list") == list_before
    branch = box_of(page, ".branch")
    assert branch["y"] + branch["height"] <= 740


@pytest.mark.parametrize("height", [640, 720, 768, 1000])
def test_candidates_are_offered_to_be_clicked_and_no_row_is_cut(visitor, address, height):
    page = visitor(width=1366, height=height)
    page.goto(f"{address}/decoding?step=2")
    expect(place(page)).to_contain_text("Step 2 of")
    wait_until_idle(page)
    expect(page.get_by_text("click one to force it")).to_be_visible()
    place_of_list = box_of(page, ".list")
    bottom = place_of_list["y"] + place_of_list["height"]
    rows = [row.bounding_box() for row in page.locator(".list tbody tr").all()]
    assert all(row["y"] + row["height"] <= bottom + 0.5 or row["y"] >= bottom - 0.5 for row in rows)
    assert sum(row["y"] < bottom - 0.5 for row in rows) >= 8


def test_the_predicted_token_is_said_to_be_predicted(page, address, trace):
    page.goto(f"{address}/decoding?step=3")
    expect(place(page)).to_contain_text("Step 3 of")
    chance = f"{100 * trace.target_probabilities[2]:.1f} %"
    expect(page.locator(".chip.next .note")).to_have_text(f"predicted · {chance}")
    notes = page.locator(".target .chip:not(.next, .later) .note").all_text_contents()
    assert len(notes) == 3 and all(re.fullmatch(r"\d+ %", note) for note in notes)
    page.locator("td.piece button").nth(1).click()
    expect(page.locator(".chip.next .note")).to_have_text(re.compile(r"^forced · [\d.]+ %$"))


# What was moved by a script: which element, from where or how, to what.
_NOTE_MOTION = """() => {
    const own = Element.prototype.animate;
    window.moved = [];
    Element.prototype.animate = function (frames, options) {
        const { className, tagName, textContent } = this;
        window.moved.push({ name: className.baseVal ?? className, tagName, text: textContent, frames, options });
        return own.call(this, frames, options);
    };
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_chosen_candidate_flies_into_the_prefix_when_one_steps_forward_by_hand(visitor, address, trace, motion):
    page = visitor(reduced_motion=motion)
    page.goto(f"{address}/decoding?step=2")
    expect(place(page)).to_contain_text("Step 2 of")
    page.evaluate(_NOTE_MOTION)
    page.get_by_role("button", name="One step forward").click()
    expect(place(page)).to_contain_text("Step 3 of")
    page.get_by_role("button", name="One step back").click()
    expect(place(page)).to_contain_text("Step 2 of")
    moved = page.evaluate("window.moved")
    expect(page.locator(".flying")).to_have_count(0)
    assert len(moved) == (motion == "no-preference"), "forward alone, and not where the system asks for rest"
    if moved:
        assert (moved[0]["text"], moved[0]["options"]["duration"]) == (chips(trace.target_tokens[1])[0], 250)


def test_hostile_tokens_are_text_in_the_player(page, trace):
    # No tokenizer of ours has such a piece; a stranger's checkpoint may.
    evil = "<img src=x onerror=window.hurt=1>"
    crafted = dataclasses.replace(
        trace,
        source_tokens=(evil, *trace.source_tokens[1:]),
        decoder_input_tokens=(trace.decoder_input_tokens[0], evil, *trace.decoder_input_tokens[2:]),
        target_tokens=(evil, *trace.target_tokens[1:]),
        candidate_tokens=((evil, *trace.candidate_tokens[0][1:]), *trace.candidate_tokens[1:]),
    )
    facts = decoding_facts(crafted, attention_map(crafted, "cross"), attention_map(crafted, "decoder"))
    player = read_parts("decoding_player/player")
    page.set_content(f"<div id=place>{player.markup}</div>")
    page.evaluate(
        """async ([script, data]) => {
          const player = await import(URL.createObjectURL(new Blob([script], {type: "text/javascript"})));
          const parentElement = document.getElementById("place");
          const shown = { facts: data, layer: null, head: null, step: 1 };
          player.default({ parentElement, data: shown, setTriggerValue: () => {} });
        }""",
        [bundle(player.module), facts],
    )
    expect(page.locator(".chips.source .token").first).to_have_text(evil)
    expect(page.locator("td.piece button").first).to_have_text(evil)
    expect(page.locator(".chips.target .next .token")).to_have_text(evil)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_back_returns_to_the_step_before_and_the_address_has_each_step_also_one_taken_again(page, address):
    page.goto(f"{address}/decoding?step=2")
    expect(place(page)).to_contain_text("Step 2 of")
    page.get_by_role("button", name="One step forward").click()
    expect(page).to_have_url(re.compile("step=3"))
    go_back(page)
    expect(place(page)).to_contain_text("Step 2 of")
    expect(page).to_have_url(re.compile("step=2"))
    wait_until_idle(page)
    page.get_by_role("button", name="One step forward").click()
    expect(page).to_have_url(re.compile("step=3"))
    expect(place(page)).to_contain_text("Step 3 of")


# Click the button with this label as soon as the player says this of its place: a moment later it stands elsewhere.
_CLICK_AT = """(place, [words, label]) => {
    const watch = new MutationObserver(() => {
        if (!place.textContent.startsWith(words)) return;
        watch.disconnect();
        [...place.getRootNode().querySelectorAll("button")].find(({ ariaLabel }) => ariaLabel === label).click();
    });
    watch.observe(place, { childList: true });
}"""


def test_a_piece_taken_while_playing_stays_in_sight(page, address, trace):
    page.goto(f"{address}/decoding?step=2")
    expect(place(page)).to_contain_text("Step 2 of")
    page.get_by_label("Speed").select_option("0.5")
    wait_until_idle(page)
    place(page).evaluate(_CLICK_AT, ["Step 3 of", f"Force {shown_token(trace.candidate_tokens[2][1])}"])
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text("Left to itself, the model writes")).to_be_visible()
    expect(place(page)).to_contain_text("Step 3 of")
    expect(page.locator(".next.forced .token")).to_have_text(chip_text(trace.candidate_tokens[2][1]))
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_pieces_taken_for_one_sentence_are_not_forced_on_the_next_by_back(page, address, shipped, trace):
    page.goto(f"{address}/decoding?prefix={int(trace.candidate_ids[0, 1])}")
    expect(page.get_by_text("Left to itself, the model writes")).to_be_visible()
    page.get_by_label("Sentence to translate").fill("Where is my cat?")
    page.get_by_label("Sentence to translate").press("Enter")
    translation = page.locator(".st-key-translation strong")
    expect(translation).to_have_text(shipped.translate(["Where is my cat?"])[0])
    go_back(page)
    wait_until_idle(page)
    expect(translation).to_have_text(shipped.translate(["Where is my cat?"])[0])
    expect(page.get_by_text("Left to itself, the model writes")).to_be_hidden()
