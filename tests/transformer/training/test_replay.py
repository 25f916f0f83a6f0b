"""The replay of a training: it keeps what the model itself shows, survives the disk, and leaves the training alone."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from support.models import random_ids, small_config, small_model
from support.tiny import VOCABULARY
from support.tolerance import near

from transformer.checkpoint import find_checkpoints
from transformer.errors import CheckpointError
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer
from transformer.training.replay import (
    REPLAY_FILE,
    ProbeTrajectory,
    TrainingReplay,
    load_replay,
    snapshot_steps,
)
from transformer.training.replay_recorder import ReplayRecorder
from transformer.translator import Translator

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
PROBES = [("red dog tree.", "rot Hund."), ("small blue bird car.", "klein Wagen.")]
LOSSES, SCORES = [(2, 4.5), (4, 3.25)], [(4, 11.5)]


@pytest.fixture(scope="module")
def replay(tokenizer) -> TrainingReplay:
    """Three snapshots of a model whose weights are made anew for each."""
    recorder = ReplayRecorder(tokenizer, PROBES)
    for step in (0, 2, 5):
        recorder.record(small_model(seed=step + 1, vocab_size=VOCABULARY), step)
    return recorder.replay(LOSSES, SCORES, "BLEU")


@pytest.fixture
def saved(replay, tmp_path) -> Path:
    path = tmp_path / REPLAY_FILE
    replay.save(path)
    return path


def same_trajectory(one: ProbeTrajectory, other: ProbeTrajectory, tolerance: float) -> None:
    for name in ("source_text", "target_text", "source_tokens", "decoder_input_tokens", "target_tokens", "outputs"):
        assert getattr(one, name) == getattr(other, name), name
    for name in (*AttentionKind, "probabilities"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=tolerance, err_msg=name)


# What a recorder keeps


def test_a_snapshot_is_what_a_trace_of_the_same_weights_shows(replay, translator, tokenizer):
    recorder = ReplayRecorder(tokenizer, PROBES)
    recorder.record(translator.model, 7)
    for trajectory, (source, target) in zip(recorder.replay([], [], "BLEU").trajectories, PROBES, strict=True):
        trace = translator.trace(source, target=target)
        for kind in AttentionKind:
            np.testing.assert_array_equal(getattr(trajectory, kind)[0], trace.attention(kind))
        assert trajectory.probabilities[0] == near(trace.target_probabilities)
        tokens = (trajectory.source_tokens, trajectory.decoder_input_tokens, trajectory.target_tokens)
        assert tokens == (trace.source_tokens, trace.decoder_input_tokens, trace.target_tokens)
        assert trajectory.outputs == (translator.translate([source])[0],)


def test_a_replay_has_every_snapshot_kind_layer_and_head(replay):
    assert replay.steps.tolist() == [0, 2, 5]
    assert replay.losses.tolist() == [list(point) for point in LOSSES] and replay.scores.tolist() == [list(SCORES[0])]
    for trajectory in replay.trajectories:
        source, target = len(trajectory.source_tokens), len(trajectory.decoder_input_tokens)
        assert source != target, "so that swapped axes would show"
        assert trajectory.encoder.shape == (3, 2, 4, source, source)
        assert trajectory.decoder.shape == (3, 3, 4, target, target)
        assert trajectory.cross.shape == (3, 3, 4, target, source)
        assert trajectory.probabilities.shape == (3, target) and len(trajectory.outputs) == 3
        assert (trajectory.decoder_input_tokens[0], trajectory.decoder_input_tokens[1:]) == (
            "<s>",
            trajectory.target_tokens[:-1],
        )
        np.testing.assert_array_equal(np.triu(trajectory.decoder, 1), 0)
        for kind in AttentionKind:
            assert getattr(trajectory, kind).sum(axis=-1) == near(1)
            assert not np.array_equal(getattr(trajectory, kind)[0], getattr(trajectory, kind)[1]), (
                "each snapshot is its own"
            )


def test_a_replay_is_shared_and_cannot_be_changed(replay, saved):
    for one in (replay, load_replay(saved)):
        for array in (one.steps, one.losses, one.scores, one.trajectories[0].cross, one.trajectories[1].probabilities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


@pytest.mark.parametrize("probes", [[], [("", "rot")], [("red", "")]])
def test_a_probe_without_a_token_cannot_be_recorded(probes, tokenizer):
    with pytest.raises(ValueError, match="probes"):
        ReplayRecorder(tokenizer, probes)


def test_before_the_first_snapshot_there_is_no_replay(tokenizer):
    with pytest.raises(ValueError, match="no snapshot"):
        ReplayRecorder(tokenizer, PROBES).replay([], [], "BLEU")


# The training does not notice


def trained(recorder: ReplayRecorder | None) -> Transformer:
    """A model after six steps with dropout, recorded after each one or not."""
    torch.manual_seed(3)
    model = Transformer(small_config(vocab_size=VOCABULARY, dropout=0.3)).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    source, target = random_ids(8, 7, vocab_size=VOCABULARY), random_ids(8, 5, seed=2, vocab_size=VOCABULARY)
    for step in range(6):
        if recorder:
            recorder.record(model, step)
        optimiser.zero_grad()
        model(source, target).sum().backward()
        optimiser.step()
    assert model.training
    return model


def test_a_recorded_training_ends_with_the_same_weights_bit_for_bit(tokenizer):
    plain, recorded = trained(None), trained(ReplayRecorder(tokenizer, PROBES))
    for (name, one), other in zip(plain.named_parameters(), recorded.parameters(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was_even_when_a_shot_fails(training, tokenizer, monkeypatch):
    model = small_model(vocab_size=VOCABULARY).train(training)
    recorder = ReplayRecorder(tokenizer, PROBES)
    recorder.record(model, 0)
    assert model.training == training
    monkeypatch.setattr("transformer.training.replay_recorder.decode", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        recorder.record(model, 1)
    assert model.training == training and recorder.steps == [0]


# Which snapshots


def test_snapshots_rise_from_0_to_the_last_step_each_about_as_many_times_the_one_before():
    for steps in (1, 7, 24, 100, 650, 5000, 123_456):
        found = snapshot_steps(steps)
        assert found[0] == 0 and found[-1] == steps and len(found) <= 25
        assert all(type(step) is int for step in found) and (np.diff(found) > 0).all()
    ratios = np.array(found[2:]) / np.array(found[1:-1])
    assert ratios.max() / ratios.min() < 1.05
    assert len(snapshot_steps(5000)) == 25 and snapshot_steps(1) == [0, 1]


def test_thinning_keeps_every_second_snapshot_and_the_first(tokenizer, replay):
    recorder = ReplayRecorder(tokenizer, PROBES)
    recorder.resume(replay, until=5)
    recorder.downsample()
    thinned = recorder.replay(LOSSES, SCORES, "BLEU")
    assert thinned.steps.tolist() == [0, 5]
    for one, other in zip(replay.trajectories, thinned.trajectories, strict=True):
        np.testing.assert_array_equal(one.cross[::2], other.cross)
        assert one.outputs[::2] == other.outputs


def test_a_replay_is_taken_up_where_the_training_goes_on(tokenizer, saved):
    loaded, model = load_replay(saved), small_model(seed=9, vocab_size=VOCABULARY)
    recorder, fresh = ReplayRecorder(tokenizer, PROBES), ReplayRecorder(tokenizer, PROBES)
    recorder.resume(loaded, until=3)
    assert recorder.steps == [0, 2], "step 5 is done again"
    for each in (recorder, fresh):
        each.record(model, 4)
    longer, only = recorder.replay(LOSSES, SCORES, "BLEU"), fresh.replay(LOSSES, SCORES, "BLEU")
    for before, now, after in zip(loaded.trajectories, longer.trajectories, only.trajectories, strict=True):
        np.testing.assert_array_equal(now.encoder[:2], before.encoder[:2])
        np.testing.assert_array_equal(now.encoder[2], after.encoder[0])
        assert now.outputs == (*before.outputs[:2], *after.outputs)
        assert now.decoder_input_tokens == before.decoder_input_tokens


def test_a_replay_of_other_probes_is_not_taken_up(tokenizer, replay):
    with pytest.raises(ValueError, match="other probes"):
        ReplayRecorder(tokenizer, PROBES[:1]).resume(replay, until=5)


# On disk


def test_a_replay_comes_back_from_disk_as_it_was(replay, saved):
    loaded = load_replay(saved)
    for name in ("steps", "losses", "scores"):
        np.testing.assert_array_equal(getattr(replay, name), getattr(loaded, name))
    assert (loaded.score_name, len(loaded.trajectories)) == ("BLEU", 2)
    for one, other in zip(replay.trajectories, loaded.trajectories, strict=True):
        same_trajectory(one, other, tolerance=0.0003)
    assert list(saved.parent.iterdir()) == [saved], "no part is left lying about"


def test_any_text_survives(replay, tmp_path):
    trajectory = replay.trajectories[0]
    outputs = ("", "<img src=x onerror=alert(1)>\n\0", "größer “👩‍🏫” \u202e")
    probe = ProbeTrajectory(**{**vars(trajectory), "outputs": outputs})
    odd = TrainingReplay(replay.steps, (probe,), replay.losses, replay.scores, "exact match")
    odd.save(tmp_path / REPLAY_FILE)
    loaded = load_replay(tmp_path / REPLAY_FILE)
    assert loaded.trajectories[0].outputs == outputs and loaded.score_name == "exact match"


def test_a_replay_without_losses_or_scores_yet_is_a_replay(replay, tmp_path, tokenizer):
    recorder = ReplayRecorder(tokenizer, PROBES)
    recorder.record(small_model(vocab_size=VOCABULARY), 0)
    recorder.replay([], [], "BLEU").save(tmp_path / REPLAY_FILE)
    loaded = load_replay(tmp_path / REPLAY_FILE)
    assert loaded.losses.shape == loaded.scores.shape == (0, 2)


def rewrite(path: Path, **changes) -> None:
    """Write the replay anew with some tensors changed; None takes one out."""
    tensors = {**safetensors.torch.load_file(path), **changes}
    kept = {name: tensor.contiguous() for name, tensor in tensors.items() if tensor is not None}
    safetensors.torch.save_file(kept, path)


def text(value) -> torch.Tensor:
    return torch.tensor(list(json.dumps(value).encode()), dtype=torch.uint8)


def cross(replay: TrainingReplay, **changes) -> torch.Tensor:
    array = replay.trajectories[0].cross.astype(np.float16).copy()
    array[0, 0, 0, 0, 0] = changes.get("value", 0.5)
    return torch.tensor(array)


DAMAGES = {
    "a weight that is no number": lambda replay: {"0/cross": cross(replay, value=float("nan"))},
    "a weight above 1": lambda replay: {"0/cross": cross(replay, value=1.5)},
    "a weight below 0": lambda replay: {"0/cross": cross(replay, value=-0.1)},
    "a map too few": lambda replay: {"0/cross": cross(replay)[:, :, :, :, 1:]},
    "a snapshot too few": lambda replay: {"0/cross": cross(replay)[1:]},
    "other heads": lambda replay: {"0/cross": cross(replay)[:, :, 1:]},
    "no layer": lambda replay: {"0/encoder": torch.zeros(3, 0, 4, *replay.trajectories[0].encoder.shape[3:])},
    "one number": lambda replay: {"0/cross": torch.tensor(0.5)},
    "no maps": lambda replay: {"1/decoder": None},
    "no texts": lambda replay: {"texts": None},
    "texts that are no JSON": lambda replay: {"texts": torch.tensor([255, 1, 2], dtype=torch.uint8)},
    "texts of another kind": lambda replay: {"texts": text([1, 2, 3])},
    "no trajectories": lambda replay: {"texts": text({"score_name": "BLEU", "trajectories": []})},
    "trajectories of another kind": lambda replay: {"texts": text({"score_name": "BLEU", "trajectories": [7]})},
    "deeply nested texts": lambda replay: {"texts": torch.tensor(list(b"[" * 100_000), dtype=torch.uint8)},
    "steps that fall": lambda replay: {"steps": torch.tensor([0, 5, 2])},
    "steps below 0": lambda replay: {"steps": torch.tensor([-1, 2, 5])},
    "steps that are no whole numbers": lambda replay: {"steps": torch.tensor([0.0, 2.5, 5.0])},
    "steps as a table": lambda replay: {"steps": torch.tensor([[0, 2, 5]])},
    "no steps": lambda replay: {"steps": torch.tensor([], dtype=torch.int64)},
    "endless losses": lambda replay: {"losses": torch.tensor([[2.0, float("inf")]])},
    "losses out of order": lambda replay: {"losses": torch.tensor([[4.0, 1.0], [2.0, 1.0]])},
    "scores as a list": lambda replay: {"scores": torch.tensor([1.0, 2.0])},
    "a probability above 1": lambda replay: {
        "0/probabilities": torch.full(replay.trajectories[0].probabilities.shape, 2.0)
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_replay_gets_one_sentence(damage, replay, saved):
    rewrite(saved, **DAMAGES[damage](replay))
    with pytest.raises(CheckpointError, match="is damaged or no training replay") as raised:
        load_replay(saved)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04N.", b"\0" * 1000, struct.pack("<Q", 2**62) + b"{}", b"not a replay"]
)
def test_what_is_no_replay_gets_one_sentence(content, saved):
    saved.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged or no training replay"):
        load_replay(saved)


def test_every_beginning_of_a_replay_is_recognised_as_a_part(saved):
    content = saved.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 40)):
        saved.write_bytes(content[:length])
        with pytest.raises(CheckpointError):
            load_replay(saved)


def test_a_missing_a_misplaced_and_a_huge_replay_get_one_sentence(tmp_path, saved, monkeypatch):
    with pytest.raises(CheckpointError, match="is missing"):
        load_replay(tmp_path / "nowhere" / REPLAY_FILE)
    with pytest.raises(CheckpointError):
        load_replay(tmp_path)
    monkeypatch.setattr("transformer.training.replay._LARGEST_FILE", 1000)
    with pytest.raises(CheckpointError, match="larger than"):
        load_replay(saved)


# The replays that come with the checkpoints

REPLAYS = [path / REPLAY_FILE for path in find_checkpoints(CHECKPOINTS) if (path / REPLAY_FILE).is_file()]


def test_a_replay_comes_with_a_checkpoint():
    assert REPLAYS


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.parent.name)
def test_a_shipped_replay_shows_the_training_of_its_checkpoint_and_is_small(path):
    replay, translator = load_replay(path), Translator.load(path.parent, "cpu")
    assert path.stat().st_size <= 2_000_000
    assert replay.steps[0] == 0 and 20 <= len(replay.steps) <= 25
    given = translator.checkpoint.training.get("earlier_steps", 0)  # of runs that this one went on from
    earlier = given[-1] if isinstance(given, list) else given
    assert replay.steps[-1] == earlier + translator.checkpoint.training["steps"] and (earlier in replay.steps)
    history = [(earlier + row["step"], row["valid_bleu"]) for row in translator.checkpoint.history]
    np.testing.assert_allclose(replay.scores[-len(history) :], history, rtol=1e-5)  # history.csv has six digits
    assert earlier or len(replay.scores) == len(history)
    for trajectory in replay.trajectories:
        trace = translator.trace(trajectory.source_text, target=trajectory.target_text)
        assert (trajectory.source_tokens, trajectory.target_tokens) == (trace.source_tokens, trace.target_tokens)
        for kind in AttentionKind:
            np.testing.assert_allclose(getattr(trajectory, kind).sum(axis=-1), 1, atol=0.005)
        first, last = (np.log(trajectory.probabilities[snapshot] + 1e-4).mean() for snapshot in (0, -1))
        training = translator.checkpoint.training
        least = 0.1 if "warm_start" in training and training.get("replay_start") != "random weights" else 2
        assert last > first + least, "it learns, less where it had before"
