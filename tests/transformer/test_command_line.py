"""The command line, in this process; test_killed.py starts it as a user does."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from support.tiny import make_pairs, tiny_experiment, write_pairs, write_toml
from support.tolerance import near

from headlight.__main__ import main
from transformer import Beam, Translator
from transformer.evaluation import score

pytestmark = pytest.mark.usefixtures("command_line")


def translate(monkeypatch, folder: Path, text: bytes, *options: str) -> int:
    """Run `translate` with these bytes on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="ascii"))
    return main(["translate", "--checkpoint", str(folder), *options])


def train_arguments(folder: Path, out: str, **training) -> list[str]:
    """The arguments of a short training run; its files are written to `folder`."""
    config = write_toml(folder / "tiny.toml", tiny_experiment(**training))
    data, valid = write_pairs(folder / "a.tsv", make_pairs(400, 1)), write_pairs(folder / "b.tsv", make_pairs(9, 2))
    return ["train", str(config), "--data", str(data), "--valid", str(valid), "--out", str(folder / out)]


def test_translate_keeps_the_order_and_blank_lines(monkeypatch, capsys, trained_folder):
    sources = [source for source, _ in make_pairs(6, 5)]
    expected = Translator.load(trained_folder, "cpu").translate(sources)
    text = "\n".join([sources[0], "", *sources[1:3], "   ", "", *sources[3:]]) + "\n"
    assert translate(monkeypatch, trained_folder, text.encode()) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines == [expected[0], "", *expected[1:3], "", "", *expected[3:], ""]


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


def test_a_line_that_is_too_long_leaves_a_blank_line_and_a_message_with_its_number(monkeypatch, capsys, trained_folder):
    text = "red dog.\n" + "red " * 500 + "\n" + "x" * 1_000_000 + "\nred dog.\n"
    assert translate(monkeypatch, trained_folder, text.encode()) == 1
    captured = capsys.readouterr()
    lines = captured.out.split("\n")
    assert lines[1:3] == ["", ""] and lines[0] == lines[3] != ""
    assert "line 2: " in captured.err and "line 3: " in captured.err


@pytest.mark.parametrize(
    "text", [b"\xff\xfe red\n", "🙂 日本\n".encode(), b"red\0dog\n", b"no end of line", b"red\r\n"]
)
def test_any_bytes_give_as_many_lines_as_they_have(monkeypatch, capsys, trained_folder, text):
    assert translate(monkeypatch, trained_folder, text) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_no_input_gives_no_output(monkeypatch, capsys, trained_folder):
    assert translate(monkeypatch, trained_folder, b"") == 0
    assert capsys.readouterr().out == ""


def test_translate_searches_with_a_beam(monkeypatch, capsys, trained_folder):
    sources = [source for source, _ in make_pairs(4, 5)]
    assert translate(monkeypatch, trained_folder, "\n".join(sources).encode(), "--beam", "3") == 0
    expected = Translator.load(trained_folder, "cpu").translate(sources, beam=3)
    assert capsys.readouterr().out.splitlines() == expected


def test_the_length_penalty_is_that_of_the_command_line(capsys, tmp_path, trained_folder):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{source}\t{target}\n" for source, target in make_pairs(6, 9)), encoding="utf-8")
    command = ["evaluate", "--checkpoint", str(trained_folder), "--pairs", str(pairs), "--beam", "3"]
    assert main([*command, "--alpha", "1", "--penalty", "length"]) == 0
    said = json.loads(capsys.readouterr().out)
    expected = Translator.load(trained_folder).translate(
        [source for source, _ in make_pairs(6, 9)], strategy=Beam(3, 1.0, "length")
    )
    assert (said["alpha"], said["penalty"]) == (1.0, "length")
    assert said["bleu"] == pytest.approx(score(expected, [target for _, target in make_pairs(6, 9)]).bleu)
    for wrong in (["--alpha", "-1"], ["--alpha", "inf"], ["--alpha", "nan"], ["--penalty", "evil"]):
        with pytest.raises(SystemExit):
            main([*command, *wrong])


