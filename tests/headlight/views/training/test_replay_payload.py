"""What the replay player is given: the replay's own numbers, and sentences that say only what these numbers say."""

import base64
import dataclasses
import json

import numpy as np
import pytest
from headlight.views.training.replay_payload import ShownHead, replay_payload
from headlight.views.training.replay_text import (
    MOST_LETTERS,
    NOTHING,
    Focus,
    attention_maps,
    axes_text,
    focus_of,
    head_story,
    head_text,
    heads_story,
    loss_text,
    output_story,
    output_text,
    progress_text,
)
from support.small import small_model
from support.tiny import VOCABULARY

from transformer.interpret.head_patterns import mean_maximum
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


def with_outputs(replay: TrainingReplay, *outputs: str) -> TrainingReplay:
    return dataclasses.replace(replay, trajectories=(dataclasses.replace(replay.trajectories[0], outputs=outputs),))


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
    source, fed, following = map(list, (trajectory.source_tokens, trajectory.fed_tokens, trajectory.next_tokens))
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
    assert given["steps"] == list(STEPS) and progress_text(replay, 3) == given["texts"][3]["place"] == "Step 50 of 100"
    for snapshot, told in enumerate(given["texts"]):
        assert told["wrote"] == output_text(trajectory.outputs[snapshot])[0]
        assert told["spoken"].startswith(f"step {STEPS[snapshot]} of 100: ") and told["wrote"] in told["spoken"]
    np.testing.assert_allclose(
        [[chance for chance, _ in row] for row in given["chances"]], trajectory.probabilities, atol=0.00006
    )
    assert len(given["chances"][0]) == len(given["next"])


def test_tokens_and_outputs_travel_as_they_are_for_the_browser_sets_them_as_text(replay):
    evil = "<img src=x onerror=alert(1)>"
    trajectory = dataclasses.replace(replay.trajectories[0], outputs=(evil,) * len(STEPS))
    given = payload(dataclasses.replace(replay, trajectories=(trajectory,)))
    assert given["texts"][0]["wrote"] == evil


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


# What is measured


@pytest.mark.parametrize("kind", AttentionKind)
def test_focus_is_the_mean_row_maximum_of_every_head(kind, replay):
    trajectory = replay.trajectories[0]
    focus, maps = focus_of(replay, trajectory, kind), attention_maps(trajectory, kind)
    for place in np.ndindex(maps.shape[:3]):
        assert focus.values[place] == pytest.approx(mean_maximum(maps[place]), abs=1e-6)


def test_an_even_spread_is_the_least_that_a_focus_can_be(replay):
    trajectory = replay.trajectories[0]
    source, target = len(trajectory.source_tokens), len(trajectory.fed_tokens)
    assert focus_of(replay, trajectory, "cross").uniform == pytest.approx(1 / source)
    assert focus_of(replay, trajectory, "decoder").uniform == pytest.approx(
        np.mean([1 / (row + 1) for row in range(1, target)])
    )
    for kind in AttentionKind:
        focus = focus_of(replay, trajectory, kind)
        assert (focus.values >= focus.uniform - 1e-6).all()


def test_rows_with_a_single_key_leave_nothing_to_measure(tokenizer):
    recorder = ReplayRecorder(tokenizer, [("red", "rot")])
    recorder.record(small_model(vocab_size=VOCABULARY), 0)
    replay = recorder.replay([], [], "BLEU")
    trajectory = replay.trajectories[0]
    single = dataclasses.replace(
        trajectory,
        fed_tokens=trajectory.fed_tokens[:1],
        next_tokens=trajectory.next_tokens[:1],
        decoder=trajectory.decoder[..., :1, :1],
        cross=trajectory.cross[..., :1, :],
        probabilities=trajectory.probabilities[:, :1],
    )
    focus = focus_of(replay, single, "decoder")
    assert not focus.known and heads_story(focus) == "" and "single key" in head_story(focus, 0, 0)
    given = replay_payload(replay, single, focus, ShownHead("decoder", 0, 0), NAMES)
    assert json.dumps(given, allow_nan=False) and "single key" in given["texts"][0]["head"]


