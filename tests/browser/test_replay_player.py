"""What a person does with the replay of a training: scrubs, plays, chooses a head, reads a cell, shares the moment."""

import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, go_back, mount, record_texts, send_data, texts_shown, wait_until_idle

from headlight.plots.numbers import percent, short_weight
from headlight.plots.tokens import chip_text
from headlight.views.training.replay_content import focus_of, replay_facts
from transformer.training.replay import REPLAY_FILE, TrainingReplay, load_replay

ROOT = Path(__file__).parents[2]
PLAYER = "replay_player/player"
NAME = "en-fr"
LAYER_NAME, HEAD_NAME = 46, 18  # pixels, as in lib/thumbnails.js


@pytest.fixture(scope="module")
def replay() -> TrainingReplay:
    return load_replay(ROOT / "checkpoints" / NAME / REPLAY_FILE)


def link(address: str, **query: str) -> str:
    chosen = {"training": "replay", "checkpoint": NAME, **query}
    return f"{address}/training?" + "&".join(f"{name}={quote(value)}" for name, value in chosen.items())


def shows(page: Page, replay: TrainingReplay, moment: int) -> None:
    """Wait until the player stands at this moment, with its step and its output."""
    expect(page.locator(".place")).to_have_text(f"Update {replay.steps[moment]:,} of {replay.steps[-1]:,}")
    output = replay.trajectories[0].outputs[moment]
    expect(page.locator(".wrote .text")).to_have_text(output if len(output) <= 70 else re.compile(r"^(\w+ ?)+"))


def cells(replay: TrainingReplay, moment: int, layer: int, head: int) -> list[str]:
    """Return the digits of a map as it is sent: in steps of 1/65,535."""
    sent = (replay.trajectories[0].cross[moment, layer, head].astype(np.float64) * 65535).round() / 65535
    return [short_weight(weight) for weight in sent.ravel()]


def slider(page: Page):
    return page.get_by_role("slider", name="Snapshot of the training")


def last_of(replay: TrainingReplay) -> int:
    return len(replay.steps) - 1


def test_the_slider_shows_map_output_probabilities_and_curves_of_each_moment(page, address, replay):
    page.goto(link(address, head="cross.3.5"))
    shows(page, replay, 0)
    moment, trajectory = 19, replay.trajectories[0]
    step = int(replay.steps[moment])
    slider(page).fill(str(moment))
    shows(page, replay, moment)
    expect(page.locator("table.map td[id]")).to_have_text(cells(replay, moment, 2, 4))
    chances = [f"{chance:.0%}".replace("%", " %") for chance in trajectory.probabilities[moment]]
    expect(page.locator(".chips .note")).to_have_text(chances)
    loss, score, focus = page.locator(".curves b").all()
    said = f"{np.interp(step, *replay.losses.T):.2f}"
    expect(loss).to_have_text(said)
    expect(score).to_have_text(f"{replay.scores[replay.scores[:, 0] <= step][-1, 1]:.1f}")
    expect(focus).to_have_text(percent(trajectory.cross[moment, 2, 4].max(axis=-1).mean()))
    words = f"update {step:,} of {replay.steps[-1]:,}: loss {said}, wrote: {trajectory.outputs[moment]}"
    expect(slider(page)).to_have_attribute("aria-valuetext", words)
    expect(page).to_have_url(re.compile(f"snapshot={step}(&|$)"))


def test_keys_scrub_from_everywhere_in_the_player(page, address, replay):
    page.goto(link(address, snapshot=str(replay.steps[10])))
    shows(page, replay, 10)
    page.get_by_role("button", name="One snapshot forward").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    shows(page, replay, 12)
    page.keyboard.press("ArrowLeft")
    shows(page, replay, 11)
    page.keyboard.press("Home")
    shows(page, replay, 0)
    slider(page).focus()
    page.keyboard.press("End")
    shows(page, replay, len(replay.steps) - 1)
    page.keyboard.press("ArrowLeft")
    shows(page, replay, len(replay.steps) - 2)
    expect(page).to_have_url(re.compile(f"snapshot={replay.steps[-2]}"))


def test_playing_reaches_the_end_in_the_browser_alone(page, address, replay):
    page.goto(link(address, snapshot=str(replay.steps[17])))
    shows(page, replay, 17)
    page.get_by_label("Speed").select_option("4")
    page.locator("section.player").evaluate("player => { player.marked = true; }")
    record_texts(page.locator("section.player"), ".play")
    page.get_by_role("button", name="Play", exact=True).click()
    shows(page, replay, len(replay.steps) - 1)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert texts_shown(page) == ["Play", "Pause", "Play"]
    expect(page.get_by_text("✓ exactly")).to_be_visible()
    expect(page).to_have_url(re.compile(f"snapshot={replay.steps[-1]}"))
    assert page.locator("section.player").evaluate("player => player.marked"), "drawn anew while playing"