@pytest.mark.parametrize("beam", ["0", "-1", "101", "many"])
def test_an_impossible_beam_is_refused(capsys, trained_folder, beam):
    with pytest.raises(SystemExit) as caught:
        main(["translate", "--checkpoint", str(trained_folder), "--beam", beam])
    assert caught.value.code == 2 and "--beam" in capsys.readouterr().err


def test_evaluate_ends_with_a_line_of_json(capsys, trained_folder, tmp_path):
    pairs = write_pairs(tmp_path / "test.tsv", make_pairs(30, 8))
    assert main(["evaluate", "--checkpoint", str(trained_folder), "--pairs", str(pairs), "--beam", "2"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(result) >= {"bleu", "chrf", "signature", "sentences", "seconds"}
    assert 60 < result["bleu"] <= 100 and 60 < result["chrf"] <= 100
    assert result["sentences"] == 30
    assert "tok:13a" in result["signature"] and "case:mixed" in result["signature"]


def test_evaluate_takes_tokenized_text_as_it_is(capsys, checkpoint_folder, tmp_path, monkeypatch):
    """Where 13a tears "3.5%" apart and finds a part of it, its words are one that is wrong."""
    pairs = write_pairs(tmp_path / "test.tsv", [("red dog.", "ein roter Hund lief 3.5% weit")])
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: ["ein roter Hund lief 3.5& weit"])
    found = []
    for options in ([], ["--tokenized"]):
        command = ["evaluate", "--checkpoint", str(checkpoint_folder), "--pairs", str(pairs), "--write", *options]
        assert main(command) == 0
        found.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert ("tok:13a" in found[0]["signature"], "tok:none" in found[1]["signature"]) == (True, True)
    assert found[0]["bleu"] != found[1]["bleu"] and found[0]["chrf"] == found[1]["chrf"]
    scores = json.loads((checkpoint_folder / "training.json").read_text())["scores"]
    assert scores["test.tsv greedy"]["bleu"] == found[0]["bleu"]
    assert scores["test.tsv tokenized greedy"]["bleu"] == found[1]["bleu"]


def test_evaluate_writes_its_score_only_when_asked_to(capsys, checkpoint_folder, tmp_path):
    pairs = write_pairs(tmp_path / "test.tsv", make_pairs(3, 8))
    arguments = ["evaluate", "--checkpoint", str(checkpoint_folder), "--pairs", str(pairs)]
    assert main(arguments) == 0
    assert json.loads((checkpoint_folder / "training.json").read_text()) == {"steps": 7}
    assert main([*arguments, "--write"]) == 0
    assert "signature" in json.loads((checkpoint_folder / "training.json").read_text())["scores"]["test.tsv greedy"]


def test_scores_of_different_decodings_are_kept_apart(capsys, checkpoint_folder, tmp_path):
    pairs = write_pairs(tmp_path / "test.tsv", make_pairs(3, 8))
    arguments = ["evaluate", "--checkpoint", str(checkpoint_folder), "--pairs", str(pairs), "--write", "--beam", "2"]
    for penalty in [], ["--alpha", "1"], ["--alpha", "1", "--penalty", "length"]:
        assert main([*arguments, *penalty]) == 0
    scores = json.loads((checkpoint_folder / "training.json").read_text())["scores"]
    assert set(scores) == {"test.tsv beam 2", "test.tsv beam 2, gnmt^1", "test.tsv beam 2, length^1"}


def test_heads_are_measured_and_written_to_the_given_file(capsys, checkpoint_folder, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(30, 3))
    out = checkpoint_folder / "heads.json"
    assert main(["heads", "--checkpoint", str(checkpoint_folder), "--pairs", str(pairs), "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    config = Translator.load(checkpoint_folder, "cpu").model.config
    heads = config.num_heads * (config.num_encoder_layers + 2 * config.num_decoder_layers)
    assert len(lines) == heads and lines[0].startswith("encoder layer 1 head 1: ")
    assert json.loads(out.read_text())["pairs"] == "pairs.tsv"
    asked = ["--pairs", str(tmp_path / "none.tsv"), "--out", str(tmp_path / "none.json")]
    assert main(["heads", "--checkpoint", str(checkpoint_folder), *asked]) == 1


@pytest.mark.parametrize("target", [None, "Haus rot Haus."])
def test_trace_writes_every_weight_without_pickle(capsys, trained_folder, tmp_path, target):
    out = tmp_path / "trace.npz"
    given = ["--target", target] if target else []
    assert main(["trace", "big old tree.", "--checkpoint", str(trained_folder), "--out", str(out), *given]) == 0
    text = capsys.readouterr().out.strip()
    with np.load(out, allow_pickle=False) as trace:
        assert str(trace["target_text"]) == text
        assert target is None or text == target
        source, fed = len(trace["source_tokens"]), len(trace["decoder_input_tokens"])
        assert trace["encoder"].shape == (2, 4, source, source)
        assert trace["decoder"].shape == (1, 4, fed, fed)
        assert trace["cross"].shape == (1, 4, fed, source)
        assert list(trace["decoder_input_tokens"][1:]) == list(trace["target_tokens"][:-1])
        assert trace["decoder_input_tokens"][0] == "<s>" and trace["target_tokens"][-1] == "</s>"
        assert trace["cross"].sum(-1) == near(1)


def test_mistakes_are_one_friendly_line_and_status_one(capsys, trained_folder, tmp_path):
    model, out = ["--checkpoint", str(trained_folder)], ["--out", str(tmp_path / "t.npz")]
    long = write_pairs(tmp_path / "long.tsv", [("red dog.", "rot Hund."), ("red " * 99, "rot")])
    nothing = ["--data", "none", "--valid", "none", "--out", str(tmp_path / "c")]
    file_as_folder = train_arguments(tmp_path, "a.tsv/run")
    for arguments, message in [
        (["trace", " ", *model, *out], "text is empty"),
        (["trace", "red " * 99, *model, *out], "Please shorten it"),
        (["trace", "red", *model, "--out", str(tmp_path)], "cannot be written"),
        (["trace", "red", "--checkpoint", str(tmp_path / "no"), *out], "There is no checkpoint folder"),
        (["trace", "red", *model, *out, "--device", "abacus"], "There is no device"),
        (["evaluate", *model, "--pairs", str(tmp_path / "no.tsv")], "cannot be read"),
        (["evaluate", *model, "--pairs", str(long)], "Pair 2 of"),
        (file_as_folder, "Not a directory"),
        (["train", str(tmp_path / "no.toml"), *nothing], "There is no configuration"),
        (["train", "en-dee", *nothing], "shipped: en-de, en-de-everyday, en-de-prose, en-de-words, en-fr, "),
        (["train", "en-de", *nothing], "The corpus none cannot be read"),
        (["trace", "red", "--checkpoint", "en-xx", *out], "en-xx; those of these names are shipped: en-de, en-fr, rev"),
    ]:
        assert main(arguments) == 1
        error = capsys.readouterr().err.strip().splitlines()
        assert len(error) == 1 and error[0].startswith("headlight: ") and message in error[0]


def test_a_wrong_device_in_the_environment_is_told(capsys, trained_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_DEVICE", "abacus")
    assert main(["trace", "red", "--checkpoint", str(trained_folder), "--out", str(tmp_path / "t.npz")]) == 1
    assert "'abacus'" in capsys.readouterr().err


def test_train_does_not_overwrite_a_run(capsys, tmp_path):
    arguments = train_arguments(tmp_path, "run", max_steps=1, cooldown_steps=0)
    assert main(arguments) == 0
    assert main(arguments) == 1
    assert "give --resume" in capsys.readouterr().err


def test_a_lone_carriage_return_ends_no_line(monkeypatch, capsys, trained_folder):
    assert translate(monkeypatch, trained_folder, b"red\rdog.\r\nbig tree.\n") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
