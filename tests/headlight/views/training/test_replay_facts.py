"""Facts of the replay player: the replay's own numbers."""

import dataclasses
import json

import numpy as np
import pytest
from support.models import small_model
from support.pages import fact_array
from support.tiny import VOCABULARY

from headlight.views.training.replay_content import attention_maps, focus_of, replay_facts
from transformer.interpret.head_patterns import measure_head
from transformer.model.names import AttentionKind
from transformer.training.replay import ProbeTrajectory, TrainingReplay
from transformer.training.replay_recorder import ReplayRecorder

STEPS = (0, 10, 20, 50, 100)
LOSSES = [(15, 5.0), (20, float("nan")), (150, 0.5)]
SCORES = [(20, 3.0), (100, 34.5)]
NAMES = ("Plain", "Schlicht")


@pytest.fixture(scope="module")
def replay(tokenizer) -> TrainingReplay:
    recorder = ReplayRecorder(tokenizer, [("small blue bird car.", "klein Wagen.")])
    for step in STEPS:
        recorder.record(small_model(seed=step + 1, vocab_size=VOCABULARY), step)
    return recorder.replay(LOSSES, SCORES, "BLEU")


def facts_of(replay: TrainingReplay, trajectory: ProbeTrajectory, kind: str, heads=()) -> dict:
    return replay_facts(replay, trajectory, kind, focus_of(replay, trajectory, kind), heads, NAMES)


@pytest.mark.parametrize("kind", AttentionKind)
def test_weights_are_sent_to_four_decimals_and_masked_ones_as_zero(kind, replay):
    trajectory = replay.trajectories[0]
    facts = json.loads(json.dumps(facts_of(replay, trajectory, kind, [(1, 2)])))
    maps = attention_maps(trajectory, kind)
    np.testing.assert_allclose(fact_array(facts["attention"]) / 65535, np.nan_to_num(maps), atol=1e-5)
    np.testing.assert_allclose(fact_array(facts["focus"]).shape, maps.shape[:3])
    keys = trajectory.decoder_input_tokens if kind == "decoder" else trajectory.source_tokens
    measured = [measure_head(kind, each[1, 2], tuple(keys)).label for each in maps]
    assert [each and each["label"] for each in facts["patterns"]["1.2"]] == measured


def test_curves_have_finite_numbers_alone_and_texts_are_those_of_the_replay(replay):
    trajectory = replay.trajectories[0]
    facts = facts_of(replay, trajectory, "cross")
    assert fact_array(facts["losses"]).tolist() == [[15, 5], [150, 0.5]]
    assert fact_array(facts["scores"]).tolist() == [[20, 3], [100, 34.5]]
    assert (facts["steps"], facts["outputs"]) == (list(STEPS), list(trajectory.outputs))
    assert facts["languages"] == list(NAMES) and 0 < facts["uniform"] < 1


def test_a_decoder_of_one_row_has_no_choice_to_measure(replay):
    trajectory = replay.trajectories[0]
    arrays = {"decoder": trajectory.decoder[..., :1, :1]}
    facts = facts_of(replay, dataclasses.replace(trajectory, **arrays), "decoder")
    assert facts["uniform"] is None
