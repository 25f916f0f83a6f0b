"""Folders that cannot be imported, broken or hostile: each is refused in one sentence, and nothing is left behind."""

import json
import os
import pickle
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.marian import write_model

from transformer import __main__ as command_line
from transformer.errors import CheckpointError, DownloadError
from transformer.exchange.importing import import_checkpoint


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    write_model(folder, activation_function="swish", scale_embedding=True)
    return folder


@pytest.fixture
def folder(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "model")


def refusal(folder) -> str:
    with pytest.raises(CheckpointError) as caught:
        import_checkpoint(folder)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and 20 < len(message) < 400, message
    return message


def change(folder, name: str = "config.json", **changes) -> None:
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(content | changes))


def change_weights(folder, work) -> None:
    weights = load_file(folder / "model.safetensors")
    work(weights)
    save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"model_type": "umt5"}, "'umt5', which cannot be imported: each of its layers has a bias of its own"),
        ({"model_type": None}, "None"),
        ({"encoder_attention_heads": 2}, "attention_heads of 2 in the encoder, 4 in the decoder"),
        ({"decoder_ffn_dim": 40}, "ffn_dim of 36 in the encoder, 40 in the decoder"),
        ({"activation_function": "tanh"}, "tanh"),
        ({"activation_function": ["relu"]}, "activation"),
        ({"normalize_before": True}, "normalize_before = True"),
        ({"share_encoder_decoder_embeddings": False, "decoder_vocab_size": None}, "does not say 'decoder_vocab_size'"),
        ({"d_model": 10**9}, "d_model"),
        ({"d_model": "24"}, "d_model"),
        ({"d_model": 26, "encoder_attention_heads": 2, "decoder_attention_heads": 2}, "do not fit"),
        ({"encoder_layers": 3}, "lacks the weights 'model.encoder.layers.2"),
        ({"encoder_layers": 1}, "no place for"),
        ({"pad_token_id": 3}, "padding"),
        ({"eos_token_id": [0, 1]}, "eos_token_id|end_id"),
        ({"vocab_size": 10}, "vocabulary|vocab"),
    ],
)
def test_what_the_engine_cannot_be_is_named(folder, changes, said):
    change(folder, **changes)
    with pytest.raises(CheckpointError, match=said):
        import_checkpoint(folder)
    refusal(folder)


@pytest.mark.parametrize("name", ["config.json", "source.spm", "target.spm", "vocab.json", "model.safetensors"])
def test_a_missing_or_damaged_file_is_refused(folder, name):
    (folder / name).write_bytes(b"\xff\xfe garbage")
    assert name in refusal(folder)
    (folder / name).unlink()
    assert name.split(".")[0] in refusal(folder)


@pytest.mark.parametrize(
    "vocabulary", [[], {"a": 0}, {"<pad>": 0, "<unk>": 0, "</s>": 1}, {"<pad>": "0"}, {"<pad>": True}, {"<pad>": 5}]
)
def test_a_vocabulary_that_is_none_is_refused(folder, vocabulary):
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    assert "vocab.json" in refusal(folder)


def test_weights_that_do_not_fit_are_refused(folder):
    def widen(weights):
        weights["model.encoder.layers.0.fc1.weight"] = torch.zeros(37, 24)

    change_weights(folder, widen)
    assert "feed_forward.inner.weight should be 36 x 24 and is 37 x 24" in refusal(folder)


def test_numbers_that_are_not_finite_are_refused(folder):
    change_weights(folder, lambda weights: weights["model.decoder.layers.1.fc2.bias"].fill_(float("nan")))
    assert "not finite" in refusal(folder)


def test_positions_that_are_not_the_sinusoids_are_refused(folder):
    def learn(weights):
        weights["model.encoder.embed_positions.weight"] = torch.randn(40, 24)

    change_weights(folder, learn)
    assert "not the paper's sinusoids" in refusal(folder)


def test_two_embeddings_are_refused(folder):
    def untie(weights):
        weights["lm_head.weight"] = weights["model.shared.weight"] + 1

    change_weights(folder, untie)
    assert "two embeddings: lm_head.weight" in refusal(folder)


class Harmful:
    """What a hostile file would do while it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("write", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))])
def test_code_in_a_pickle_is_not_run(folder, tmp_path, write):
    (folder / "model.safetensors").unlink()
    write({"model.shared.weight": Harmful(tmp_path / "harm")}, folder / "pytorch_model.bin")
    assert "pytorch_model.bin" in refusal(folder)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/passwd", "..", "", "a/b.safetensors"])
def test_an_index_that_leaves_the_folder_is_refused(folder, tmp_path, name):
    shutil.move(folder / "model.safetensors", tmp_path / "outside.safetensors")
    index = {"weight_map": {"model.shared.weight": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "outside of its folder" in refusal(folder)


def test_shards_are_one_model(folder, sound):
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    shards = {f"model-{number}.safetensors": names[number::3] for number in range(3)}
    for shard, own in shards.items():
        save_file({name: weights[name] for name in own}, folder / shard)
    index = {"weight_map": {name: shard for shard, own in shards.items() for name in own}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    whole, sharded = import_checkpoint(sound), import_checkpoint(folder)
    for one, other in zip(whole.model.parameters(), sharded.model.parameters(), strict=True):
        assert torch.equal(one, other)
    (folder / "model-1.safetensors").unlink()
    assert "model-1.safetensors is missing" in refusal(folder)


def test_a_name_without_a_network_or_the_hubs_package_gets_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DownloadError, match=r"Helsinki-NLP/nothing cannot be fetched from the hub: .+"):
        import_checkpoint("Helsinki-NLP/nothing")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DownloadError, match=r"pip install 'headlight-transformer\[import\]'"):
        import_checkpoint("Helsinki-NLP/nothing")
    with pytest.raises(CheckpointError, match="There is no folder ../../x"):
        import_checkpoint("../../x")


def test_the_command_line_imports_translates_and_exports(folder, tmp_path, capsys):
    out = tmp_path / "made" / "checkpoint"
    assert command_line.main(["import", str(folder), "--out", str(out)]) == 0
    assert {file.name for file in out.iterdir()} >= {"config.json", "model.safetensors", "vocab.json", "source.spm"}
    assert command_line.main(["export", str(out), "--out", str(tmp_path / "back")]) == 0
    first, second = (load_file(each / "model.safetensors") for each in (folder, tmp_path / "back"))
    for name, weight in second.items():
        assert torch.equal(weight, first[name]), name
    capsys.readouterr()
    assert command_line.main(["import", str(folder), "--out", str(out)]) == 1
    assert "there already" in capsys.readouterr().err
    change(folder, model_type="t5")
    assert command_line.main(["import", str(folder), "--out", str(tmp_path / "new" / "other")]) == 1
    assert capsys.readouterr().err.startswith("headlight: ")
    assert not (tmp_path / "new").exists() or not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize("name", ["source.spm", "target.spm"])
@pytest.mark.parametrize("content", [b"", b"no model"])
def test_a_tokenizer_that_is_none_is_named(folder, name, content):
    (folder / name).write_bytes(content)
    assert refusal(folder) == f"{name} is not a SentencePiece model."
