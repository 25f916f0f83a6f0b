"""Positions, masks and the replay in the live model's one file: what they show is what Python computes."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from support.access import shuts_no_one_out
from support.live_file import go_to, show, shown_anew
from support.rounded import rounded_translator
from support.streams import CHECKPOINTS

from headlight.plots.text import format_probability
from headlight.views.live.content import live_file
from headlight.views.live.replay import find_replay, reduced
from headlight.views.positions.content import exchanged
from headlight.views.positions.words import VIEWS as OF_POSITIONS
from transformer import Translator
from transformer.checkpoint import load_checkpoint
from transformer.interpret.mask_ablation import leaked_weights, leakiest_head, run_masked
from transformer.interpret.positions import embedding_sum, model_encoding, without_positions

NAME = "en-de"
SHORT, LONG = "She reads a book.", "He bought a ticket at the train station."
HURTS = "</script><img src=x onerror=window.hurt=1>"
MINUS = "−"


@pytest.fixture(scope="module")
def file() -> str:
    return live_file(load_checkpoint(CHECKPOINTS / NAME), NAME, None, SHORT, find_replay(CHECKPOINTS / NAME))


@pytest.fixture(scope="module")
def rounded() -> Translator:
    """The same model in PyTorch, with the weights that the page has."""
    return rounded_translator(NAME)


def figure(page: Page, view: str, title: str) -> Locator:
    return page.locator(f"[data-view={view}] .map_figure").filter(has_text=title).first


def read_cell(page: Page, place: Locator, row: int, column: int) -> float:
    """Go to a cell of a map by keys, and read the number that is told of it."""
    canvas = place.locator("canvas")
    canvas.evaluate("canvas => canvas.blur()")
    canvas.focus()
    for key in ["ArrowDown"] + row * ["ArrowDown"] + column * ["ArrowRight"]:
        page.keyboard.press(key)
    told = place.locator(".readout")
    expect(told).not_to_be_empty()
    return float(re.search(rf"[{MINUS}\d.]+$", told.inner_text())[0].replace(MINUS, "-"))


def test_without_the_causal_mask_weight_leaks_to_later_tokens(live, rounded):
    page = live()
    show(page, "masks", second=LONG)
    traces = [rounded.trace(text) for text in (SHORT, LONG)]
    masked, disabled = (run_masked(rounded.model, rounded.tokenizer, traces, mask) for mask in ("nothing", "causal"))
    layer, head = leakiest_head(masked, disabled, "decoder", 0)
    expect(page.locator("[data-view=masks] [name=layer]")).to_have_value(str(layer + 1))
    expect(page.locator("[data-view=masks] [name=head]")).to_have_value(str(head + 1))
    leaked = leaked_weights(masked, disabled, "decoder", 0)[layer, head, :-1].mean()
    headline = page.locator("[data-view=masks] .headline")
    assert float(re.search(r"0\.\d+|1\.00", headline.first.inner_text())[0]) == pytest.approx(leaked, abs=0.011)
    chances = page.locator(".next_tokens tbody td").all_inner_texts()
    for step, (with_it, without) in enumerate(zip(chances[::2], chances[1::2], strict=True)):
        for run, text in ((masked, with_it), (disabled, without)):
            value = float(run.target_probabilities[0, step])
            near = {format_probability(min(1.0, max(0.0, value + by))) for by in (-1e-5, 0, 1e-5)}
            assert text in near, (step, text, near)
    for title, run in (("Without the mask", disabled), ("The same head with the mask", masked)):
        found = read_cell(page, figure(page, "masks", title), 2, 1)
        assert found == pytest.approx(run.decoder.weights[layer, 0, head, 2, 1], abs=2e-4)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_one_head_has_its_scores_before_and_after_the_mask_and_its_weights(live, rounded, kind):
    page = live()
    show(page, "masks", masks="one head", second=LONG, kind=kind, layer="2", head="3")
    run = run_masked(rounded.model, rounded.tokenizer, [rounded.trace(text) for text in (SHORT, LONG)])
    captured, row, last = run.attention(kind), 1, run.attention(kind).scores.shape[-1] - 1
    scores, after, softmax = (figure(page, "masks", title) for title in ("1. Scores", "2. After", "3. After softmax"))
    for column in (0, 1, last):
        assert read_cell(page, scores, row, column) == pytest.approx(captured.scores[1, 0, 2, row, column], abs=2e-4)
        weight = captured.weights[1, 0, 2, row, column]
        assert read_cell(page, softmax, row, column) == pytest.approx(weight, abs=2e-4)
    assert not captured.unmasked[0, row, last], "the shorter sentence has padding"
    after.locator("canvas").focus()
    for key in ["ArrowDown", "ArrowDown", *last * ["ArrowRight"]]:
        page.keyboard.press(key)
    expect(after.locator(".readout")).to_contain_text("−∞")
    with shown_anew(page, "masks"):
        page.locator("[data-view=masks] [name=query]").select_option("2")
    hand = page.get_by_role("region", name="One row by hand")
    last = hand.locator("tr").last.locator("td").first
    expect(last).to_have_text(re.compile(r"^(0|[01]\.\d{4})$"))
    assert float(last.inner_text()) == pytest.approx(captured.weights[1, 0, 2, row, 0], abs=2e-4)
    page.locator("[data-view=masks] [name=layer]").select_option("3")
    page.wait_for_url("**layer=3*head=3*")


def test_the_three_masks_are_those_of_the_batch(live, rounded):
    page = live()
    show(page, "masks", masks="the three masks", second=LONG)
    size, real = (len(rounded.trace(text).target_ids) for text in (LONG, SHORT))
    causal, padding = size * (size - 1) // 2, size * (size - real)
    expect(page.locator("[data-view=masks] .headline")).to_have_text(
        f"The causal mask covers {causal} of {size * size} cells, the padding mask {padding}."
    )
    padded = page.locator(".batch .closed")
    expect(padded.first).to_have_text("⟨pad⟩")
    source = [len(rounded.trace(text).source_ids) for text in (SHORT, LONG)]
    expect(padded).to_have_count(source[1] - source[0] + size - real)
    page.locator("[data-view=masks] [name=second]").fill(SHORT)
    page.keyboard.press("Tab")
    expect(padded).to_have_count(0)
    assert f"second={SHORT.replace(' ', '+')}" in page.url


def test_a_second_sentence_that_cannot_be_read_is_told_and_stays_text(live):
    page = live()
    show(page, "masks", second="many words " * 200)
    expect(page.locator(".live_status")).to_contain_text("The second sentence cannot be used. The text has")
    show(page, "masks", second=HURTS)
    expect(page.locator(".live_status")).to_be_empty()
    show(page, "positions", reordered=HURTS)
    expect(page.locator(".pairs")).to_contain_text(HURTS)
    show(page, "positions", positions="curves", dims=HURTS)
    expect(page.locator(".key_of_lines span")).not_to_have_count(0)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_without_positions_the_order_of_words_is_lost(live, rounded):
    page = live()
    show(page, "positions")
    other = exchanged(SHORT)
    expect(page.locator("[name=reordered]")).to_have_value(other)
    with without_positions(rounded.model):
        alone = [rounded.trace(text).target_text for text in (SHORT, other)]
    for place, (text, without) in enumerate(zip((SHORT, other), alone, strict=True)):
        told = page.locator(".pairs p").nth(place)
        expect(told).to_have_text(f"{text} → {rounded.trace(text).target_text} without positions: {without}")
    trace = rounded.trace(SHORT)
    summed = embedding_sum(rounded.model, trace.source_ids, trace.source_tokens)
    part = figure(page, "positions", "sum: what enters the encoder")
    place = int(re.search(r"position (\d+)", told_of(page, part))[1])
    assert read_cell(page, part, 0, 5) == pytest.approx(summed.total[place, 5], abs=2e-4)


def told_of(page: Page, place: Locator) -> str:
    """What is told of the first cell of a map."""
    place.locator("canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(place.locator(".readout")).not_to_be_empty()
    return place.locator(".readout").inner_text()


def test_the_models_own_waves_and_how_alike_they_are(live, rounded):
    page = live()
    own = model_encoding(rounded.model).first(64)
    show(page, "positions", positions="matrix")
    assert read_cell(page, figure(page, "positions", "The whole matrix"), 9, 6) == pytest.approx(
        own.table[9, 6], abs=1e-4
    )
    show(page, "positions", positions="similarity")
    alike = float(own.table[3].astype(np.float64) @ own.table[7])
    assert read_cell(page, figure(page, "positions", "How alike"), 3, 7) == pytest.approx(alike, abs=1e-3)
    expect(page.locator(".lines polyline")).to_have_count(1)
    page.locator("[name=positions]").select_option("curves")
    expect(page.locator(".lines polyline")).to_have_count(6)
    page.locator("[name=dims]").fill("0 1")
    page.keyboard.press("Tab")
    expect(page.locator(".lines polyline")).to_have_count(2)
    expect(page.locator("[data-view=positions] .headline")).to_have_text(
        "In this model dimension 0 repeats every 6.3 positions."
    )
    page.go_back()
    expect(page.locator(".lines polyline")).to_have_count(6)


def test_the_replay_shows_its_training_head_by_head(live):
    page = live()
    whole = find_replay(CHECKPOINTS / NAME)
    show(page, "training")
    view = page.locator("[data-view=training]")
    source = view.locator("dd.source").inner_text()
    (trajectory,) = [each for each in whole.trajectories if each.source_text == source]
    replay, shown = reduced(whole, trajectory)
    view.get_by_role("button", name="Last snapshot").click()
    expect(view.locator(".controls .place")).to_have_text(f"Update {replay.steps[-1]:,} of {whole.steps[-1]:,}")
    page.wait_for_url(f"**snapshot={replay.steps[-1]}")
    show(page, "training", layer="2", head="4", snapshot=str(replay.steps[-1]))
    expect(view.locator(".head h2")).to_have_text("Cross-attention, layer 2, head 4")
    cells = [float(f"0{cell}") for cell in view.locator(".map td[id]").all_inner_texts()]
    np.testing.assert_allclose(cells, shown.cross[-1, 1, 3].ravel(), atol=0.0051)
    np.testing.assert_allclose(cells, trajectory.cross[-1, 1, 3].ravel(), atol=0.0075)
    expect(view.locator(".findings")).to_contain_text("Layer 2, head 4: a row's largest weight")


def test_without_a_replay_there_is_no_such_view(open_alone):
    page = open_alone(live_file(load_checkpoint(CHECKPOINTS / "reverse"), "reverse"))
    expect(page.locator("#live_translation")).not_to_be_empty()
    assert page.locator("[data-tab=training], [data-view=training]").count() == 0
    go_to(page, "training")
    expect(page.locator("[aria-current=page]")).to_have_text("Home")


@pytest.mark.parametrize("scheme, width", [("dark", 390), ("light", 1366)])
def test_they_shut_no_one_out_and_fit_their_screen(live, scheme, width):
    page = live(scheme, width)
    places = [("positions", {"positions": view}) for view in OF_POSITIONS]
    places += [("masks", {"masks": view}) for view in ("without the mask", "the three masks", "one head")]
    for view, said in places:
        show(page, view, **said)
        expect(page.locator(f"[data-view={view}] .finding").first).to_be_visible()
        shuts_no_one_out(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (view, said)
