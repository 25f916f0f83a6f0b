"""What the replay player is given: the replay's own numbers, and sentences that say only what these numbers say."""

import base64
import dataclasses
import json

import numpy as np
import pytest
from support.small import small_model
from support.tiny import VOCABULARY

from headlight.views.training.replay_content import (
    ShownHead,
    axes_text,
    focus_of,
    loss_text,
    output_text,
    replay_payload,
)
from transformer.model.names import AttentionKind
from transformer.training.replay import TrainingReplay
from transformer.training.replay_recorder import ReplayRecorder

STEPS = (0, 10, 20, 50, 100)
LOSSES = [(15, 5.0), (20, 4.0), (40, 3.0), (100, 1.0), (150, 0.5)]
SCORES = [(20, 3.0), (100, 34.5)]
NAMES = ("Plain", "Schlicht")


@pytest.fixture(scope="module")
def replay(tokenizer) -> TrainingReplay:
    recorder = ReplayRecorder(tokenizer, [("small blue bird car.", "klein Wagen.")])
    for step in STEPS:
        recorder.record(small_model(seed=step + 1, vocab_size=VOCABULARY), step)
    return recorder.replay(LOSSES, SCORES, "BLEU")


def payload(replay: TrainingReplay, kind: str = "cross", layer: int = 1, head: int = 2) -> dict:
    trajectory = replay.trajectories[0]
    return replay_payload(replay, trajectory, focus_of(replay, trajectory, kind), ShownHead(kind, layer, head), NAMES)


def first_snapshots(replay: TrainingReplay, count: int) -> TrainingReplay:
    trajectory = replay.trajectories[0]
    arrays = {name: getattr(trajectory, name)[:count] for name in (*AttentionKind, "probabilities", "outputs")}
    return dataclasses.replace(
        replay, steps=replay.steps[:count], trajectories=(dataclasses.replace(trajectory, **arrays),)
    )


def curve(replay: TrainingReplay, beginning: str, **choice) -> dict:
    return next(curve for curve in payload(replay, **choice)["curves"] if curve["title"].startswith(beginning))


# What travels


@pytest.mark.parametrize("kind", AttentionKind)
def test_every_weight_travels_to_four_decimals(kind, replay):
    given, trajectory = payload(replay, kind), replay.trajectories[0]
    assert json.loads(json.dumps(given, allow_nan=False))["kind"] == given["kind"]
    maps = getattr(trajectory, kind)
    sent = np.frombuffer(base64.b64decode(given["weights"]), "<u2").reshape(maps.shape) / 65535
    np.testing.assert_allclose(sent, maps, atol=1e-5)
    assert maps.shape[1:] == (given["layers"], given["heads"], len(given["queries"]), len(given["keys"]))


def test_rows_and_columns_are_named_as_they_are_read(replay):
    trajectory = replay.trajectories[0]
    source, fed, following = map(
        list, (trajectory.source_tokens, trajectory.decoder_input_tokens, trajectory.target_tokens)
    )
    for kind, labels in {
        "encoder": (source, None, source),
        "decoder": (fed, following, fed),
        "cross": (fed, following, source),
    }.items():
        given = payload(replay, kind)
        assert (given["queries"], given["predicts"], given["keys"]) == labels
        assert given["causal"] == (kind == "decoder")
    assert axes_text("cross", *NAMES) == "rows: Schlicht, as it was fed to the decoder; columns: Plain"


def test_each_snapshot_has_its_place_output_and_probabilities(replay):
    given, trajectory = payload(replay), replay.trajectories[0]
    assert given["steps"] == list(STEPS) and given["texts"][3]["place"] == "Update 50 of 100"
    for snapshot, told in enumerate(given["texts"]):
        assert told["wrote"] == output_text(trajectory.outputs[snapshot])[0]
        assert told["spoken"].startswith(f"update {STEPS[snapshot]} of 100: ") and told["wrote"] in told["spoken"]
    np.testing.assert_allclose(
        [[chance for chance, _ in row] for row in given["chances"]], trajectory.probabilities, atol=0.00006
    )
    assert len(given["chances"][0]) == len(given["next"])


