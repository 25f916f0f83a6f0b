"""Training: a replay is scrubbed, played and read cell by cell; live trainings are watched, shared and stopped."""

import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import (
    accessibility_problems,
    mount,
    send_data,
)
from support.server import until
from support.traces import CHECKPOINTS

from headlight.plots.numbers import percent
from headlight.views.training.replay_content import focus_of, replay_facts
from transformer.training.replay import REPLAY_FILE, TrainingReplay, load_replay

NAME = "en-fr"
# Takes minutes: a test stops it long before.
LARGE = {"task": "sort", "symbols_long": "20", "number_of_letters": "26", "toy_width": "128", "toy_layers": "3"}


@pytest.fixture(scope="module")
def replay() -> TrainingReplay:
    return load_replay(CHECKPOINTS / NAME / REPLAY_FILE)


def link(address: str, view: str, **query: str) -> str:
    parameters = {"training": view, **({"checkpoint": NAME} if view == "replay" else {}), **query}
    return f"{address}/training?" + "&".join(f"{name}={quote(value)}" for name, value in parameters.items())


def expect_snapshot(page: Page, replay: TrainingReplay, number: int) -> None:
    expect(page.locator(".place")).to_have_text(f"Update {replay.steps[number]:,} of {replay.steps[-1]:,}")


def digits(replay: TrainingReplay, number: int, layer: int, head: int) -> list[str]:
    """Return the digits of a map, in percent, as it is sent: in steps of 1/65,535."""
    weights = replay.trajectories[0].cross[number, layer, head].astype(float)
    return [f"{np.floor(100 * weight + 0.5):.0f}" for weight in ((weights * 65535).round() / 65535).ravel()]


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Snapshot of the training")


def test_a_snapshot_has_its_map_probabilities_and_curves_and_the_link_keeps_it(page, address, elsewhere, replay):
    page.goto(link(address, "replay", head="cross.3.5"))
    expect_snapshot(page, replay, 0)
    number, trajectory = 19, replay.trajectories[0]
    step = int(replay.steps[number])
    slider(page).fill(str(number))
    expect_snapshot(page, replay, number)
    expect(page.locator("table.map td[id]")).to_have_text(digits(replay, number, 2, 4))
    page.get_by_role("grid").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".head .readout")).to_contain_text(f": {percent(trajectory.cross[number, 2, 4, 3, 2])}")
    expect(page.get_by_role("grid")).to_have_attribute("aria-activedescendant", "cell-3-2")
    chances = [f"{100 * chance:.0f} %" for chance in trajectory.probabilities[number]]
    expect(page.locator(".chips .note")).to_have_text(chances)
    score = replay.scores[replay.scores[:, 0] <= step][-1, 1]
    focus = percent(trajectory.cross[number, 2, 4].max(axis=-1).mean())
    expect(page.locator(".curves b")).to_have_text([f"{np.interp(step, *replay.losses.T):.2f}", f"{score:.1f}", focus])
    expect(page).to_have_url(re.compile(f"snapshot={step}(&|$)"))
    other = elsewhere(page.url)
    expect(other.locator("table.map td[id]")).to_have_text(digits(replay, number, 2, 4))
    page.get_by_role("link", name="Attention", exact=True).click()
    expect(page.locator(".heads_name")).to_be_visible()
    page.get_by_role("link", name="Training").click()
    expect_snapshot(page, replay, number)


def growing(replay: TrainingReplay, numbers: list[int], step: int = -1) -> dict:
    """Return the player's data for a training under way that has these snapshots."""
    whole = replay.trajectories[0]
    names = ("encoder", "decoder", "cross", "probabilities")
    parts = {name: getattr(whole, name)[numbers] for name in names}
    outputs = tuple(whole.outputs[number] for number in numbers)
    part = type(whole)(**{**vars(whole), **parts, "outputs": outputs})
    so_far = TrainingReplay(replay.steps[numbers], (part,), replay.losses, replay.scores, replay.score_name)
    facts = replay_facts(so_far, part, "cross", focus_of(so_far, part, "cross"), [(0, 0)], ("English", "French"))
    return {"facts": facts, "layer": 0, "head": 0, "best": None, "step": step, "following": True}


def test_a_growing_replay_is_followed_until_the_visitor_scrubs_back(page, replay):
    position, steps = page.locator(".place"), replay.steps.tolist()
    mount(page, "replay_player/player", growing(replay, [0]))
    expect(slider(page)).to_be_disabled()
    send_data(page, growing(replay, list(range(11))))
    expect(position).to_have_text(f"Update {steps[10]:,} of {steps[10]:,}")
    page.get_by_role("button", name="One snapshot back").click()
    page.wait_for_function("window.reports.length === 1")
    send_data(page, growing(replay, list(range(13)), step=steps[9]))
    expect(position).to_have_text(f"Update {steps[9]:,} of {steps[12]:,}")
    send_data(page, growing(replay, list(range(0, 15, 2)), step=steps[9]))  # every second snapshot is dropped
    nearest = min(steps[0:15:2], key=lambda step: abs(step - steps[9]))
    expect(position).to_have_text(f"Update {nearest:,} of {steps[14]:,}")
    page.get_by_role("button", name="Last snapshot").click()
    page.wait_for_function("window.reports.length === 2")
    send_data(page, growing(replay, list(range(0, 19, 2))))
    expect(position).to_have_text(f"Update {steps[18]:,} of {steps[18]:,}")
    assert page.evaluate("window.reports") == [["step", steps[9]], ["step", -1]]


def press(page: Page, label: str) -> None:
    page.get_by_test_id("stMain").get_by_role("button", name=label, exact=True).click()


def updates(page: Page) -> Locator:
    return page.get_by_test_id("stMetric").filter(has_text="Update").get_by_test_id("stMetricValue").first


def test_a_training_is_shared_goes_on_beside_translations_asks_before_it_is_left_and_is_stopped(
    page, address, elsewhere, shipped
):
    page.goto(link(address, "train live", **LARGE))
    press(page, "Start training")
    expect(updates(page)).to_be_visible()
    expect(page).to_have_url(re.compile("job="))
    other = elsewhere(page.url)
    expect(other.locator(".place")).to_be_visible()
    until(lambda: not accessibility_problems(other))  # the page draws itself every second
    other.goto(address)
    other.get_by_label("Sentence to translate").fill("Where is my cat?")
    other.get_by_label("Sentence to translate").press("Enter")
    expect(other.locator(".token_lines .whole")).to_have_text(shipped.translate(["Where is my cat?"])[0])
    before = updates(page).inner_text()
    expect(updates(page)).not_to_have_text(before)
    page.locator(".st-key-head_buttons").get_by_text("3", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("layer [123], head 3"))).to_be_visible()
    job = re.findall("job=([^&]+)", page.url)[0]
    press(page, "Start again")
    expect(page.get_by_role("button", name="Leave it and start again")).to_be_visible()
    assert job in page.url
    press(page, "Stop")
    expect(page.get_by_text("Stopped after")).to_be_visible()
    stopped = updates(page).inner_text()
    page.reload()
    expect(updates(page)).to_have_text(stopped)
