"""The replay of a training through Streamlit's own test runner, with the shipped checkpoints."""

import base64
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, components, headlines, open_page, page_text

from headlight.app import results
from headlight.components.show import NEWEST
from headlight.views.training.replay_content import focus_of, output_story
from transformer.training.replay import REPLAY_FILE, TrainingReplay, load_replay

PAGE = "pages/training.py"
NAME = "en-fr"


@pytest.fixture(scope="module")
def replay() -> TrainingReplay:
    return load_replay(ROOT / "checkpoints" / NAME / REPLAY_FILE)


def open_replay(**query: str) -> AppTest:
    return open_page(PAGE, **{"training": "replay", "checkpoint": NAME, **query})


def shown(app: AppTest) -> dict:
    """Return the payload of the player."""
    (player,) = components(app)
    return json.loads(player.proto.json)


def sent(payload: dict) -> np.ndarray:
    attention = payload["facts"]["attention"]
    return np.frombuffer(base64.b64decode(attention["base64"]), "<u2").reshape(attention["shape"]) / 65535


def test_the_replay_opens_at_its_beginning_with_what_to_look_for(replay):
    app = open_replay()
    payload = shown(app)
    facts, trajectory = payload["facts"], replay.trajectories[0]
    assert (payload["step"], payload["following"], payload["autoplay"]) == (0, False, True)
    assert facts["source_text"] == trajectory.source_text and facts["kind"] == "cross"
    np.testing.assert_allclose(sent(payload), trajectory.cross, atol=1e-5)
    layer, head = focus_of(replay, trajectory, "cross").most_changed()
    assert (payload["layer"], payload["head"]) == (layer, head), "the head that changed most"
    assert headlines(app) == [output_story(replay, trajectory).headline]
    assert facts["languages"] == ["English", "French"]


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_sentence_kind_layer_and_head_come_from_the_url(kind, replay):
    trajectory = replay.trajectories[2]
    app = open_replay(probe=trajectory.source_text, head=f"{kind}.2.5", snapshot="500")
    payload = shown(app)
    assert (payload["layer"], payload["head"], payload["autoplay"]) == (1, 4, False)
    assert payload["step"] == 500 and payload["facts"]["target_text"] == trajectory.target_text
    np.testing.assert_allclose(sent(payload), getattr(trajectory, kind), atol=1e-5)


def test_the_head_that_changed_most_is_a_button_away():
    app = open_replay(head="cross.1.1")
    (button,) = (button for button in app.button if "changed most" in button.label)
    button.click().run()
    payload = shown(app)
    assert f"Show layer {payload['layer'] + 1}, head {payload['head'] + 1}, which changed most" == button.label
    assert not [button for button in app.button if "changed most" in button.label]
    assert app.segmented_control(key="head_buttons").value == str(payload["head"] + 1)


def test_a_checkpoint_without_a_replay_says_which_have_one_and_leads_there(tmp_path, monkeypatch):
    copy_checkpoints(tmp_path, without=REPLAY_FILE, names=("bare",))
    copy_checkpoints(tmp_path, names=("recorded",))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_page(PAGE, training="replay", checkpoint="bare")
    assert "no replay of the training of bare" in page_text(app) and "recorded" in page_text(app)
    next(button for button in app.button if "recorded" in button.label).click().run()
    assert app.selectbox(key="checkpoint_list").value == "recorded" and shown(app)["facts"]["steps"]


def test_a_damaged_replay_gets_a_sentence_and_a_mended_one_is_read_anew(tmp_path, monkeypatch):
    copy_checkpoints(tmp_path, names=("recorded",))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    path = tmp_path / "recorded" / REPLAY_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    app = open_page(PAGE, training="replay", checkpoint="recorded")
    assert "is damaged or no training replay" in page_text(app) and not components(app)
    path.write_bytes(whole)
    app.run()
    assert shown(app)["facts"]["steps"]


def copy_checkpoints(folder: Path, names: tuple[str, ...], without: str = "") -> None:
    for name in names:
        ignored = shutil.ignore_patterns("resume", *([without] if without else []))
        shutil.copytree(ROOT / "checkpoints" / NAME, folder / name, ignore=ignored)


# As the page of a training under way shows it


def live(following):
    from headlight.app import results
    from headlight.app.finding import Templates
    from headlight.app.results import replays
    from headlight.views.training.replay import Live, show_replay

    watched = Live(
        first=(0, 1), best=(1, 2), best_words="reads best", finding=Templates({"live": "A training."})("live")
    )
    replay = replays.replay(results.checkpoint("en-fr"))
    show_replay(replay, "job", ("given", "wanted"), watched if following else None)


def open_live(following: bool, **query: str) -> AppTest:
    app = AppTest.from_function(live, args=[following], default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def test_a_replay_that_follows_its_training_opens_at_its_end_unless_the_visitor_has_scrubbed_back():
    payload = shown(open_live(following=True))
    assert (payload["step"], payload["following"]) == (NEWEST, True)
    assert (payload["layer"], payload["head"]) == (0, 1)
    assert payload["best"] == {"layer": 1, "head": 2, "words": "reads best"}
    assert payload["facts"]["languages"] == ["given", "wanted"]
    assert shown(open_live(following=True, snapshot="500"))["step"] == 500
    assert shown(open_live(following=False))["step"] == 0