def test_a_head_chosen_among_all_is_shown_large_and_playing_goes_on(page, address, replay):
    page.goto(link(address, snapshot=str(replay.steps[-1])))
    shows(page, replay, last_of(replay))
    wait_until_idle(page)  # nothing moves what is pointed at any more
    canvas = page.locator("canvas.all")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    layers, heads = replay.trajectories[0].cross.shape[1:3]
    across, down = (box["width"] - LAYER_NAME - 2) // heads, (box["height"] - HEAD_NAME) / layers
    place = (box["x"] + LAYER_NAME + 4 * across + 4, box["y"] + HEAD_NAME + 2 * down + 4)
    page.mouse.move(*place)
    first = replay.trajectories[0].cross[-1, 2, 4, 0, 0]
    expect(page.locator(".heads .readout")).to_have_text(
        f"Layer 3, head 5: to write “J” after “⟨start⟩”, it looks at “I”: {percent(first)}"
    )
    page.get_by_label("Speed").select_option("0.5")
    page.get_by_role("button", name="Play", exact=True).click()
    page.mouse.click(*place)
    expect(page).to_have_url(re.compile(r"head=cross\.3\.5"))
    expect(page.get_by_role("heading", name="Cross-attention, layer 3, head 5")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Pause").click()


def test_frames_of_the_strip_and_the_curves_are_moments_to_go_to(page, address, replay):
    page.goto(link(address))
    shows(page, replay, 0)
    wait_until_idle(page)
    box = page.locator("canvas.strip").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 10, box["y"] + 15)
    shows(page, replay, last_of(replay))
    page.mouse.move(box["x"] + box["width"] * 10.5 / len(replay.steps), box["y"] + 15)
    page.mouse.down()
    shows(page, replay, 10)
    page.mouse.move(box["x"] + box["width"] * 12.5 / len(replay.steps), box["y"] + 15)
    shows(page, replay, 12)
    page.mouse.up()
    curve = page.locator(".curves svg").first
    curve.scroll_into_view_if_needed()
    box = curve.bounding_box()
    page.mouse.click(box["x"] + 36, box["y"] + 40)
    shows(page, replay, 0)


def test_the_map_is_read_by_keyboard_cell_by_cell(page, address, replay):
    page.goto(link(address, snapshot=str(replay.steps[13]), head="cross.3.5"))
    shows(page, replay, 13)
    table = page.get_by_role(
        "grid", name=re.compile(f"Cross-attention, layer 3, head 5, at Update {replay.steps[13]:,}")
    )
    table.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    trajectory = replay.trajectories[0]
    fed, wanted, read = map(chip_text, (*trajectory.decoder_input_tokens[3:5], trajectory.source_tokens[2]))
    weight = trajectory.cross[13, 2, 4, 3, 2]
    expect(page.locator(".head .readout")).to_have_text(
        f"Layer 3, head 5: to write “{wanted}” after “{fed}”, it looks at “{read}”: {percent(weight)}"
    )
    expect(table).to_have_attribute("aria-activedescendant", "cell-3-2")
    shows(page, replay, 13)  # the arrows moved through the map alone


