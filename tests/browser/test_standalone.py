"""A page that was taken away: opened from a disk without a network, it is as alive as in the app."""

import dataclasses
import struct
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, wait_until_idle
from support.captions import as_percent
from support.chromium import new_visitor

import headlight as hl
from headlight.plots.numbers import percent
from headlight.plots.tokens import shown_tokens
from headlight.views.attention.explorer_content import DEFAULTS, explorer_blob, explorer_page, select_heads
from transformer.interpret.trace import Trace
from transformer.training.replay import REPLAY_FILE, load_replay

ROOT = Path(__file__).parents[2]
SENTENCE = "I don't love my teacher."
EVIL = "</script><img src=x onerror=window.hurt=1><!--<script>"
QUERIES, KEYS = ".query_tokens button", ".key_tokens button"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def trace(shipped) -> Trace:
    return shipped.trace(SENTENCE)


def point_at(page: Page, row: int, column: int) -> None:
    """At a cell of the map by the keys, which are the same on every screen."""
    page.locator(".map canvas").focus()
    for key in ("ArrowDown", *["ArrowDown"] * row, *["ArrowRight"] * column):  # the first only goes to the first cell
        page.keyboard.press(key)


def reads(page: Page, weight: str) -> None:
    """Wait until the sentence below the map names a weight."""
    expect(page.locator(".readout")).to_contain_text(weight)


def test_the_explorer_shows_the_choice_it_was_taken_with_and_every_weight(open_alone, trace):
    page = open_alone(explorer_page(trace, "en-de", selection=select_heads(trace, "encoder", 2, 4)))
    expect(page.locator(".heads_name")).to_have_text("Encoder self-attention: layer 3, head 5")
    for text in (f"Sentence: {SENTENCE}", f"Translation: {trace.target_text}", "by the checkpoint en-de."):
        expect(page.get_by_text(text)).to_be_visible()
    point_at(page, 2, 4)
    reads(page, f": {percent(trace.encoder[2, 4, 2, 4])}.")
    page.locator(KEYS).nth(1).hover()
    reads(page, f": {percent(trace.encoder[2, 4, :, 1].max())}.")
    page.get_by_role("button", name="cross", exact=True).click()
    page.locator(QUERIES).nth(3).click()
    reads(page, f": {percent(trace.cross[2, 4, 3].max())}.")
    page.get_by_role("button", name="lines", exact=True).click()
    expect(page.locator(".readers button").nth(3)).to_have_attribute("aria-pressed", "true")


def test_hostile_text_stays_text(open_alone, trace):
    sides = {
        name: (EVIL, *getattr(trace, name)[1:]) for name in ("source_tokens", "decoder_input_tokens", "target_tokens")
    }
    hostile = dataclasses.replace(trace, source_text=EVIL, target_text=f"{EVIL}$script", **sides)
    page = open_alone(explorer_page(hostile, EVIL))
    expect(page.locator(KEYS).first).to_have_attribute("title", EVIL)
    expect(page.get_by_text(f"Translation: {EVIL}$script", exact=True)).to_be_visible()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_a_notebooks_frame_is_alive(open_alone, trace):
    page = open_alone(f"<!doctype html><meta charset=utf-8>{hl.Trace(**vars(trace)).show('cross', 1, 2)._repr_html_()}")
    frame = page.frame_locator("iframe")
    expect(frame.locator(".heads_name")).to_have_text("Cross-attention: layer 2, head 3")
    frame.locator(QUERIES).nth(2).hover()
    expect(frame.locator(".readout")).to_contain_text(f": {percent(trace.cross[1, 2, 2].max())}.")


def picture_of(page: Page, tmp_path: Path) -> ElementTree.Element:
    """The vector graphic that the explorer saves of the chosen heads, its menu still open."""
    page.get_by_role("button", name="Download: the chosen heads").click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="SVG", exact=True).click()
    saving.value.save_as(tmp_path / "attention.svg")
    return ElementTree.parse(tmp_path / "attention.svg").getroot()


