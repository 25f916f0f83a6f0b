"""Checkpoints: reading is the inverse of writing, broken ones are refused in one sentence, shipped ones translate."""

import json
import os
import pickle
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.models import small_config, small_model
from support.tiny import VOCABULARY, make_pairs

from transformer import Translator
from transformer.checkpoint import Checkpoint, find_checkpoints, load_checkpoint, save_checkpoint
from transformer.config import TokenizerConfig
from transformer.data.batching import read_samples
from transformer.data.pairs import read_pairs
from transformer.data.tokenizer import Tokenizer
from transformer.errors import CheckpointError
from transformer.evaluation import score
from transformer.files import load_checksummed, save_checksummed, write_atomically
from transformer.model.transformer import Transformer

FILES = ["config.json", "model.safetensors", "tokenizer.model", "training.json", "history.csv"]


def test_a_checkpoint_survives_its_files(checkpoint_folder, translator):
    loaded = load_checkpoint(checkpoint_folder)
    assert loaded.model.config == translator.model.config
    assert loaded.tokenizer.model == translator.tokenizer.model
    assert loaded.training == {"steps": 7}
    assert loaded.history == [{"step": 7.0, "valid_loss": 1.5}] and not loaded.model.training
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in checkpoint_folder.iterdir()}
    assert modes == dict.fromkeys(FILES, "0o644"), "a server may run as another user than the training"
    expected = dict(translator.model.named_parameters())
    for name, parameter in loaded.model.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, expected[name].half().float())
    save_checkpoint(checkpoint_folder, Checkpoint(translator.model, translator.tokenizer), torch.float32)
    exact = load_checkpoint(checkpoint_folder).model
    assert all(map(torch.equal, exact.parameters(), translator.model.parameters()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2])
def test_weights_of_another_precision_are_read(checkpoint_folder, dtype):
    path = checkpoint_folder / "model.safetensors"
    save_file({name: weight.to(dtype) for name, weight in load_file(path).items()}, path)
    assert next(load_checkpoint(checkpoint_folder).model.parameters()).dtype == torch.float32


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_the_output_projection_keeps_its_first_name_in_files(tmp_path, tokenizer):
    """A checkpoint with embeddings of its own, as every version has written it: its projection is called generator."""
    model = small_model(vocab_size=len(tokenizer), share_embeddings=False)
    save_checkpoint(tmp_path, Checkpoint(model, tokenizer), torch.float32)
    stored = load_file(tmp_path / "model.safetensors")
    assert torch.equal(stored["generator.weight"], model.output_projection.weight)
    assert not any("output_projection" in name for name in stored)
    loaded = load_checkpoint(tmp_path).model
    assert torch.equal(loaded.output_projection.weight, model.output_projection.weight)


def test_an_older_checksummed_state_is_read(tmp_path):
    """Such a file has its checksum over the names as they stand in it."""
    weights = {"weight/generator.weight": torch.arange(6.0).reshape(2, 3), "step/a": torch.tensor(3.0)}
    save_checksummed(tmp_path / "old", weights)
    save_checksummed(
        tmp_path / "new", {name.replace("generator", "output_projection"): w for name, w in weights.items()}
    )
    assert (tmp_path / "old").read_bytes() == (tmp_path / "new").read_bytes()
    assert set(load_checksummed(tmp_path / "old")) == {"weight/output_projection.weight", "step/a"}


def refusal(folder) -> str:
    """Return the message with which a folder is refused, one sentence on one line."""
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and 20 < len(message) < 600, message
    return message


def test_a_pickle_in_disguise_is_refused_and_never_run(checkpoint_folder, tmp_path):
    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "owned"),)

    for name in FILES:
        folder = shutil.copytree(checkpoint_folder, tmp_path / f"attack on {name}")
        (folder / name).write_bytes(pickle.dumps(Attack()))
        refusal(folder)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "changes",
    [{"d_model": 65_536, "num_encoder_layers": 100}, {"norm": "pre"}, {"share_embeddings": False}, {"end_id": 5}],
    ids=str,
)
def test_a_config_that_does_not_fit_or_is_impossible_is_refused(checkpoint_folder, changes):
    path = checkpoint_folder / "config.json"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | {"model": stored["model"] | changes}))
    refusal(checkpoint_folder)
    for version in (0, 5, "1", None):
        path.write_text(json.dumps(stored | {"version": version}))
        assert "version" in refusal(checkpoint_folder)