def test_masked_cells_are_blank(page, address, replay):
    page.goto(link(address, snapshot=str(replay.steps[13]), head="decoder.1.1"))
    shows(page, replay, 13)
    rows = len(replay.trajectories[0].decoder_input_tokens)
    expect(page.locator("table.map td.closed")).to_have_text([""] * (rows * (rows - 1) // 2))
    page.locator("#cell-0-3").hover()
    expect(page.locator(".head .readout")).to_contain_text(
        f"may not look at “{replay.trajectories[0].decoder_input_tokens[3]}”, which comes later"
    )


def test_an_address_restores_the_moment_elsewhere_and_back_returns(page, address, elsewhere, replay):
    page.goto(link(address, head="cross.2.5"))
    shows(page, replay, 0)
    page.get_by_role("button", name="Last snapshot").click()
    expect(page).to_have_url(re.compile(f"snapshot={replay.steps[-1]}"))
    wait_until_idle(page)
    second = elsewhere()
    second.goto(page.url)
    shows(second, replay, last_of(replay))
    expect(second.locator("table.map td[id]")).to_have_text(cells(replay, -1, 1, 4))
    go_back(page)
    shows(page, replay, 0)
    expect(page).not_to_have_url(re.compile("snapshot"))


def test_the_moment_survives_a_visit_to_another_view_and_page(page, address, replay):
    page.goto(link(address, snapshot=str(replay.steps[12])))
    shows(page, replay, 12)
    page.get_by_role("link", name="Attention", exact=True).click()
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    page.get_by_role("link", name="Training").click()
    shows(page, replay, 12)
    expect(page).to_have_url(re.compile(f"snapshot={replay.steps[12]}"))


@pytest.mark.parametrize("width, scheme", [(1440, "dark"), (390, "light")])
def test_the_replay_shuts_no_one_out(visitor, address, replay, width, scheme):
    page = visitor(width=width, height=844, scheme=scheme)
    page.goto(
        link(address, snapshot=str(replay.steps[13]), probe=replay.trajectories[2].source_text, head="encoder.1.1")
    )
    expect(page.locator(".place")).to_have_text(f"Update {replay.steps[13]:,} of {replay.steps[-1]:,}")
    wait_until_idle(page)
    expect_accessible(page)
    cell = page.locator("#cell-3-4")
    assert cell.evaluate("cell => getComputedStyle(cell).transitionDuration") == "0s"
    box = cell.bounding_box()
    assert abs(box["width"] - box["height"]) < 1 and box["width"] >= 8
    table, large = page.locator("table.map").bounding_box(), page.locator(".large").bounding_box()
    assert table["x"] + table["width"] <= large["x"] + large["width"] + 1, "the whole map is in sight"


def test_on_a_phone_the_slider_stays_in_sight(visitor, address, replay):
    page = visitor(width=390, height=844)
    page.goto(link(address, snapshot=str(replay.steps[10])))
    shows(page, replay, 10)
    page.locator(".curves").scroll_into_view_if_needed()
    expect(slider(page)).to_be_in_viewport()
    slider(page).fill("12")
    shows(page, replay, 12)


# The player alone, with replays of our making


def growing(replay: TrainingReplay, moments: list[int], step: int = -1) -> dict:
    """What the player gets of a training under way that has kept these moments so far."""
    trajectory = replay.trajectories[0]
    kept = {name: getattr(trajectory, name)[moments] for name in ("encoder", "decoder", "cross", "probabilities")}
    part = type(trajectory)(
        **{**vars(trajectory), **kept, "outputs": tuple(trajectory.outputs[moment] for moment in moments)}
    )
    so_far = TrainingReplay(replay.steps[moments], (part,), replay.losses, replay.scores, replay.score_name)
    facts = replay_facts(so_far, part, "cross", focus_of(so_far, part, "cross"), [(0, 0)], ("English", "French"))
    return {"facts": facts, "layer": 0, "head": 0, "best": None, "step": step, "following": True}


def test_a_replay_that_grows_is_followed_until_the_visitor_scrubs_back(page, replay):
    place, steps = page.locator(".place"), replay.steps.tolist()
    mount(page, PLAYER, growing(replay, [0]))
    expect(place).to_have_text("Update 0 of 0")
    expect(slider(page)).to_be_disabled()
    send_data(page, growing(replay, list(range(11))))
    expect(place).to_have_text(f"Update {steps[10]:,} of {steps[10]:,}")
    page.get_by_role("button", name="One snapshot back").click()
    expect(place).to_have_text(f"Update {steps[9]:,} of {steps[10]:,}")
    page.wait_for_function("window.told.length === 1")
    send_data(page, growing(replay, list(range(13)), step=steps[9]))  # the address as told, and two moments more
    expect(place).to_have_text(f"Update {steps[9]:,} of {steps[12]:,}")
    send_data(
        page, growing(replay, list(range(0, 15, 2)), step=steps[9])
    )  # every second moment dropped: the nearest one
    nearest = min(steps[0:15:2], key=lambda step: abs(step - steps[9]))
    expect(place).to_have_text(f"Update {nearest:,} of {steps[14]:,}")
    page.get_by_role("button", name="Last snapshot").click()
    page.wait_for_function("window.told.length === 2")
    send_data(page, growing(replay, list(range(0, 19, 2))))
    expect(place).to_have_text(f"Update {steps[18]:,} of {steps[18]:,}")
    assert page.evaluate("window.told") == [["step", steps[9]], ["step", -1]]


def test_a_replay_that_grows_while_it_is_played_plays_on(page, replay):
    mount(page, PLAYER, growing(replay, list(range(5))))
    page.get_by_label("Speed").select_option("4")
    record_texts(page.locator(".place"), ".place")
    page.evaluate(
        "data => { document.querySelector('.play').click(); window.receive(data); }", growing(replay, list(range(8)))
    )
    expect(page.locator(".place")).to_have_text(f"Update {replay.steps[7]:,} of {replay.steps[7]:,}")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert texts_shown(page)[1:] == [f"Update {step:,} of {replay.steps[7]:,}" for step in replay.steps[:8]]


def test_hostile_texts_are_text_in_the_player(page, replay):
    evil = "<img src=x onerror=window.hurt=1>"
    given = growing(replay, [0, 1])
    tokens = {name: [evil] * len(value) for name, value in given["facts"].items() if name.endswith("_tokens")}
    texts = {"source_text": evil, "target_text": evil, "outputs": [evil, evil], "languages": [evil, evil]}
    given["facts"] |= {**tokens, **texts}
    mount(page, PLAYER, given)
    for place in (".wrote .text", ".source", ".target span", ".axes", ".chips .token >> nth=0"):
        expect(page.locator(place)).to_contain_text(evil)
    page.locator("#cell-2-3").hover()
    expect(page.locator(".head .readout")).to_contain_text(evil)
    assert page.locator("img").count() == 0 and page.evaluate("window.hurt") is None
