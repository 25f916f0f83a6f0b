"""The film of a training: it keeps what the model itself shows, survives the disk, and does not change the training."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from support.small import random_ids, small_config, small_model
from support.tiny import VOCABULARY

from transformer.checkpoint import find_checkpoints
from transformer.errors import CheckpointError
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer
from transformer.training.replay import FILE, Film, Reel, load_film, moments
from transformer.training.replay_recorder import Camera
from transformer.translator import Translator

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
PROBES = [("red dog tree.", "rot Hund."), ("small blue bird car.", "klein Wagen.")]
LOSSES, SCORES = [(2, 4.5), (4, 3.25)], [(4, 11.5)]


@pytest.fixture(scope="module")
def film(tokenizer) -> Film:
    """Three moments of a model whose weights are made anew for each."""
    camera = Camera(tokenizer, PROBES)
    for step in (0, 2, 5):
        camera.shoot(small_model(seed=step + 1, vocab_size=VOCABULARY), step)
    return camera.film(LOSSES, SCORES, "BLEU")


@pytest.fixture
def saved(film, tmp_path) -> Path:
    path = tmp_path / FILE
    film.save(path)
    return path


def same_reel(one: Reel, other: Reel, tolerance: float) -> None:
    for name in ("source_text", "target_text", "source_tokens", "fed_tokens", "next_tokens", "outputs"):
        assert getattr(one, name) == getattr(other, name), name
    for name in (*AttentionKind, "probabilities"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=tolerance, err_msg=name)


# What a camera keeps


def test_a_moment_is_what_a_trace_of_the_same_weights_shows(film, translator, tokenizer):
    camera = Camera(tokenizer, PROBES)
    camera.shoot(translator.model, 7)
    for reel, (source, target) in zip(camera.film([], [], "BLEU").reels, PROBES, strict=True):
        trace = translator.trace(source, target=target)
        for kind in AttentionKind:
            np.testing.assert_array_equal(getattr(reel, kind)[0], trace.attention(kind))
        np.testing.assert_allclose(reel.probabilities[0], trace.next_probabilities, atol=1e-6)
        tokens = (reel.source_tokens, reel.fed_tokens, reel.next_tokens)
        assert tokens == (trace.source_tokens, trace.fed_tokens, trace.next_tokens)
        assert reel.outputs == (translator.translate([source])[0],)


def test_a_film_has_every_moment_kind_layer_and_head(film):
    assert film.steps.tolist() == [0, 2, 5]
    assert film.losses.tolist() == [list(point) for point in LOSSES] and film.scores.tolist() == [list(SCORES[0])]
    for reel in film.reels:
        source, target = len(reel.source_tokens), len(reel.fed_tokens)
        assert source != target, "so that swapped axes would show"
        assert reel.encoder.shape == (3, 2, 4, source, source)
        assert reel.decoder.shape == (3, 3, 4, target, target)
        assert reel.cross.shape == (3, 3, 4, target, source)
        assert reel.probabilities.shape == (3, target) and len(reel.outputs) == 3
        assert (reel.fed_tokens[0], reel.fed_tokens[1:]) == ("<s>", reel.next_tokens[:-1])
        np.testing.assert_array_equal(np.triu(reel.decoder, 1), 0)
        for kind in AttentionKind:
            np.testing.assert_allclose(getattr(reel, kind).sum(axis=-1), 1, atol=1e-5)
            assert not np.array_equal(getattr(reel, kind)[0], getattr(reel, kind)[1]), "each moment is its own"


def test_a_film_is_shared_and_cannot_be_changed(film, saved):
    for one in (film, load_film(saved)):
        for array in (one.steps, one.losses, one.scores, one.reels[0].cross, one.reels[1].probabilities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


@pytest.mark.parametrize("probes", [[], [("", "rot")], [("red", "")]])
def test_a_probe_without_a_token_cannot_be_filmed(probes, tokenizer):
    with pytest.raises(ValueError, match="probes"):
        Camera(tokenizer, probes)


def test_before_the_first_moment_there_is_no_film(tokenizer):
    with pytest.raises(ValueError, match="no moment"):
        Camera(tokenizer, PROBES).film([], [], "BLEU")


# The training does not notice


def trained(camera: Camera | None) -> Transformer:
    """A model after six steps with dropout, filmed after each one or not."""
    torch.manual_seed(3)
    model = Transformer(small_config(vocab_size=VOCABULARY, dropout=0.3)).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    source, target = random_ids(8, 7, vocab_size=VOCABULARY), random_ids(8, 5, seed=2, vocab_size=VOCABULARY)
    for step in range(6):
        if camera:
            camera.shoot(model, step)
        optimiser.zero_grad()
        model(source, target).sum().backward()
        optimiser.step()
    assert model.training
    return model


def test_a_filmed_training_ends_with_the_same_weights_bit_for_bit(tokenizer):
    plain, filmed = trained(None), trained(Camera(tokenizer, PROBES))
    for (name, one), other in zip(plain.named_parameters(), filmed.parameters(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was_even_when_a_shot_fails(training, tokenizer, monkeypatch):
    model = small_model(vocab_size=VOCABULARY).train(training)
    camera = Camera(tokenizer, PROBES)
    camera.shoot(model, 0)
    assert model.training == training
    monkeypatch.setattr("transformer.training.replay_recorder.decode", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        camera.shoot(model, 1)
    assert model.training == training and camera.steps == [0]


# Which moments


def test_moments_rise_from_0_to_the_last_step_each_about_as_many_times_the_one_before():
    for steps in (1, 7, 24, 100, 650, 5000, 123_456):
        found = moments(steps)
        assert found[0] == 0 and found[-1] == steps and len(found) <= 25
        assert all(type(step) is int for step in found) and (np.diff(found) > 0).all()
    ratios = np.array(found[2:]) / np.array(found[1:-1])
    assert ratios.max() / ratios.min() < 1.05
    assert len(moments(5000)) == 25 and moments(1) == [0, 1] and len(moments(5000, count=7)) == 7


def test_thinning_keeps_every_second_moment_and_the_first(tokenizer, film):
    camera = Camera(tokenizer, PROBES)
    camera.take_up(film, until=5)
    camera.thin()
    thinned = camera.film(LOSSES, SCORES, "BLEU")
    assert thinned.steps.tolist() == [0, 5]
    for one, other in zip(film.reels, thinned.reels, strict=True):
        np.testing.assert_array_equal(one.cross[::2], other.cross)
        assert one.outputs[::2] == other.outputs


def test_a_film_is_taken_up_where_the_training_goes_on(tokenizer, saved):
    loaded, model = load_film(saved), small_model(seed=9, vocab_size=VOCABULARY)
    camera, fresh = Camera(tokenizer, PROBES), Camera(tokenizer, PROBES)
    camera.take_up(loaded, until=3)
    assert camera.steps == [0, 2], "step 5 is done again"
    for each in (camera, fresh):
        each.shoot(model, 4)
    longer, only = camera.film(LOSSES, SCORES, "BLEU"), fresh.film(LOSSES, SCORES, "BLEU")
    for before, now, after in zip(loaded.reels, longer.reels, only.reels, strict=True):
        np.testing.assert_array_equal(now.encoder[:2], before.encoder[:2])
        np.testing.assert_array_equal(now.encoder[2], after.encoder[0])
        assert now.outputs == (*before.outputs[:2], *after.outputs)
        assert now.fed_tokens == before.fed_tokens


def test_a_film_of_other_probes_is_not_taken_up(tokenizer, film):
    with pytest.raises(ValueError, match="other probes"):
        Camera(tokenizer, PROBES[:1]).take_up(film, until=5)


# On disk


def test_a_film_comes_back_from_disk_as_it_was(film, saved):
    loaded = load_film(saved)
    for name in ("steps", "losses", "scores"):
        np.testing.assert_array_equal(getattr(film, name), getattr(loaded, name))
    assert (loaded.score_name, len(loaded.reels)) == ("BLEU", 2)
    for one, other in zip(film.reels, loaded.reels, strict=True):
        same_reel(one, other, tolerance=0.0003)
    assert list(saved.parent.iterdir()) == [saved], "no part is left lying about"


def test_any_text_survives(film, tmp_path):
    reel = film.reels[0]
    outputs = ("", "<img src=x onerror=alert(1)>\n\0", "größer “👩‍🏫” \u202e")
    odd = Film(film.steps, (Reel(**{**vars(reel), "outputs": outputs}),), film.losses, film.scores, "exact match")
    odd.save(tmp_path / FILE)
    loaded = load_film(tmp_path / FILE)
    assert loaded.reels[0].outputs == outputs and loaded.score_name == "exact match"


def test_a_film_without_losses_or_scores_yet_is_a_film(film, tmp_path, tokenizer):
    camera = Camera(tokenizer, PROBES)
    camera.shoot(small_model(vocab_size=VOCABULARY), 0)
    camera.film([], [], "BLEU").save(tmp_path / FILE)
    loaded = load_film(tmp_path / FILE)
    assert loaded.losses.shape == loaded.scores.shape == (0, 2)


def rewrite(path: Path, **changes) -> None:
    """Write the film anew with some tensors changed; None takes one out."""
    tensors = {**safetensors.torch.load_file(path), **changes}
    kept = {name: tensor.contiguous() for name, tensor in tensors.items() if tensor is not None}
    safetensors.torch.save_file(kept, path)


def text(value) -> torch.Tensor:
    return torch.tensor(list(json.dumps(value).encode()), dtype=torch.uint8)


def cross(film: Film, **changes) -> torch.Tensor:
    array = film.reels[0].cross.astype(np.float16).copy()
    array[0, 0, 0, 0, 0] = changes.get("value", 0.5)
    return torch.tensor(array)


DAMAGES = {
    "a weight that is no number": lambda film: {"0/cross": cross(film, value=float("nan"))},
    "a weight above 1": lambda film: {"0/cross": cross(film, value=1.5)},
    "a weight below 0": lambda film: {"0/cross": cross(film, value=-0.1)},
    "a map too few": lambda film: {"0/cross": cross(film)[:, :, :, :, 1:]},
    "a moment too few": lambda film: {"0/cross": cross(film)[1:]},
    "other heads": lambda film: {"0/cross": cross(film)[:, :, 1:]},
    "no layer": lambda film: {"0/encoder": torch.zeros(3, 0, 4, *film.reels[0].encoder.shape[3:])},
    "one number": lambda film: {"0/cross": torch.tensor(0.5)},
    "no maps": lambda film: {"1/decoder": None},
    "no texts": lambda film: {"texts": None},
    "texts that are no JSON": lambda film: {"texts": torch.tensor([255, 1, 2], dtype=torch.uint8)},
    "texts of another kind": lambda film: {"texts": text([1, 2, 3])},
    "no reels": lambda film: {"texts": text({"score_name": "BLEU", "reels": []})},
    "reels of another kind": lambda film: {"texts": text({"score_name": "BLEU", "reels": [7]})},
    "deeply nested texts": lambda film: {"texts": torch.tensor(list(b"[" * 100_000), dtype=torch.uint8)},
    "steps that fall": lambda film: {"steps": torch.tensor([0, 5, 2])},
    "steps below 0": lambda film: {"steps": torch.tensor([-1, 2, 5])},
    "steps that are no whole numbers": lambda film: {"steps": torch.tensor([0.0, 2.5, 5.0])},
    "steps as a table": lambda film: {"steps": torch.tensor([[0, 2, 5]])},
    "no steps": lambda film: {"steps": torch.tensor([], dtype=torch.int64)},
    "endless losses": lambda film: {"losses": torch.tensor([[2.0, float("inf")]])},
    "losses out of order": lambda film: {"losses": torch.tensor([[4.0, 1.0], [2.0, 1.0]])},
    "scores as a list": lambda film: {"scores": torch.tensor([1.0, 2.0])},
    "a probability above 1": lambda film: {"0/probabilities": torch.full(film.reels[0].probabilities.shape, 2.0)},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_film_gets_one_sentence(damage, film, saved):
    rewrite(saved, **DAMAGES[damage](film))
    with pytest.raises(CheckpointError, match="is damaged or no film") as raised:
        load_film(saved)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"\x80\x04N.", b"\0" * 1000, struct.pack("<Q", 2**62) + b"{}", b"not a film"])
def test_what_is_no_film_gets_one_sentence(content, saved):
    saved.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged or no film"):
        load_film(saved)


def test_every_beginning_of_a_film_is_recognised_as_a_part(saved):
    content = saved.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 40)):
        saved.write_bytes(content[:length])
        with pytest.raises(CheckpointError):
            load_film(saved)


def test_a_missing_a_misplaced_and_a_huge_film_get_one_sentence(tmp_path, saved, monkeypatch):
    with pytest.raises(CheckpointError, match="is missing"):
        load_film(tmp_path / "nowhere" / FILE)
    with pytest.raises(CheckpointError):
        load_film(tmp_path)
    monkeypatch.setattr("transformer.training.replay._LARGEST_FILE", 1000)
    with pytest.raises(CheckpointError, match="larger than"):
        load_film(saved)


# The films that come with the checkpoints

FILMS = [path / FILE for path in find_checkpoints(CHECKPOINTS) if (path / FILE).is_file()]


def test_a_film_comes_with_a_checkpoint():
    assert FILMS


@pytest.mark.parametrize("path", FILMS, ids=lambda path: path.parent.name)
def test_a_shipped_film_shows_the_training_of_its_checkpoint_and_is_small(path):
    film, translator = load_film(path), Translator.load(path.parent, "cpu")
    assert path.stat().st_size <= 2_000_000
    assert film.steps[0] == 0 and 20 <= len(film.steps) <= 25
    assert film.steps[-1] == translator.checkpoint.training["steps"]
    history = [(row["step"], row["valid_bleu"]) for row in translator.checkpoint.history]
    np.testing.assert_allclose(film.scores, history, rtol=1e-5)  # history.csv has six digits
    for reel in film.reels:
        trace = translator.trace(reel.source_text, target=reel.target_text)
        assert (reel.source_tokens, reel.next_tokens) == (trace.source_tokens, trace.next_tokens)
        for kind in AttentionKind:
            np.testing.assert_allclose(getattr(reel, kind).sum(axis=-1), 1, atol=0.005)
        first, last = (np.log(reel.probabilities[moment] + 1e-4).mean() for moment in (0, -1))
        assert last > first + 2, "it learns"
