"""Broken and hostile checkpoints: each is refused in one sentence, never with another exception."""

import json
import os
import pickle
import random
import shutil
import struct

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.tiny import VOCABULARY, make_pairs

from transformer.checkpoint import (
    load_checkpoint,
)
from transformer.config import TokenizerConfig
from transformer.data.tokenizer import Tokenizer
from transformer.errors import CheckpointError

FILES = ["config.json", "model.safetensors", "tokenizer.model", "training.json", "history.csv"]


def refusal(folder) -> str:
    """The message with which a folder is refused; it must be one sentence on one line."""
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and 20 < len(message) < 600, message
    assert "Traceback" not in message
    return message


def change_config(folder, **changes) -> None:
    """Change settings of the model in config.json."""
    path = folder / "config.json"
    stored = json.loads(path.read_text())
    stored["model"].update(changes)
    path.write_text(json.dumps(stored))


def change_weights(folder, change) -> None:
    """Let `change` work on the dictionary of stored tensors."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(checkpoint_folder, name):
    (checkpoint_folder / name).unlink()
    assert name in refusal(checkpoint_folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00garbage", random.Random(1).randbytes(200), b"\x00\n" * 2000, b"step\n\xff\n"]
)
def test_a_file_of_garbage_is_named_or_described(checkpoint_folder, name, content):
    (checkpoint_folder / name).write_bytes(content)
    refusal(checkpoint_folder)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_a_files_place_is_refused(checkpoint_folder, name):
    (checkpoint_folder / name).unlink()
    (checkpoint_folder / name).mkdir()
    refusal(checkpoint_folder)


@pytest.mark.parametrize("name", ["config.json", "training.json", "model.safetensors", "tokenizer.model"])
def test_an_empty_file_is_refused(checkpoint_folder, name):
    (checkpoint_folder / name).write_bytes(b"")
    refusal(checkpoint_folder)


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.5, 0.999])
def test_truncated_weights_are_refused(checkpoint_folder, share):
    path = checkpoint_folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert "model.safetensors is damaged" in refusal(checkpoint_folder)


def test_a_header_that_claims_a_gigantic_size_is_refused(checkpoint_folder):
    (checkpoint_folder / "model.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    refusal(checkpoint_folder)


def test_a_pickle_in_disguise_is_refused_and_never_run(checkpoint_folder, tmp_path):
    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "owned"),)

    for name in FILES:
        folder = shutil.copytree(checkpoint_folder, tmp_path / f"attack on {name}")
        (folder / name).write_bytes(pickle.dumps(Attack()))
        refusal(folder)
    torch.save({"a": Attack()}, checkpoint_folder / "model.safetensors")
    refusal(checkpoint_folder)
    assert not (tmp_path / "owned").exists()


def test_a_wrong_shape_is_told_with_both_shapes(checkpoint_folder):
    def transpose(weights):
        name = "encoder.0.feed_forward.inner.weight"
        weights[name] = weights[name].T.contiguous()

    change_weights(checkpoint_folder, transpose)
    message = refusal(checkpoint_folder)
    assert "encoder.0.feed_forward.inner.weight should be 40 x 24 and is 24 x 40" in message


def test_an_extra_name_and_a_missing_name_are_told(checkpoint_folder):
    change_weights(checkpoint_folder, lambda weights: weights.update({"spy.weight": torch.zeros(2)}))
    assert "spy.weight should be absent and is 2" in refusal(checkpoint_folder)
    change_weights(checkpoint_folder, lambda weights: weights.pop("spy.weight"))
    change_weights(checkpoint_folder, lambda weights: weights.pop("decoder.2.feed_forward.outer.bias"))
    assert "decoder.2.feed_forward.outer.bias should be 24 and is absent" in refusal(checkpoint_folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers_are_refused(checkpoint_folder, value):
    def spoil(weights):
        weights["decoder.1.feed_forward.outer.bias"][3] = value

    change_weights(checkpoint_folder, spoil)
    assert "not finite" in refusal(checkpoint_folder)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_weights_of_another_kind_are_refused(checkpoint_folder, dtype):
    change_weights(checkpoint_folder, lambda weights: weights.update({n: w.to(dtype) for n, w in weights.items()}))
    refusal(checkpoint_folder)


@pytest.mark.parametrize("version", [0, 4, "1", None, [1], {"major": 1}, 1.5, 10**400])
def test_another_version_is_named(checkpoint_folder, version):
    path = checkpoint_folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))
    assert "version" in refusal(checkpoint_folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"d_model": 10**15},
        {"d_ff": 2**62},
        {"vocab_size": 10**18},
        {"max_length": 10**12},
        {"num_heads": 7},
        {"num_encoder_layers": 10**9},
        {"num_decoder_layers": -1},
        {"d_model": 65_536, "num_encoder_layers": 100},
        {"d_ff": 262_144, "num_decoder_layers": 100},
        {"num_encoder_layers": "2"},
        {"norm": ["post"]},
        {"dropout": float("nan")},
        {"dropout": None},
        {"share_embeddings": "no"},
        {"layers": 3},
        {"pad_id": 1},
        {"end_id": 5},
        {"d_model": 1e400},
        {"norm": "pre"},
        {"share_embeddings": False},
        {"vocab_size": 91},
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_or_asks_for_the_impossible_is_refused(checkpoint_folder, changes):
    change_config(checkpoint_folder, **changes)
    refusal(checkpoint_folder)


@pytest.mark.parametrize("name", ["config.json", "training.json"])
@pytest.mark.parametrize(
    "content",
    ["[]", "3", "null", '"text"', "[" * 100_000, '{"a":' * 100_000, "{", "1" * 5000, "NaN", "{'a': 1}"],
    ids=lambda content: content[:8],
)
def test_json_of_another_type_or_nested_too_deep_is_refused(checkpoint_folder, name, content):
    (checkpoint_folder / name).write_text(content)
    assert name in refusal(checkpoint_folder)


@pytest.mark.parametrize("model", [None, [], "model", 3, {}, [["d_model", 24]]], ids=str)
def test_a_config_without_a_model_is_refused(checkpoint_folder, model):
    (checkpoint_folder / "config.json").write_text(json.dumps({"version": 1, "model": model}))
    assert "describes no model" in refusal(checkpoint_folder)


@pytest.mark.parametrize(
    "content", ["step,loss\n1,x\n", "step,loss\n1\n", "step,loss\n1,2,3\n", 'a\n"' + "1" * 200_000]
)
def test_a_history_that_is_no_table_of_numbers_is_refused(checkpoint_folder, content):
    (checkpoint_folder / "history.csv").write_text(content)
    assert "history.csv" in refusal(checkpoint_folder)


def test_a_tokenizer_of_another_size_is_refused_with_both_sizes(checkpoint_folder):
    lines = [side for pair in make_pairs(400, 1) for side in pair]
    other = Tokenizer.train(lines, TokenizerConfig(VOCABULARY - 5))
    (checkpoint_folder / "tokenizer.model").write_bytes(other.model)
    message = refusal(checkpoint_folder)
    assert "85 pieces" in message and "the model wants 90" in message


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_tokenizer_cut_short_is_refused(checkpoint_folder, place):
    path = checkpoint_folder / "tokenizer.model"
    path.write_bytes(path.read_bytes()[: int(place * path.stat().st_size)])
    refusal(checkpoint_folder)


def test_a_missing_folder_and_a_file_are_no_checkpoint(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("nowhere", "file"):
        assert f"There is no checkpoint folder {tmp_path / name}" in refusal(tmp_path / name)