def test_tokens_and_outputs_travel_as_they_are_for_the_browser_sets_them_as_text(replay):
    evil = "<img src=x onerror=alert(1)>"
    outputs = (evil, replay.trajectories[0].target_text, *["no"] * (len(STEPS) - 2))
    trajectory = dataclasses.replace(replay.trajectories[0], outputs=outputs)
    given = payload(dataclasses.replace(replay, trajectories=(trajectory,)))
    assert given["texts"][0]["wrote"] == evil
    assert [told["right"] for told in given["texts"]] == [False, True, False, False, False]


# The curves


def test_a_curve_lies_among_the_snapshots_and_its_marker_on_it(replay):
    loss = curve(replay, "Training loss")
    (line,) = loss["lines"]
    assert line["x"] == pytest.approx([1.5, 2, 2 + 2 / 3, 4, 5], abs=0.001), "places of steps 15, 20, 40, 100, 150"
    assert line["y"] == [point[1] for point in LOSSES]
    assert loss["at"] == [None, None, (2, 4.0), (3, pytest.approx(3 - 2 / 6)), (4, 1.0)]
    assert loss["said"] == ["", "", "4.00", "2.67", "1.00"], "nothing is known before the first record"
    assert (loss["high"], payload(replay)["length"]) == (5.0, 5.0)
    assert payload(replay)["ticks"] == [(0, "0"), (1, "10"), (2, "20"), (3, "50"), (4, "100")]


def test_a_small_loss_is_not_rounded_away():
    assert [loss_text(loss) for loss in (9.263, 1.0, 0.1, 0.0949, 0.0041)] == ["9.26", "1.00", "0.10", "0.09", "0.004"]


def test_a_score_is_the_latest_that_was_measured_by_then(replay):
    score = curve(replay, "BLEU")
    assert score["at"] == [None, None, (2.0, 3.0), (2.0, 3.0), (4.0, 34.5)]
    assert score["said"] == ["", "", "3.0", "3.0", "34.5"] and score["high"] == 50.0
    exact = dataclasses.replace(
        replay, score_name="exact match", scores=np.array([[20, 0.0], [50, 0.9999], [100, 1.0]])
    )
    score = curve(exact, "Exact match")
    assert score["said"] == ["", "", "0 %", "over 99 %", "100 %"] and score["high"] == 1.0


def test_the_focus_of_a_head_stands_before_that_of_the_others(replay):
    focus = focus_of(replay, replay.trajectories[0], "cross")
    lines = curve(replay, "A row", layer=1, head=2)["lines"]
    assert len(lines) == 12 and [line.get("faint", False) for line in lines] == [True] * 11 + [False]
    np.testing.assert_allclose(lines[-1]["y"], focus.values[:, 1, 2], atol=0.0001)


def test_curves_that_are_not_there_yet_are_left_out(replay):
    young = first_snapshots(dataclasses.replace(replay, losses=np.empty((0, 2)), scores=np.empty((0, 2))), 1)
    given = payload(young)
    assert [curve["title"][:5] for curve in given["curves"]] == ["A row"]
    assert given["length"] == 1 and given["ticks"] == [(0, "0")] and "no loss yet" in given["texts"][0]["spoken"]
    ahead = payload(first_snapshots(replay, 1))  # losses come in before the second snapshot does
    assert json.dumps(ahead, allow_nan=False) and ahead["length"] == 1.0


def test_a_loss_that_is_no_number_is_left_out_of_its_curve(replay):
    broken = dataclasses.replace(replay, losses=np.array([[10, 4.0], [20, np.nan], [50, np.inf], [100, 2.0]]))
    assert json.dumps(payload(broken), allow_nan=False)
    assert curve(broken, "Training loss")["lines"][0]["y"] == [4.0, 2.0]


def test_a_sentence_without_a_choice_can_be_shown(replay):
    trajectory = replay.trajectories[0]
    single = dataclasses.replace(
        trajectory,
        decoder_input_tokens=trajectory.decoder_input_tokens[:1],
        target_tokens=trajectory.target_tokens[:1],
        decoder=trajectory.decoder[..., :1, :1],
        cross=trajectory.cross[..., :1, :],
        probabilities=trajectory.probabilities[:, :1],
    )
    focus = focus_of(replay, single, "decoder")
    given = replay_payload(replay, single, focus, ShownHead("decoder", 0, 0), NAMES)
    assert json.dumps(given, allow_nan=False) and "single key" in given["texts"][0]["head"]