def test_a_tokenizer_of_another_size_is_refused_with_both_sizes(checkpoint_folder):
    lines = [side for pair in make_pairs(400, 1) for side in pair]
    other = Tokenizer.train(lines, TokenizerConfig(VOCABULARY - 5))
    (checkpoint_folder / "tokenizer.model").write_bytes(other.model)
    message = refusal(checkpoint_folder)
    assert "85 pieces" in message and "the model wants 90" in message
    for content, words in (("[]", "JSON"), ('{"version": 1, "model": [3]}', "describes no model")):
        (checkpoint_folder / "config.json").write_text(content)
        assert words in refusal(checkpoint_folder)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_or_misplaced_file_is_refused(checkpoint_folder, name):
    assert f"There is no checkpoint folder {checkpoint_folder / name}" in refusal(checkpoint_folder / name)
    path = checkpoint_folder / name
    path.unlink()
    assert name in refusal(checkpoint_folder)
    path.mkdir()
    refusal(checkpoint_folder)


OUTER, INNER = "decoder.2.feed_forward.outer.bias", "encoder.0.feed_forward.inner.weight"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (INNER, lambda weight: weight.T, f"{INNER} should be 40 x 24 and is 24 x 40"),
        ("spy.weight", lambda weight: torch.zeros(2), "spy.weight should be absent and is 2"),
        (OUTER, lambda weight: None, f"{OUTER} should be 24 and is absent"),
        (OUTER, lambda weight: weight / 0, "not finite"),
        (OUTER, lambda weight: weight.long(), "not finite"),
    ],
)
def test_weights_of_another_name_shape_or_type_are_refused(checkpoint_folder, name, change, message):
    path = checkpoint_folder / "model.safetensors"
    weights = load_file(path)
    changed = {**weights, name: change(weights.get(name))}
    save_file({each: weight.contiguous() for each, weight in changed.items() if weight is not None}, path)
    assert message in refusal(checkpoint_folder)


CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"


@pytest.fixture(scope="module", params=["en-de", "en-fr", "reverse"])
def folder(request) -> Path:
    return CHECKPOINTS / request.param


@pytest.fixture(scope="module")
def shipped(folder) -> Translator:
    return Translator.load(folder, "cpu")


def test_a_shipped_checkpoint_is_complete_and_at_most_40_megabytes(folder, shipped):
    names = {"config.json", "model.safetensors", "tokenizer.model", "training.json", "history.csv"}
    assert names <= {path.name for path in folder.iterdir()}
    assert sum((folder / name).stat().st_size for name in names) <= 40e6
    assert [path.name for path in find_checkpoints(CHECKPOINTS)] == ["en-de", "en-fr", "reverse"]
    assert len(read_samples(folder, shipped.tokenizer, shipped.model.config.max_length)) > 300


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


@pytest.mark.parametrize("beam", [1, 4])
def test_a_shipped_checkpoint_translates_its_samples_well(shipped, folder, beam):
    sources, targets = zip(*read_pairs(folder / "samples.tsv")[:40], strict=True)
    assert score(shipped.translate(sources, beam=beam), targets).bleu > (95 if folder.name == "reverse" else 30)


@pytest.mark.parametrize(
    "training",
    [
        {},
        {"configuration": {"training": []}},
        {"configuration": {"training": {"schedule": "noam"}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": "many"}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": 0}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": 9, "unheard_of": 1}}},
    ],
)
def test_settings_that_a_checkpoint_does_not_have_are_not_invented(training, tokenizer):
    checkpoint = Checkpoint(Transformer(small_config()), tokenizer, training)
    assert checkpoint.settings("schedule", "warmup_steps") is None
    checkpoint.training["configuration"] = {"training": {"schedule": "constant", "warmup_steps": 9}}
    assert checkpoint.settings("schedule", "warmup_steps").warmup_steps == 9
    assert checkpoint.settings("rate_factor") is None, "a default is no setting of the checkpoint"
