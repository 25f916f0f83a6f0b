"""Files of imported tokenizers that are damaged, hostile or without their library: each gets one sentence."""

import json
import random
import shutil
import sys

import pytest
import torch
from support.families import write_family
from support.marian import write_model
from support.t5 import write_t5

from transformer.__main__ import main
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.errors import CheckpointError
from transformer.exchange.importing import import_checkpoint

FAMILIES = {"t5": write_t5, "nllb": write_family, "bart": write_family, "m2m100": write_family}
EXTRA = "pip install 'headlight-transformer[import]'"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder per family, in Hugging Face's layout and as a checkpoint."""
    folder = tmp_path_factory.mktemp("made")
    for family, write in FAMILIES.items():
        (folder / family).mkdir()
        write(folder / family, family)
    (folder / "marian").mkdir()
    write_model(folder / "marian", activation_function="swish", scale_embedding=True)
    for family in ("marian", *FAMILIES):
        save_checkpoint(folder / f"{family} checkpoint", import_checkpoint(folder / family), torch.float32)
    return folder


@pytest.fixture
def checkpoint(made, tmp_path):
    return lambda family: shutil.copytree(made / f"{family} checkpoint", tmp_path / family)


def refusal(read, folder) -> str:
    with pytest.raises(CheckpointError) as caught:
        read(folder)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and 20 < len(message) < 400, message
    return message


def change(path, work) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    work(content)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("family", ["t5", "bart", "nllb"])
def test_without_the_library_a_sentence_names_the_extra(made, family, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    folder = made / f"{family} checkpoint"
    assert EXTRA in refusal(load_checkpoint, folder)
    assert main(["translate", "red dog", "--checkpoint", str(folder)]) == 1
    assert EXTRA in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert main(["import", str(made / family), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert EXTRA in said and "Traceback" not in said and not (tmp_path / "out").exists()


def test_marian_needs_no_library_and_m2m100_only_for_its_import(made, monkeypatch):
    for name in ("tokenizers", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    assert import_checkpoint(made / "marian").tokenizer.encode("red dog")
    assert load_checkpoint(made / "m2m100 checkpoint").tokenizer.encode("red dog")
    assert EXTRA in refusal(import_checkpoint, made / "m2m100")


def test_only_plain_files_are_kept(made):
    for family in FAMILIES:
        names = {path.name for path in (made / f"{family} checkpoint").iterdir()}
        own = {"config.json", "training.json", "history.csv", "model.safetensors", "imported_tokenizer.json"}
        assert names - own in ({"tokenizer.json"}, {"source.spm", "vocab.json"})


def test_code_that_a_folder_names_is_not_run(made, tmp_path):
    folder = shutil.copytree(made / "t5", tmp_path / "model")
    (folder / "own.py").write_text(f"open({str(tmp_path / 'harm')!r}, 'w')\nclass Own: ...\n")
    named = {
        "auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]},
        "tokenizer_class": "Own",
        "tokenizer_file": "/etc/x",
    }
    change(folder / "tokenizer_config.json", lambda content: content.update(named))
    assert import_checkpoint(folder).tokenizer.encode("red dog")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"languages": {"eng_Latn": -1}},
        {"languages": {"eng_Latn": 3}},
        {"languages": ["eng_Latn"]},
        {"size": "9"},
        {"size": 10},
        {"unknown": 10**9},
        {"before": [True]},
        {"given": 3},
        {"more": 1},
    ],
)
def test_settings_that_cannot_be_are_refused(checkpoint, changes):
    folder = checkpoint("nllb")
    change(folder / "imported_tokenizer.json", lambda content: content.update(changes))
    assert "imported_tokenizer.json" in refusal(load_checkpoint, folder)


def test_a_pattern_of_its_own_is_refused(checkpoint):
    """A regular expression may take time without end."""
    folder = checkpoint("nllb")
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    change(folder / "tokenizer.json", lambda content: content.update(pre_tokenizer=pattern))
    assert "a pattern that no known family has" in refusal(load_checkpoint, folder)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"model": 3}', b'{"version": "1.0", "model": {}}'])
def test_a_tokenizer_file_that_is_none_is_refused(checkpoint, content):
    folder = checkpoint("t5")
    (folder / "tokenizer.json").write_bytes(content)
    assert "tokenizer.json" in refusal(load_checkpoint, folder)


@pytest.mark.parametrize("family", ["t5", "nllb", "bart"])
def test_damaged_files_load_or_are_refused(checkpoint, family):
    """Each byte that is changed gives a tokenizer that reads a text, or one sentence."""
    chance, folder = random.Random(1), checkpoint(family)
    sound = (folder / "tokenizer.json").read_bytes()
    refused = 0
    for _ in range(40):
        damaged = bytearray(sound)
        for _ in range(chance.choice((1, 1, 5))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        (folder / "tokenizer.json").write_bytes(damaged)
        try:
            load_checkpoint(folder)
        except CheckpointError:
            refused += 1
    assert refused > 10


def test_files_that_are_missing_are_named(checkpoint):
    folder = checkpoint("m2m100")
    (folder / "source.spm").unlink()
    assert "lacks source.spm" in refusal(load_checkpoint, folder)
    folder = checkpoint("t5")
    (folder / "imported_tokenizer.json").unlink()
    assert "tokenizer.model" in refusal(load_checkpoint, folder)
