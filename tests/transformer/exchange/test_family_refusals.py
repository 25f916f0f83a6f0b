"""Folders of BART's, mBART's, M2M100's and NLLB's models that cannot be imported, and what is taken with them."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.families import write_family

from transformer.errors import CheckpointError
from transformer.exchange.importing import import_checkpoint


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folders = tmp_path_factory.mktemp("sound")
    for family in ("nllb", "mbart", "bart-cnn"):
        (folders / family).mkdir()
        write_family(folders / family, family)
    return folders


@pytest.fixture
def copied(sound, tmp_path):
    return lambda family: shutil.copytree(sound / family, tmp_path / family)


def refusal(read, folder) -> str:
    with pytest.raises(CheckpointError) as caught:
        read(folder)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and 20 < len(message) < 400, message
    return message


def change(path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


@pytest.mark.parametrize(
    "family, changes, said",
    [
        ("mbart", {"normalize_before": False}, "normalize_before = False; only True"),
        ("bart-cnn", {"static_position_embeddings": True}, "static_position_embeddings = True; only False"),
        ("bart-cnn", {"normalize_embedding": False}, "normalize_embedding = False; only True"),
        ("nllb", {"d_model": 2}, "d_model must be at least 4"),
        ("nllb", {"forced_bos_token_id": [3]}, "is no id"),
        ("nllb", {"decoder_ffn_dim": 40}, "not alike"),
        ("nllb", {"vocab_size": 100}, "does not fit"),
        ("bart-cnn", {"max_position_embeddings": 41}, "positions.table should be 41 x 24 and is 42 x 24"),
        ("bart-cnn", {"vocab_size": 900}, "should be 900 and is 331"),
    ],
)
def test_what_the_engine_cannot_be_is_named(copied, family, changes, said):
    folder = copied(family)
    change(folder / "config.json", **changes)
    assert said in refusal(import_checkpoint, folder)


def test_a_folder_without_its_tokenizer_or_first_token_is_refused(copied):
    nllb, mbart, bart = map(copied, ("nllb", "mbart", "bart-cnn"))
    change(nllb / "tokenizer_config.json", extra_special_tokens=7)
    assert "extra_special_tokens must be a list" in refusal(import_checkpoint, nllb)
    for name in ("config.json", "generation_config.json"):
        change(mbart / name, decoder_start_token_id=None)
    assert "does not say 'decoder_start_token_id'" in refusal(import_checkpoint, mbart)
    (bart / "merges.txt").write_text("a b c\n")
    assert "cannot be read as a tokenizer" in refusal(import_checkpoint, bart)
    (bart / "merges.txt").unlink()
    assert "lacks files of its tokenizer: merges.txt or tokenizer.json" in refusal(import_checkpoint, bart)
    (mbart / "sentencepiece.bpe.model").write_bytes(b"garbage")
    change(mbart / "config.json", decoder_start_token_id=2)
    assert "sentencepiece.bpe.model is not a SentencePiece model" in refusal(import_checkpoint, mbart)


def test_what_older_files_hold_besides_is_left_out(copied):
    folder = copied("nllb")
    weights = load_file(folder / "model.safetensors")
    more = {"model.encoder.version": torch.ones(1), "model.decoder.embed_positions.weights": torch.ones(42, 24)}
    save_file(weights | more, folder / "model.safetensors")
    whole = import_checkpoint(folder)
    assert whole.training["imported"] == {"type": "m2m_100"}
    save_file(weights | {"model.encoder.other": torch.ones(1)}, folder / "model.safetensors")
    assert "no place for: model.encoder.other" in refusal(import_checkpoint, folder)


def test_a_mask_and_rows_without_pieces_are_taken_and_further_pieces_are_not(copied):
    """BART's models that were trained to write have no row for <mask>; others are padded to a multiple of eight."""
    folder = copied("bart-cnn")
    path, weights = folder / "vocab.json", load_file(folder / "model.safetensors")
    vocabulary = json.loads(path.read_text(encoding="utf-8"))
    assert vocabulary["<mask>"] == len(vocabulary) - 1 == 330
    path.write_text(json.dumps({**vocabulary, "more": 331}), encoding="utf-8")
    assert "fills 332 rows of a vocabulary of 331" in refusal(import_checkpoint, folder)
    path.write_text(json.dumps({**vocabulary, "added": 330, "<mask>": 331}), encoding="utf-8")
    assert len(import_checkpoint(folder).tokenizer) == 331
    change(folder / "config.json", vocab_size=336)
    weights["model.shared.weight"] = torch.cat([weights["model.shared.weight"], torch.zeros(5, 24)])
    weights["final_logits_bias"] = torch.cat([weights["final_logits_bias"], torch.zeros(1, 5)], dim=1)
    save_file(weights, folder / "model.safetensors")
    tokenizer = import_checkpoint(folder).tokenizer
    assert len(tokenizer) == 336 and tokenizer.piece_text(335) == "<335>" and tokenizer.decode([335]) == ""