def test_a_picture_of_the_map_has_every_weight_and_its_caption(open_alone, trace, tmp_path):
    hostile = dataclasses.replace(trace, source_tokens=(f"{EVIL}\x01", *trace.source_tokens[1:]))
    page = open_alone(explorer_page(hostile, selection=select_heads(trace, "cross", 1, 2)), "dark")
    picture = picture_of(page, tmp_path)
    assert picture.find(f"{SVG}title").text == "Cross-attention: layer 2, head 3"
    assert "Columns (keys): source tokens. Colour scale: 0 to 1." in picture.find(f"{SVG}desc").text
    rects = picture.findall(f".//{SVG}rect[{SVG}title]")
    cells = [rect.find(f"{SVG}title").text for rect in rects]
    shares = [text.rpartition(": ")[2].removesuffix(".") for text in cells]
    assert all(as_percent(text, each) for text, each in zip(shares, trace.cross[1, 2].ravel(), strict=True))
    assert f"“{EVIL}\N{REPLACEMENT CHARACTER}”" in cells[0]
    opaque = np.array([float(rect.get("fill-opacity")) for rect in rects]).reshape(trace.cross.shape[2:])
    np.testing.assert_allclose(opaque, np.interp(trace.cross[1, 2], [0, 0.5, 1], [0.03, 0.72, 1]), atol=1e-3)


def test_a_png_is_twice_as_large_as_the_vector_graphic(open_alone, trace, tmp_path):
    page = open_alone(explorer_page(trace, selection=select_heads(trace, "cross", 1, 2)))
    picture = picture_of(page, tmp_path)
    with page.expect_download() as saving:
        page.get_by_role("button", name="PNG", exact=True).click()
    saving.value.save_as(tmp_path / "attention.png")
    size = struct.unpack(">II", (tmp_path / "attention.png").read_bytes()[16:24])
    assert '"Source Sans 3", ' in picture.get("font-family"), "a name with a digit is none without quotes"
    assert size == tuple(round(2 * float(picture.get(side))) for side in ("width", "height"))


def test_a_picture_of_the_lines_has_a_colour_for_each_head(open_alone, trace, tmp_path):
    selection, options = select_heads(trace, "decoder", 0, [1, 4]), {**DEFAULTS, "view": "lines"}
    picture = picture_of(open_alone(explorer_page(trace, selection=selection, options=options)), tmp_path)
    lines = picture.findall(f".//{SVG}path")
    for colour, head in (("#0072b2", 1), ("#8f7d00", 4)):
        drawn = sorted(float(line.get("stroke-opacity")) for line in lines if line.get("stroke") == colour)
        weights = trace.decoder[0, head]
        np.testing.assert_allclose(drawn, np.sort(weights[weights >= 0.02]), atol=1e-3)


def test_nothing_can_be_let_in_from_outside(browser, trace, tmp_path):
    """Whoever changes the file's script or style changes their hash, and what they would load is forbidden."""
    text, loads = explorer_page(trace), '<img src="https://example.com/x.png"><script>window.hurt = 1</script>'
    (tmp_path / "page.html").write_text(text.replace("<main", f"{loads}<main"), encoding="utf-8")
    context = new_visitor(browser)
    page, asked = context.new_page(), []
    context.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator(".readout")).not_to_be_empty()
    told = page.evaluate("fetch('https://example.com/').then(() => 'let through', error => error.name)")
    assert told == "TypeError" and page.evaluate("window.hurt") is None
    assert [url for url in asked if not url.startswith("file:")] == []
    context.close()


def taken(page: Page, url: str, tmp_path: Path) -> str:
    """The page that the app's button saves."""
    page.goto(url)
    button = page.get_by_role("button", name="Download as a page")
    expect(button).to_be_visible()
    wait_until_idle(page)
    with page.expect_download() as saving:
        button.click()
    saving.value.save_as(tmp_path / "saved.html")
    return (tmp_path / "saved.html").read_text(encoding="utf-8")


def test_attention_is_taken_as_it_stands(page, address, open_alone, tmp_path, trace):
    see = f"text={quote(SENTENCE)}&head=decoder.2.3&view=lines&query=3"
    alone = open_alone(taken(page, f"{address}/attention?{see}", tmp_path))
    expect(alone.locator(".heads_name")).to_have_text("Masked decoder self-attention: layer 2, head 3")
    expect(alone.locator(".readers [aria-pressed=true]")).to_have_text(
        " → ".join(shown_tokens(side)[2] for side in (trace.decoder_input_tokens, trace.target_tokens))
    )
    reads(alone, f": {percent(trace.decoder[1, 2, 2].max())}.")


