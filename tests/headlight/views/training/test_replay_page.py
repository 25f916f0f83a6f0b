"""The replay of a training through Streamlit's test runner, with a shipped checkpoint."""

import dataclasses
import shutil

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, components, fact_array, headlines, open_page, page_text, payload

from headlight.app import results
from headlight.app.facts import pattern_words
from headlight.views.training.replay_content import attention_maps, focus_of, output_story, replay_facts
from transformer.interpret.head_patterns import measure_head
from transformer.training.replay import REPLAY_FILE, ProbeTrajectory, TrainingReplay, load_replay

PAGE = "pages/training.py"
NAME = "en-fr"


@pytest.fixture(scope="module")
def replay() -> TrainingReplay:
    return load_replay(ROOT / "checkpoints" / NAME / REPLAY_FILE)


def open_replay(**query: str) -> AppTest:
    return open_page(PAGE, **{"training": "replay", "checkpoint": NAME, **query})


def weights_of(facts: dict) -> np.ndarray:
    return fact_array(facts["attention"]) / 65535


def test_the_replay_opens_at_its_beginning_with_the_head_that_changed_most(replay):
    app, trajectory = open_replay(), replay.trajectories[0]
    shown = payload(app)
    facts = shown["facts"]
    assert (shown["step"], shown["following"], shown["autoplay"]) == (0, False, True)
    assert facts["source_text"] == trajectory.source_text and facts["kind"] == "cross"
    np.testing.assert_allclose(weights_of(facts), trajectory.cross, atol=1e-5)
    assert (shown["layer"], shown["head"]) == focus_of(replay, trajectory, "cross").most_changed()
    assert headlines(app) == [output_story(replay, trajectory).headline]
    assert facts["languages"] == ["English", "French"]


def test_sentence_kind_layer_head_and_snapshot_come_from_the_url(replay):
    trajectory, step = replay.trajectories[2], int(replay.steps[5])
    shown = payload(open_replay(probe=trajectory.source_text, head="decoder.2.5", snapshot=str(step)))
    assert (shown["layer"], shown["head"], shown["autoplay"], shown["step"]) == (1, 4, False, step)
    assert shown["facts"]["target_text"] == trajectory.target_text
    np.testing.assert_allclose(weights_of(shown["facts"]), trajectory.decoder, atol=1e-5)


def test_facts_have_finite_losses_and_the_patterns_of_the_chosen_head(replay):
    losses = np.array([[15, 5], [20, np.nan], [150, 0.5]], np.float32)
    replay, trajectory = dataclasses.replace(replay, losses=losses), replay.trajectories[0]

    def facts_of(trajectory: ProbeTrajectory, *heads: tuple[int, int]) -> dict:
        focus = focus_of(replay, trajectory, "decoder")
        return replay_facts(replay, trajectory, "decoder", focus, heads, ("English", "French"))

    facts = facts_of(trajectory, (1, 2))
    assert fact_array(facts["losses"]).tolist() == [[15, 5], [150, 0.5]]
    np.testing.assert_array_equal(fact_array(facts["scores"]), replay.scores.astype(np.float32))
    assert (facts["steps"], facts["outputs"]) == (replay.steps.tolist(), list(trajectory.outputs))
    maps = attention_maps(trajectory, "decoder")[:, 1, 2]
    labels = [measure_head("decoder", each, trajectory.decoder_input_tokens).label for each in maps]
    places = [label and pattern_words()[label][0] for label in labels]
    assert [each and each["place"] for each in facts["patterns"]["1.2"]] == places
    one_row = dataclasses.replace(trajectory, decoder=trajectory.decoder[..., :1, :1])
    assert 0 < facts["uniform"] < 1 and facts_of(one_row)["uniform"] is None, "one row has no choice to measure"


def test_the_head_that_changed_most_is_a_button_away():
    app = open_replay(head="cross.1.1")
    (button,) = (button for button in app.button if "changed most" in button.label)
    button.click().run()
    layer, head = (payload(app)[name] + 1 for name in ("layer", "head"))
    assert button.label == f"Show layer {layer}, head {head}, which changed most"
    assert not [button for button in app.button if "changed most" in button.label]
    assert app.segmented_control(key="head_buttons").value == str(head)


def test_a_missing_or_damaged_replay_gets_a_message_and_a_new_file_is_read(tmp_path, monkeypatch):
    for name in ("bare", "recorded"):
        shutil.copytree(ROOT / "checkpoints" / NAME, tmp_path / name, ignore=shutil.ignore_patterns("resume"))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    path = tmp_path / "bare" / REPLAY_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    app = open_replay(checkpoint="bare")
    assert "is damaged or no training replay" in page_text(app) and not components(app)
    path.write_bytes(whole)
    assert payload(app.run())["facts"]["steps"]
    path.unlink()
    app = open_replay(checkpoint="bare")
    assert "no replay of the training of bare" in page_text(app)
    next(button for button in app.button if "recorded" in button.label).click().run()
    assert app.selectbox(key="checkpoint").value == "recorded" and payload(app)["facts"]["steps"]
