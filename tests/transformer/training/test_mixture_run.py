"""A run on several corpora, from the command line; killed and resumed it ends as if it had never stopped."""

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from support.short_run import PAIRS, VALID, Killed, end_of, experiment, stop_at
from support.tiny import make_pairs, write_pairs, write_toml

from transformer.__main__ import main


@pytest.fixture
def config(tmp_path, monkeypatch) -> Path:
    """A short run on two corpora, one of them half, over several epochs, each with other pieces."""
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    short = experiment()
    training = replace(short.training, batch_tokens=400, segmentation_dropout=0.3)
    path = write_toml(tmp_path / "short.toml", replace(short, training=training))
    write_pairs(tmp_path / "a.tsv", PAIRS)
    write_pairs(tmp_path / "b.tsv", make_pairs(90, 8))
    write_pairs(tmp_path / "valid.tsv", VALID)
    files = 'train = [{file = "a.tsv", weight = 0.5}, {file = "b.tsv", weight = 1.5}]\nvalid = "valid.tsv"\n'
    path.write_text(path.read_text(encoding="utf-8").replace("[data]\n", "[data]\n" + files), encoding="utf-8")
    handler = signal.getsignal(signal.SIGTERM)
    yield path
    signal.signal(signal.SIGTERM, handler)


def test_a_killed_and_resumed_run_on_several_corpora_sees_the_same(tmp_path, config, monkeypatch):
    assert main(["train", str(config), "--out", str(tmp_path / "whole")]) == 0
    stopped = ["train", str(config), "--out", str(tmp_path / "stopped"), "--resume"]
    with monkeypatch.context() as patch:
        stop_at(patch, "learning_rate", 8, Killed)
        with pytest.raises(Killed):
            main(stopped)
    assert main(stopped) == 0
    end = end_of(tmp_path / "whole")
    assert end == end_of(tmp_path / "stopped") and end["progress"]["epoch"] >= 1
    training = json.loads((tmp_path / "whole" / "training.json").read_text())
    assert training["training_pairs"] == len(PAIRS) + 90
    assert training["training_files"] == [
        {"file": "a.tsv", "weight": 0.5, "pairs": len(PAIRS)},
        {"file": "b.tsv", "weight": 1.5, "pairs": 90},
    ]
    assert training["data"] == experiment().as_dict()["data"]


def test_files_on_the_command_line_stand_before_those_of_the_configuration(tmp_path, config):
    other = write_pairs(tmp_path / "other.tsv", make_pairs(70, 5))
    (tmp_path / "a.tsv").unlink()
    assert main(["train", str(config), "--out", str(tmp_path / "run"), "--data", str(other)]) == 0
    training = json.loads((tmp_path / "run" / "training.json").read_text())
    assert training["training_pairs"] == 70 and "training_files" not in training


def test_what_a_configuration_does_not_name_is_asked_for(tmp_path, config, capsys):
    write_toml(config, experiment())
    for given, message in [
        ([], f"{config} names no file as `train` in [data]: add it, or give --data."),
        (["--data", "a.tsv"], f"{config} names no file as `valid` in [data]: add it, or give --valid."),
    ]:
        assert main(["train", str(config), "--out", str(tmp_path / "run"), *given]) == 1
        assert capsys.readouterr().err == f"headlight: {message}\n"
    assert not (tmp_path / "run").exists()