def test_a_decoding_is_taken_and_played(page, address, open_alone, tmp_path, trace):
    see = f"text={quote(SENTENCE)}&head=cross.3.1&step=2"
    alone = open_alone(taken(page, f"{address}/decoding?{see}", tmp_path))
    for step in (2, 3):
        expect(alone.locator(".place")).to_contain_text(f"Step {step} of {len(trace.target_ids)}: ")
        for key, weight in enumerate(trace.cross[2, 0, step - 1]):
            chip = alone.locator(".source .chip").nth(key)
            expect(chip.locator(".note")).to_have_text(f"{weight:.0%}".replace("%", " %"))
        alone.get_by_role("button", name="One step forward").click()
    expect(alone.locator("tbody tr:not(.taken) button:enabled")).to_have_count(0)
    expect(alone.get_by_text("Choose a line")).to_be_hidden()
    alone.locator(".heads .download").click()
    for kind in ("png", "npz"):
        with alone.expect_download() as saving:
            alone.locator(f".heads [data-take={kind}]").click()
        assert saving.value.suggested_filename == f"heads_of_step_4.{kind}"
        saving.value.save_as(tmp_path / f"heads.{kind}")
    attention = {"cross_attention": trace.cross[:, :, 3], "masked_self_attention": trace.decoder[:, :, 3, :4]}
    with np.load(tmp_path / "heads.npz", allow_pickle=False) as read:
        for name, weights in attention.items():
            np.testing.assert_allclose(read[f"values_{name}"].reshape(weights.shape), weights, atol=1e-5)
    assert (tmp_path / "heads.png").read_bytes().startswith(b"\x89PNG")
    alone.keyboard.press("Escape")
    expect_accessible(alone)


def test_the_steps_of_a_head_are_taken_with_the_sum_behind_each_cell(page, address, open_alone, tmp_path, trace):
    see = f"text={quote(SENTENCE)}&head=cross.2.4&query=3&key=2&at_step=softmax"
    alone = open_alone(taken(page, f"{address}/inside?{see}", tmp_path))
    expect(alone.locator("li.step:not([hidden]) h3")).to_have_text("7Softmax: scores become weights")
    expect(alone.locator("li.step.softmax .hand")).to_contain_text(f"{trace.cross[1, 3, 2, 1]:.4f}")
    alone.get_by_role("button", name="Step before").click()
    expect(alone.locator("li.step:not([hidden]) h3")).to_contain_text("6")
    expect_accessible(alone)


def test_the_replay_of_a_training_is_taken(page, address, open_alone, tmp_path):
    replay = load_replay(ROOT / "checkpoints" / "reverse" / REPLAY_FILE)
    step, trajectory = int(replay.steps[5]), replay.trajectories[0]
    see = f"training=replay&checkpoint=reverse&head=cross.2.1&snapshot={step}"
    alone = open_alone(taken(page, f"{address}/training?{see}", tmp_path))
    expect(alone.locator(".place")).to_have_text(f"Update {step:,} of {replay.steps[-1]:,}")
    alone.locator("table.map td[id]").nth(3).hover()
    expect(alone.locator(".head .readout")).to_contain_text(f": {percent(trajectory.cross[5, 1, 0].flat[3])}")
    alone.get_by_role("slider", name="Snapshot of the training").press("ArrowRight")
    expect(alone.locator(".place")).to_have_text(f"Update {replay.steps[6]:,} of {replay.steps[-1]:,}")
    expect_accessible(alone)


@pytest.mark.parametrize("scheme, width", [("dark", 390), ("light", 1366)])
def test_it_shuts_no_one_out(open_alone, trace, scheme, width):
    page = open_alone(explorer_page(trace, "en-de"), scheme, width)
    expect(page.locator(".readout")).not_to_be_empty()
    expect_accessible(page)


def test_it_is_no_larger_than_it_must_be(shipped):
    for text in (SENTENCE, "The old man next door says that he has never seen such a beautiful garden."):
        trace = shipped.trace(text)
        assert len(explorer_page(trace).encode()) <= 1.5 * len(explorer_blob(trace)) + 300_000
