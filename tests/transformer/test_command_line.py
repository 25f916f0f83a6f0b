"""The command line: translations, scores, traces, measurements over a corpus, and refusals."""

import dataclasses
import io
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support.tiny import make_pairs, write_pairs
from support.tolerance import near

import transformer
from headlight.__main__ import main
from transformer import Beam, Greedy, Translator
from transformer.commands import corpus
from transformer.evaluation import score

pytestmark = pytest.mark.usefixtures("command_line")


def translate(monkeypatch, folder: Path, text: bytes, *options: str) -> int:
    """Run `translate` with these bytes on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="ascii"))
    return main(["translate", "--checkpoint", str(folder), *options])


def test_sentences_on_the_command_line_need_no_checkpoint_and_no_standard_input(
    capsys, checkpoints, tmp_path, monkeypatch
):
    """In any folder: the default, and a shipped checkpoint by its name; a folder of that name comes first."""
    monkeypatch.chdir(tmp_path)
    texts = ["I love my teacher.", "The dog is old."]
    for name, options in (("en-de", []), ("en-fr", ["--checkpoint", "en-fr"])):
        assert main(["translate", *texts, *options]) == 0
        expected = Translator.load(checkpoints / name, "cpu").translate(texts)
        assert capsys.readouterr().out.splitlines() == expected
    (tmp_path / "en-fr").mkdir()
    assert main(["translate", *texts, "--checkpoint", "en-fr"]) == 1
    assert "config.json" in capsys.readouterr().err


def test_trace_writes_every_weight_without_pickle(capsys, trained_folder, tmp_path):
    out, target = tmp_path / "trace.npz", "Haus rot Haus."
    arguments = ["--checkpoint", str(trained_folder), "--out", str(out), "--target", target]
    assert main(["trace", "big old tree.", *arguments]) == 0
    expected = Translator.load(trained_folder, "cpu").trace("big old tree.", target=target)
    assert capsys.readouterr().out.strip() == expected.target_text
    with np.load(out, allow_pickle=False) as trace:
        for name in ("encoder", "decoder", "cross"):
            assert trace[name] == near(getattr(expected, name))


def test_mistakes_are_one_line_and_status_one(capsys, trained_folder, tmp_path):
    model, out = ["--checkpoint", str(trained_folder)], ["--out", str(tmp_path / "t.npz")]
    long = write_pairs(tmp_path / "long.tsv", [("red dog.", "rot Hund."), ("red " * 99, "rot")])
    nothing = ["--data", "none", "--valid", "none", "--out", str(tmp_path / "c")]
    for arguments, message in [
        (["trace", "red", *model, "--out", str(tmp_path)], "cannot be written"),
        (["trace", "red", "--checkpoint", str(tmp_path / "no"), *out], "There is no checkpoint folder"),
        (["trace", "red", *model, *out, "--device", "abacus"], "There is no device"),
        (["evaluate", *model, "--pairs", str(long)], "Pair 2 of"),
        (["train", str(tmp_path / "no.toml"), *nothing], "There is no configuration"),
        (["train", "en-dee", *nothing], "shipped: en-de, en-de-everyday, en-fr, "),
        (["trace", "red", "--checkpoint", "en-xx", *out], "en-xx; those of these names are shipped: en-de, en-fr, rev"),
    ]:
        assert main(arguments) == 1
        error = capsys.readouterr().err.strip().splitlines()
        assert len(error) == 1 and error[0].startswith("headlight: ") and message in error[0]


@pytest.mark.parametrize("beam", [1, 3])
def test_translate_keeps_the_order_and_blank_lines_and_names_lines_that_are_too_long(
    monkeypatch, capsys, trained_folder, beam
):
    sources = [source for source, _ in make_pairs(6, 5)]
    expected = Translator.load(trained_folder, "cpu").translate(sources, beam=beam)
    text = "\n".join([sources[0], "", *sources[1:3], "red " * 500, "x" * 1_000_000, *sources[3:]])
    assert translate(monkeypatch, trained_folder, text.encode(), "--beam", str(beam)) == 1
    printed = capsys.readouterr()
    assert printed.out.split("\n") == [expected[0], "", *expected[1:3], "", "", *expected[3:], ""]
    assert "line 5: " in printed.err and "line 6: " in printed.err


@pytest.mark.parametrize(
    "text", [b"", b"\xff\xfe red\n", "🙂 日本\n".encode(), b"red\0dog\n", b"no end of line", b"red\rdog\r\n"]
)
def test_any_bytes_give_as_many_lines_as_they_have(monkeypatch, capsys, trained_folder, text):
    assert translate(monkeypatch, trained_folder, text) == 0
    assert capsys.readouterr().out.count("\n") == bool(text)


def test_evaluate_prints_and_writes_the_score_of_each_decoding(capsys, trained_folder, tmp_path):
    folder, pairs = shutil.copytree(trained_folder, tmp_path / "checkpoint"), make_pairs(9, 8)
    command = ["evaluate", "--checkpoint", str(folder), "--pairs", str(write_pairs(tmp_path / "test.tsv", pairs))]
    before = (folder / "training.json").read_text()
    assert main(command) == 0 and (folder / "training.json").read_text() == before
    for options, strategy, name in (
        ([], Greedy(), "greedy"),
        (["--tokenized"], Greedy(), "tokenized greedy"),
        (["--beam", "2"], Beam(2), "beam 2"),
        (["--beam", "3", "--alpha", "1", "--penalty", "length"], Beam(3, 1.0, "length"), "beam 3, length^1"),
    ):
        assert main([*command, "--write", *options]) == 0
        result = json.loads(capsys.readouterr().out.splitlines()[-1])
        translations = Translator.load(folder, "cpu").translate([source for source, _ in pairs], strategy=strategy)
        expected = score(translations, [target for _, target in pairs], "none" if "--tokenized" in options else "13a")
        assert result.items() >= dataclasses.asdict(expected).items() and result["seconds"] > 0
        stored = json.loads((folder / "training.json").read_text())["scores"][f"test.tsv {name}"]
        assert stored == {key: result[key] for key in stored}
    for wrong in (["--alpha", "-1"], ["--alpha", "nan"], ["--penalty", "evil"], ["--beam", "0"], ["--beam", "101"]):
        with pytest.raises(SystemExit):
            main([*command, *wrong])


INSTALLED = Path(transformer.__file__).parent


def measure(command: str, folder: Path, pairs: Path, *more: object) -> int:
    return main([command, "--checkpoint", str(folder), "--pairs", str(pairs), "--workers", "1", *map(str, more)])


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    checkpoint_folder, tmp_path, monkeypatch, capsys
):
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3))
    monkeypatch.setattr(corpus, "measure_corpus", lambda *_: pytest.fail("it was measured"))
    installed = "in the installed package, whose files stay as they came: "
    for out, words in (
        (tmp_path / "none" / "x.json", "none is no folder."),
        (tmp_path, "is a folder: name a file."),
        (INSTALLED / "checkpoints" / "x.json", f"{installed}say with --out"),
    ):
        assert measure("importance", checkpoint_folder, pairs, "--out", out) == 1
        assert words in capsys.readouterr().err.splitlines()[-1]
        assert out.is_dir() or not out.exists()
    assert main(["evaluate", "--checkpoint", str(INSTALLED / "x"), "--pairs", str(pairs), "--write"]) == 1
    assert f"{installed}copy the checkpoint first" in capsys.readouterr().err


def test_a_command_of_one_process_is_refused_under_torchrun(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["translate", "a"]) == 1
    message = "headlight: `translate` runs in one process: start it without torchrun."
    assert capsys.readouterr().err.splitlines() == [message]