# What is said


def focus(values, steps=(0, 100, 1000, 2000)) -> Focus:
    return Focus(np.array(steps[: len(values)]), np.array(values, dtype=float), 0.125)


def test_a_heads_story_has_its_ends_and_its_largest_change():
    story = head_story(focus([[[0.2]], [[0.25]], [[0.9]], [[0.8]]]), 0, 0)
    assert ".20 on average at step 0" in story and ".80 at step 2,000" in story and "would be .12" in story
    assert "most between step 100 and step 1,000: from .25 to .90" in story
    falling = head_story(focus([[[0.9]], [[0.5]], [[0.45]], [[0.4]]]), 0, 0)
    assert "most between step 0 and step 100: from .90 to .50" in falling
    assert "neighbouring" not in head_story(focus([[[0.2]], [[0.9]]]), 0, 0)
    assert head_story(focus([[[0.2]]]), 0, 0).endswith(".20 on average at step 0.")


def test_the_heads_are_compared_by_first_and_last_and_the_layers_by_their_largest_change():
    values = np.full((4, 2, 3), 0.2)
    values[1:, 0, :2] = 0.5  # two of three heads of layer 1 change at once
    values[2:, 1, 0] = 0.9
    values[3:, 1, 1:] = 0.6
    story = heads_story(focus(values))
    assert "Of all 6 heads of this kind, layer 2, head 1 differs most" in story and ".20 and .90" in story
    assert "by step 100 in layer 1 and step 2,000 in layer 2" in story
    assert focus(values).most_changed() == (1, 0)
    assert heads_story(focus(values[:2])) == "" and heads_story(focus(values[:, :1, :1])) == ""
    assert "At least half" not in heads_story(focus(values[:, :, :1]))


@pytest.mark.parametrize(
    "right, words",
    [
        ("00000", "At none of these snapshots does the model write the target; at step 100 it writes “no”."),
        ("00001", "at the last snapshot, step 100, and at none before"),
        ("00111", "for the first time at step 20, and at every snapshot kept from then on"),
        ("01011", "for the first time at step 10, and at every snapshot kept from step 50 on; in between it wavers"),
        ("01100", "for the first time at step 10, but no longer at the last snapshot, step 100"),
        ("11111", "for the first time at step 0, and at every snapshot kept from then on"),
    ],
)
def test_the_outputs_story_says_when_the_target_was_written(right, words, replay):
    target = replay.trajectories[0].target_text
    outputs = [target if snapshot == "1" else "no" for snapshot in right]
    told = with_outputs(replay, *outputs)
    assert words in output_story(told, told.trajectories[0])
    assert [snapshot["right"] for snapshot in payload(told)["texts"]] == [snapshot == "1" for snapshot in right]


@pytest.mark.parametrize(
    "text, shown, more",
    [
        ("", NOTHING, ""),
        (" \n ", NOTHING, ""),
        ("Je ne sais pas.", "Je ne sais pas.", ""),
        ("puis " * 60, " ".join(["puis"] * 14), "… and 46 more words"),
        ("a " * 17, " ".join("a" * 16), "… and 1 more word"),
        ("x" * 500 + " end", "x" * MOST_LETTERS + "…", "… and 1 more word"),
    ],
)
def test_a_long_output_is_cut_and_says_how_much_is_left_out(text, shown, more):
    assert output_text(text) == (shown, more)


def test_a_head_at_a_snapshot_names_its_pattern_only_where_most_rows_follow_it():
    itself = np.eye(5) * 0.8 + 0.04
    words = head_text(itself, "encoder", tuple("abcde"), 0.84, 0.2)
    assert words == (
        "A row's largest weight is .84 on average (spread evenly: .20). "
        "In 5 of the 5 rows that could (100 %) the largest weight is on the row's own token, for a decoder row its "
        "input token."
    )
    scattered = itself[[2, 0, 4, 1, 3]]
    assert "that could" not in head_text(scattered, "encoder", tuple("abcde"), 0.84, 0.2)
