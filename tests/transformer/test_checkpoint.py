"""Checkpoints: what is written is what is read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.models import small_config, small_model
from support.tiny import VOCABULARY

from transformer.checkpoint import Checkpoint, find_checkpoints, load_checkpoint, save_checkpoint
from transformer.files import load_checksummed, save_checksummed, save_tensors, write_atomically
from transformer.interpret.parameters import parameter_rows
from transformer.model.transformer import Transformer

FILES = ["config.json", "model.safetensors", "tokenizer.model", "training.json", "history.csv"]


def test_a_checkpoint_survives_its_files(checkpoint_folder, translator):
    loaded = load_checkpoint(checkpoint_folder)
    assert loaded.model.config == translator.model.config
    assert loaded.tokenizer.model == translator.tokenizer.model
    assert loaded.training == {"steps": 7}
    assert loaded.history == [{"step": 7.0, "valid_loss": 1.5}]
    expected = dict(translator.model.named_parameters())
    for name, parameter in loaded.model.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, expected[name].half().float())


def test_a_checkpoint_in_float32_is_exact(tmp_path, translator):
    save_checkpoint(tmp_path / "exact", Checkpoint(translator.model, translator.tokenizer), torch.float32)
    loaded = load_checkpoint(tmp_path / "exact").model
    assert all(map(torch.equal, loaded.parameters(), translator.model.parameters()))


def test_a_checkpoint_is_five_plain_files_and_the_model_is_in_eval_mode(checkpoint_folder):
    assert sorted(path.name for path in checkpoint_folder.iterdir()) == sorted(FILES)
    assert not load_checkpoint(checkpoint_folder).model.training


@pytest.mark.parametrize("changes", [{"norm": "pre"}, {"share_embeddings": False}])
def test_every_kind_of_model_can_be_kept(tmp_path, tokenizer, changes):
    model = Transformer(small_config(vocab_size=VOCABULARY, **changes))
    save_checkpoint(tmp_path / "kept", Checkpoint(model, tokenizer))
    assert load_checkpoint(tmp_path / "kept").model.config == model.config


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2])
def test_weights_of_another_precision_are_read(checkpoint_folder, dtype):
    path = checkpoint_folder / "model.safetensors"
    save_file({name: weight.to(dtype) for name, weight in load_file(path).items()}, path)
    assert next(load_checkpoint(checkpoint_folder).model.parameters()).dtype == torch.float32


def test_checkpoints_are_found_by_name(checkpoint_folder, tmp_path):
    shutil.copytree(checkpoint_folder, tmp_path / "another")
    (tmp_path / "unfinished").mkdir()
    assert [path.name for path in find_checkpoints(tmp_path)] == ["another", "checkpoint"]
    assert find_checkpoints(tmp_path / "nowhere") == []


def test_scores_are_added_to_training_json_and_kept(checkpoint_folder):
    checkpoint = load_checkpoint(checkpoint_folder)
    checkpoint.add_score(checkpoint_folder, "test.tsv", "greedy", {"bleu": 10.0})
    checkpoint.add_score(checkpoint_folder, "test.tsv", "beam 4", {"bleu": 11.0})
    assert load_checkpoint(checkpoint_folder).training == {
        "steps": 7,
        "scores": {"test.tsv greedy": {"bleu": 10.0}, "test.tsv beam 4": {"bleu": 11.0}},
    }


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_tensors_are_replaced_in_one_piece(tmp_path, monkeypatch):
    path = tmp_path / "weights.safetensors"
    save_tensors(path, {"a": torch.ones(3)})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save_tensors(path, {"a": torch.zeros(3)})
    assert torch.equal(load_file(path)["a"], torch.ones(3))


def test_every_file_can_be_read_by_other_users(checkpoint_folder):
    """A server often runs as another user than the one who trained."""
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in checkpoint_folder.iterdir()} == dict.fromkeys(
        FILES, "0o644"
    )


@pytest.mark.parametrize(
    "training", [{}, {"data": [1], "scores": "many"}, {"data": {"name": 3}, "scores": {"x": {"bleu": "a"}}}]
)
def test_a_strangers_training_notes_may_hold_anything(translator, training):
    checkpoint = Checkpoint(translator.model, translator.tokenizer, training)
    assert checkpoint.data == {} and checkpoint.bleu == {}


def test_reading_a_checkpoint_does_not_read_pytorchs_compiler(checkpoint_folder):
    # Initialising weights on the meta device does, which made a first visit wait 1.5 seconds longer.
    code = f"""
import sys
from transformer import Translator
Translator.load({str(checkpoint_folder)!r}, "cpu")
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0


def test_the_output_projection_keeps_its_first_name_in_files(tmp_path, tokenizer):
    """A checkpoint with embeddings of its own, as every version has written it: its projection is called generator."""
    model = small_model(vocab_size=len(tokenizer), share_embeddings=False)
    save_checkpoint(tmp_path, Checkpoint(model, tokenizer), torch.float32)
    stored = load_file(tmp_path / "model.safetensors")
    assert torch.equal(stored["generator.weight"], model.output_projection.weight)
    assert not any("output_projection" in name for name in stored)
    loaded = load_checkpoint(tmp_path).model
    assert torch.equal(loaded.output_projection.weight, model.output_projection.weight)
    assert {row.name for row in parameter_rows(model)} == stored.keys()


def test_a_checksummed_state_of_before_is_read(tmp_path):
    """Such a file has its checksum over the names as they stand in it."""
    weights = {"weight/generator.weight": torch.arange(6.0).reshape(2, 3), "step/a": torch.tensor(3.0)}
    save_checksummed(tmp_path / "old", weights)
    save_checksummed(
        tmp_path / "new", {name.replace("generator", "output_projection"): w for name, w in weights.items()}
    )
    assert (tmp_path / "old").read_bytes() == (tmp_path / "new").read_bytes()
    assert set(load_checksummed(tmp_path / "old")) == {"weight/output_projection.weight", "step/a"}
