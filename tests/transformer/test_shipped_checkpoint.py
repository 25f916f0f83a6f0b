"""The checkpoints that come with the repository: complete, small, described, and able to translate."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from support.models import record_one, stitched_while_decoding, zero_ablated
from support.tolerance import near

from transformer import Translator
from transformer.checkpoint import find_checkpoints
from transformer.data.batching import read_samples
from transformer.decoding.sampling import DecodingState
from transformer.model.names import AttentionKind
from transformer.training.replay import REPLAY_FILE, load_replay

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
SENTENCES = {
    "en-de": {
        "I love my teacher.": ("Ich", "Lehrer"),
        "The dog sleeps.": ("Hund",),
        "Where is the book?": ("Wo", "Buch"),
        "I am hungry.": ("Ich", "ung"),
        "We are learning German.": ("Wir", "Deutsch"),
        "She drinks water.": ("Sie", "Wasser"),
    },
    "en-fr": {
        "I love my teacher.": ("J'", "prof"),
        "The dog sleeps.": ("chien",),
        "Where is the book?": ("livre",),
        "I am hungry.": ("faim",),
        "We are learning French.": ("ous", "français"),
        "She drinks water.": ("Elle", "eau"),
    },
    "reverse": {
        "I love my teacher.": (".rehcaet ym evol I",),
        "The dog sleeps.": (".speels god ehT",),
        "Where is the book?": ("?koob eht si erehW",),
        "headlight": ("thgildaeh",),
        "step on no pets": ("step on no pets",),
        "Is it 7 or 8?": ("?8 ro 7 ti sI",),
    },
}


@pytest.fixture(scope="module", params=SENTENCES)
def folder(request) -> Path:
    return CHECKPOINTS / request.param


@pytest.fixture(scope="module")
def shipped(folder) -> Translator:
    return Translator.load(folder, "cpu")


def test_every_checkpoint_that_is_shipped_is_tested():
    assert [path.name for path in find_checkpoints(CHECKPOINTS)] == sorted(SENTENCES)


def test_it_is_complete_and_at_most_40_megabytes(folder):
    names = {"config.json", "model.safetensors", "tokenizer.model", "training.json", "history.csv"}
    assert names <= {path.name for path in folder.iterdir()}
    assert sum((folder / name).stat().st_size for name in names) <= 40e6


def test_it_says_what_it_was_trained_on_and_how_and_how_good_it_is(folder):
    training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    for name in ("name", "licence", "attribution", "source_language", "target_language"):
        assert training["data"][name]
    assert set(training["configuration"]) - {"replay"} == {"model", "tokenizer", "training", "data"}
    assert training["steps"] > 0 and training["seed"] == training["configuration"]["training"]["seed"]
    assert training["device"]
    scored = [score for score in training["scores"].values() if isinstance(score, dict)]
    assert scored, "run evaluate --write on the test pairs"
    assert all(score["bleu"] > 20 and "version:" in score["signature"] for score in scored)


@pytest.mark.parametrize("name", ["en-de", "en-fr"])
def test_its_licence_and_sources_are_the_same_wherever_they_stand(name):
    """In training.json, which the pages and the files made from the weights quote, and in LICENSE and NOTICE."""
    folder = CHECKPOINTS / name
    training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    notice = (folder / "NOTICE").read_text(encoding="utf-8")
    assert "GENERAL PUBLIC LICENSE" in (folder / "LICENSE").read_text(encoding="utf-8")
    named = {line.removeprefix("- ") for line in notice.splitlines() if line.startswith("- ")}
    for data in (training["data"], training["configuration"]["data"]):
        assert data["licence"] == "GPL-3.0-or-later"
        assert set(re.split(r"(?<=\)); ", data["attribution"])) == named
    assert "tatoeba.org" in training["data"]["samples"]


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_it_has_a_replay_of_its_training(name):
    """From step 0 to the end of the training, at most 2 MB; at step 0 it writes no target, in the end at least one."""
    folder = CHECKPOINTS / name
    replay = load_replay(folder / REPLAY_FILE)
    assert (folder / REPLAY_FILE).stat().st_size <= 2e6
    assert replay.steps[0] == 0 and replay.steps[-1] >= 0.9 * replay.losses[-1, 0] and len(replay.steps) >= 20
    warm = "warm_start" in json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert replay.losses[-1, 1] < replay.losses[0, 1] * (0.6 if warm else 0.5), "it learns, less where it had before"
    for trajectory in replay.trajectories:
        assert trajectory.outputs[0] != trajectory.target_text and trajectory.probabilities[-1].mean() > 0.5
    assert any(trajectory.outputs[-1] == trajectory.target_text for trajectory in replay.trajectories)


def test_its_samples_are_pairs_it_was_not_trained_on(shipped, folder):
    assert len(read_samples(folder, shipped.tokenizer, shipped.model.config.max_length)) > 300


def test_its_history_ends_better_than_it_began(shipped, folder):
    """Where it has one validation alone, the one before it is the last of the training that it went on from."""
    history, scores = shipped.checkpoint.history, load_replay(folder / REPLAY_FILE).scores[:, 1]
    assert len(history) == 1 or history[-1]["valid_loss"] < history[0]["valid_loss"]
    assert len(history) > 1 or scores[-1] > scores[-2]


@pytest.mark.parametrize("beam", [1, 4])
def test_it_translates_simple_sentences_sensibly(shipped, folder, beam):
    sentences = SENTENCES[folder.name]
    for (source, words), found in zip(sentences.items(), shipped.translate(list(sentences), beam=beam), strict=True):
        assert all(word in found for word in words), f"{source} -> {found}"
        assert folder.name == "reverse" or found[-1] in ".?!"


def test_its_traces_obey_the_laws(shipped):
    trace = shipped.trace("I love my teacher.")
    assert trace.finished
    for kind in AttentionKind:
        assert trace.attention(kind).sum(-1) == near(1)
    assert (np.triu(trace.decoder, 1) == 0).all()
    with torch.inference_mode():
        plain = shipped.model(torch.tensor([trace.source_ids]), torch.tensor([trace.decoder_input_ids]))[0]
    assert torch.equal(record_one(shipped.model, trace.source_ids, trace.decoder_input_ids).logits, plain)


def test_its_attention_while_decoding_equals_the_replay(shipped):
    source = list(shipped.trace("Where is the book?").source_ids)
    stitched, fed = stitched_while_decoding(shipped.model, source)
    replay = record_one(shipped.model, source, fed)
    for (kind, layer), rows in stitched.items():
        assert rows == near(getattr(replay, kind)[layer])


def test_without_cross_attention_it_no_longer_knows_what_to_say(shipped, folder):
    sentences = list(SENTENCES[folder.name])
    config = shipped.model.config
    heads = [("cross", layer, head) for layer in range(config.num_decoder_layers) for head in range(config.num_heads)]
    with zero_ablated(shipped.model, heads):
        assert len(set(shipped.translate(sentences))) == 1
    assert len(set(shipped.translate(sentences))) == len(sentences)


@pytest.mark.parametrize("sentence", ["I love my teacher.", "I can't swim, and I don't want to learn it."])
def test_the_candidates_of_a_step_are_the_softmax_of_its_cached_logits(shipped, sentence):
    trace = shipped.trace(sentence)
    with torch.inference_mode():
        state = DecodingState(shipped.model, [list(trace.source_ids)], 60)
        for step, fed in enumerate(trace.decoder_input_ids):
            probabilities = state.step(torch.tensor([fed])).softmax(dim=-1)[0].numpy()
            shown = probabilities[trace.candidate_ids[step]]
            assert trace.candidate_probabilities[step] == near(shown)
            assert shown.min() >= np.sort(probabilities)[-10] - 1e-5
