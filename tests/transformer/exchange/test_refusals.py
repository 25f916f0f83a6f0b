"""Folders and checkpoints of imported models that are broken or hostile: each is refused in one sentence."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.families import write_family
from support.marian import write_model
from support.t5 import write_t5

from transformer import Translator
from transformer.__main__ import main
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.errors import CheckpointError, DownloadError
from transformer.exchange.imported_tokenizer import SETTINGS, ImportedTokenizer, Settings
from transformer.exchange.importing import import_checkpoint

FAMILIES = {"t5": write_t5, "flan-t5": write_t5, **dict.fromkeys(("nllb", "mbart", "bart-cnn", "m2m100"), write_family)}
EXTRA = "pip install 'headlight-transformer[import]'"


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """Return a folder with a model of each family, and with its checkpoint."""
    folders = tmp_path_factory.mktemp("sound")
    for family in ("marian", *FAMILIES):
        (folders / family).mkdir()
        if family == "marian":
            write_model(folders / family, activation_function="swish", scale_embedding=True)
        else:
            FAMILIES[family](folders / family, family)
        save_checkpoint(folders / f"{family} checkpoint", import_checkpoint(folders / family), torch.float32)
    return folders


@pytest.fixture
def copied(sound, tmp_path):
    return lambda name: shutil.copytree(sound / name, tmp_path / name)


@pytest.fixture
def folder(copied) -> Path:
    return copied("marian")


def refusal(read, folder) -> str:
    with pytest.raises(CheckpointError) as caught:
        read(folder)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and 20 < len(message) < 400, message
    return message


def change(path: Path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("marian", {"model_type": "umt5"}, "'umt5'; models that can be imported are Marian's"),
        ("marian", {"encoder_attention_heads": 2}, "attention_heads of 2 in the encoder, 4 in the decoder"),
        ("marian", {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": None}, "'decoder_vocab_size'"),
        ("marian", {"encoder_layers": 3}, "lacks the weights 'model.encoder.layers.2"),
        ("mbart", {"normalize_before": False}, "normalize_before = False; only True"),
        ("bart-cnn", {"max_position_embeddings": 41}, "positions.table should be 41 x 24 and is 42 x 24"),
        ("nllb", {"forced_bos_token_id": [3]}, "is no id"),
        ("flan-t5", {"feed_forward_proj": "gated-tanh"}, "activation 'tanh'"),
    ],
    ids=str,
)
def test_a_configuration_that_the_engine_cannot_be_is_named(copied, family, changes, message):
    folder = copied(family)
    change(folder / "config.json", **changes)
    assert message in refusal(import_checkpoint, folder)


@pytest.mark.parametrize("name", ["config.json", "source.spm", "target.spm", "vocab.json", "model.safetensors"])
def test_a_missing_or_damaged_file_is_named(folder, name):
    two_alike = b'{"<pad>": 0, "<unk>": 0, "</s>": 1}'
    (folder / name).write_bytes(two_alike if name == "vocab.json" else b"\xff\xfe garbage")
    assert name in refusal(import_checkpoint, folder)
    (folder / name).unlink()
    assert name.split(".")[0] in refusal(import_checkpoint, folder)


def test_files_of_a_tokenizer_are_required_and_checked(copied):
    nllb, bart, t5 = map(copied, ("nllb", "bart-cnn", "t5"))
    change(nllb / "tokenizer_config.json", extra_special_tokens=7)
    assert "extra_special_tokens must be a list" in refusal(import_checkpoint, nllb)
    (bart / "merges.txt").write_text("a b c\n")
    assert "cannot be read as a tokenizer" in refusal(import_checkpoint, bart)
    (bart / "merges.txt").unlink()
    assert "lacks files of its tokenizer: merges.txt or tokenizer.json" in refusal(import_checkpoint, bart)
    (t5 / "harmful.py").write_text(f"open({str(t5 / 'harm')!r}, 'w')\nclass Harmful: ...\n")
    names = {"auto_map": {"AutoTokenizer": ["harmful.Harmful"] * 2}, "tokenizer_class": "Harmful"}
    change(t5 / "tokenizer_config.json", **names, tokenizer_file="/etc/x")
    assert import_checkpoint(t5).tokenizer.encode("red dog") and not (t5 / "harm").exists(), "its code is not run"
    (t5 / "spiece.model").write_bytes(b"garbage")
    assert "spiece.model is not a SentencePiece model" in refusal(import_checkpoint, t5)


@pytest.mark.parametrize(
    ("name", "change_weight", "message"),
    [
        ("model.encoder.layers.0.fc1.weight", lambda w: w[:-1], "inner.weight should be 36 x 24 and is 35 x 24"),
        ("model.decoder.layers.1.fc2.bias", lambda w: w / 0, "not finite"),
        ("model.encoder.embed_positions.weight", lambda w: torch.randn(40, 24), "not the paper's sinusoids"),
        ("lm_head.weight", lambda w: torch.ones(100, 24), "two embeddings: lm_head.weight"),
    ],
)
def test_weights_that_do_not_fit_are_refused(folder, name, change_weight, message):
    weights = load_file(folder / "model.safetensors")
    weights[name] = change_weight(weights.get(name)).contiguous()
    save_file(weights, folder / "model.safetensors")
    assert message in refusal(import_checkpoint, folder)


def test_code_in_a_pickle_is_not_run(folder, tmp_path):
    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    (folder / "model.safetensors").unlink()
    torch.save({"model.shared.weight": Harmful()}, folder / "pytorch_model.bin")
    assert "pytorch_model.bin" in refusal(import_checkpoint, folder) and not (tmp_path / "harm").exists()


def test_shards_are_one_model_and_an_index_stays_in_its_folder(folder, sound):
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    shards = {f"model-{number}.safetensors": names[number::3] for number in range(3)}
    for shard, some in shards.items():
        save_file({name: weights[name] for name in some}, folder / shard)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {name: shard for shard, some in shards.items() for name in some}}))
    whole, sharded = import_checkpoint(sound / "marian"), import_checkpoint(folder)
    assert all(map(torch.equal, whole.model.parameters(), sharded.model.parameters()))
    (folder / "model-1.safetensors").unlink()
    assert "model-1.safetensors is missing" in refusal(import_checkpoint, folder)
    for name in ("../outside.safetensors", "/etc/passwd", "a/b.safetensors"):
        index.write_text(json.dumps({"weight_map": {"model.shared.weight": name}}))
        assert "outside of its folder" in refusal(import_checkpoint, folder)


def test_a_name_without_a_network_or_the_hubs_package_is_refused(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(DownloadError, match=r"Helsinki-NLP/nothing cannot be fetched from the hub: .+"):
        import_checkpoint("Helsinki-NLP/nothing")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DownloadError, match=r"pip install 'headlight-transformer\[import\]'"):
        import_checkpoint("Helsinki-NLP/nothing")
    with pytest.raises(CheckpointError, match="There is no folder no folder; a name on the hub looks like"):
        import_checkpoint("no folder")


def test_rows_without_pieces_and_a_mask_are_imported(copied):
    """BART's models that were trained to write have no row for <mask>; others are padded to a multiple of eight."""
    bart = copied("bart-cnn")
    path, weights = bart / "vocab.json", load_file(bart / "model.safetensors")
    vocabulary = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**vocabulary, "more": 331}), encoding="utf-8")
    assert "fills 332 rows of a vocabulary of 331" in refusal(import_checkpoint, bart)
    path.write_text(json.dumps({**vocabulary, "added": 330, "<mask>": 331}), encoding="utf-8")
    assert len(import_checkpoint(bart).tokenizer) == 331
    change(bart / "config.json", vocab_size=336)
    weights["model.shared.weight"] = torch.cat([weights["model.shared.weight"], torch.zeros(5, 24)])
    weights["final_logits_bias"] = torch.cat([weights["final_logits_bias"], torch.zeros(1, 5)], dim=1)
    save_file(weights, bart / "model.safetensors")
    tokenizer = import_checkpoint(bart).tokenizer
    assert len(tokenizer) == 336 and tokenizer.piece_text(335) == "<335>" and tokenizer.decode([335]) == ""


