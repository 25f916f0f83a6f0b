"""The training replay in the live model's one file."""

import numpy as np
import pytest
from playwright.sync_api import expect
from support.browser import go_to, show
from support.traces import CHECKPOINTS

from headlight.plots.numbers import percent
from headlight.views.live.content import live_file
from headlight.views.live.replay import find_replay, reduced
from transformer.checkpoint import load_checkpoint

NAME = "en-de"


@pytest.fixture(scope="module")
def file() -> str:
    return live_file(load_checkpoint(CHECKPOINTS / NAME), NAME, replay=find_replay(CHECKPOINTS / NAME))


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
    show(page, "training", head="cross.2.4", snapshot=str(replay.steps[-1]))
    expect(view.locator(".head h2")).to_have_text("Cross-attention, layer 2, head 4")
    cells = [float(cell) for cell in view.locator(".map td[id]").all_inner_texts()]
    np.testing.assert_allclose(cells, shown.cross[-1, 1, 3].ravel(), atol=0.0051)
    np.testing.assert_allclose(cells, trajectory.cross[-1, 1, 3].ravel(), atol=0.0075)
    focus = percent(shown.cross[-1, 1, 3].max(axis=1).mean())
    expect(view.locator(".head .now")).to_contain_text(f"A row puts {focus} on one token")


def test_without_a_replay_there_is_no_such_view(open_alone):
    page = open_alone(live_file(load_checkpoint(CHECKPOINTS / "reverse"), "reverse"))
    expect(page.locator("#live_translation")).not_to_be_empty()
    assert page.locator("[data-tab=training], [data-view=training]").count() == 0
    go_to(page, "training")
    expect(page.locator("[aria-current=page]")).to_have_text("Home")