def test_the_command_line_imports_translates_and_exports(folder, tmp_path, capsys):
    out = tmp_path / "made" / "checkpoint"
    assert main(["import", str(folder), "--out", str(out)]) == 0
    assert Translator.load(out, "cpu").translate(["red dog"])
    assert main(["export", str(out), "--out", str(tmp_path / "back")]) == 0
    first, second = (load_file(each / "model.safetensors") for each in (folder, tmp_path / "back"))
    assert all(torch.equal(weight, first[name]) for name, weight in second.items())
    capsys.readouterr()
    assert main(["import", str(folder), "--out", str(out)]) == 1 and "there already" in capsys.readouterr().err
    change(folder / "config.json", model_type="t5")
    assert main(["import", str(folder), "--out", str(tmp_path / "new")]) == 1 and not (tmp_path / "new").exists()


@pytest.mark.parametrize("family", ["t5", "bart-cnn", "nllb"])
def test_without_the_library_a_sentence_names_the_extra(sound, family, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert EXTRA in refusal(load_checkpoint, sound / f"{family} checkpoint")
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert EXTRA in refusal(import_checkpoint, sound / family)
    assert import_checkpoint(sound / "marian").tokenizer.encode("red dog")
    assert load_checkpoint(sound / "m2m100 checkpoint").tokenizer.encode("red dog")


def test_missing_files_and_bad_files_of_a_stored_tokenizer_are_named(copied):
    nllb, t5, m2m100 = (copied(f"{family} checkpoint") for family in ("nllb", "t5", "m2m100"))
    settings = (nllb / "imported_tokenizer.json").read_text(encoding="utf-8")
    for changes in ({"languages": {"eng_Latn": 3}}, {"size": 10}, {"unknown": 10**9}, {"before": [True]}, {"more": 1}):
        change(nllb / "imported_tokenizer.json", **changes)
        assert "imported_tokenizer.json" in refusal(load_checkpoint, nllb)
        (nllb / "imported_tokenizer.json").write_text(settings, encoding="utf-8")
    # A regular expression of a file may take time without end.
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    change(nllb / "tokenizer.json", pre_tokenizer=pattern)
    assert "a pattern that no known family has" in refusal(load_checkpoint, nllb)
    (t5 / "tokenizer.json").write_bytes(b'{"version": "1.0", "model": {}}')
    assert "tokenizer.json" in refusal(load_checkpoint, t5)
    (t5 / "imported_tokenizer.json").unlink()
    assert "tokenizer.model" in refusal(load_checkpoint, t5)
    (m2m100 / "source.spm").unlink()
    assert "lacks source.spm" in refusal(load_checkpoint, m2m100)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"before": [3, "x"]}, r"at `\$\.before\[1\]`"),
        ({"pad": True}, r"at `\$\.pad`"),
        ({"after": [10]}, "not in the vocabulary"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_wrong_settings_of_a_tokenizer_are_named_by_their_place(change, reason):
    valid = json.loads(Settings(size=10, target_size=10, pad=0, end=1, unknown=2, before=[3], after=[1]).file)
    with pytest.raises(CheckpointError, match=f"describes no tokenizer: .*{reason}"):
        ImportedTokenizer({SETTINGS: json.dumps(valid | change).encode()}, 1)
