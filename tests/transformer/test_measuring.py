"""What is measured over a corpus from the command line: where it is written, and that it goes on after a stop."""

import json
from pathlib import Path

import pytest
from support.tiny import make_pairs, write_pairs

import transformer
from transformer.__main__ import main
from transformer.commands import measuring
from transformer.decoding import output_statistics
from transformer.interpret import head_roles

INSTALLED = Path(transformer.__file__).parent
FILES = {"heads": "heads.json", "outputs": "outputs.json"}


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """On the CPU, this process's handlers left as they are, a few sentences a batch."""
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(head_roles, "_TOKENS_A_BATCH", 40)
    monkeypatch.setattr(output_statistics, "_SENTENCES_A_BATCH", 5)


def measure(command: str, folder: Path, pairs: Path, *more: object) -> int:
    return main([command, "--checkpoint", str(folder), "--pairs", str(pairs), *map(str, more)])


@pytest.mark.parametrize("command", FILES)
def test_two_corpora_are_kept_apart_and_the_checkpoint_is_left_alone(command, checkpoint_folder, tmp_path):
    before = sorted(path.name for path in checkpoint_folder.iterdir())
    for name in ("one", "two"):
        pairs = write_pairs(tmp_path / f"{name}.tsv", make_pairs(6, len(name)))
        assert measure(command, checkpoint_folder, pairs, "--out", tmp_path / f"{name}.json") == 0
    told = [json.loads((tmp_path / f"{name}.json").read_text())["pairs"] for name in ("one", "two")]
    assert told == ["one.tsv", "two.tsv"]
    assert sorted(path.name for path in checkpoint_folder.iterdir()) == before


@pytest.mark.parametrize("command", [*FILES, "importance"])
def test_what_cannot_be_written_is_refused_before_anything_is_measured(
    command, checkpoint_folder, tmp_path, monkeypatch, capsys
):
    pairs, told = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3)), []
    monkeypatch.setattr(measuring, "reporter", lambda total: told.append)
    for out, words in (
        (tmp_path / "none" / "x.json", "cannot be written: No such file or directory; --out says where to write."),
        (pairs / "x.json", "cannot be written: Not a directory; --out says where to write."),
        (tmp_path, "is a folder: name a file."),
        (
            INSTALLED / "checkpoints" / "x.json",
            "in the installed package, whose files stay as they came: say with --out",
        ),
    ):
        assert measure(command, checkpoint_folder, pairs, "--out", out) == 1
        assert words in capsys.readouterr().err.splitlines()[-1] and not told
        assert out.is_dir() or not out.exists()


@pytest.mark.parametrize("command", FILES)
def test_an_installed_checkpoint_stays_as_it_came(command, tmp_path, monkeypatch, capsys):
    """As `headlight heads --checkpoint en-de` names one where the package is installed."""
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3))
    assert measure(command, INSTALLED / "checkpoints" / "en-de", pairs) == 1
    assert "say with --out where to write" in capsys.readouterr().err
    assert main(["evaluate", "--checkpoint", str(INSTALLED / "x"), "--pairs", str(pairs), "--write"]) == 1
    assert "installed package, whose files stay as they came: copy the checkpoint first" in capsys.readouterr().err


@pytest.mark.parametrize("command", FILES)
def test_a_measurement_that_was_stopped_goes_on(command, checkpoint_folder, tmp_path, monkeypatch, capsys):
    pairs, whole = write_pairs(tmp_path / "pairs.tsv", make_pairs(30, 3)), tmp_path / "whole.json"
    assert measure(command, checkpoint_folder, pairs, "--out", whole) == 0
    printed, told = capsys.readouterr().out, []

    def stop(done):
        told.append(done)
        if len(told) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(measuring, "reporter", lambda total: stop)
        assert measure(command, checkpoint_folder, pairs) == 130
    out = checkpoint_folder / FILES[command]
    assert (checkpoint_folder / f"{FILES[command]}.part").is_file() and not out.exists()
    assert measure(command, checkpoint_folder, pairs) == 1
    assert "give --resume to go on" in capsys.readouterr().err
    after: list[int] = []
    monkeypatch.setattr(measuring, "reporter", lambda total: after.append)
    assert measure(command, checkpoint_folder, pairs, "--resume") == 0
    assert after[0] > told[-1] == told[1] and after[-1] == 30
    assert out.read_bytes() == whole.read_bytes() and capsys.readouterr().out == printed
    assert not list(checkpoint_folder.glob("*.part"))


def test_a_result_that_cannot_be_saved_is_not_lost(checkpoint_folder, tmp_path, monkeypatch):
    """The disk is full when all is measured; with room again nothing is measured anew."""
    pairs, out = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3)), tmp_path / "heads.json"

    def full(path, roles):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(measuring, "save_roles", full)
        assert measure("heads", checkpoint_folder, pairs, "--out", out) == 1
    told: list[int] = []
    monkeypatch.setattr(measuring, "reporter", lambda total: told.append)
    assert measure("heads", checkpoint_folder, pairs, "--out", out, "--resume") == 0
    assert out.is_file() and not told


@pytest.mark.parametrize("command", ["translate", "evaluate", "trace", "merge"])
def test_torchrun_of_what_does_not_share_its_work_is_refused(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    model, out = ["--checkpoint", str(tmp_path / "none")], ["--out", str(tmp_path / "out")]
    arguments = {
        "translate": ["a", *model],
        "evaluate": [*model, "--pairs", "p.tsv"],
        "trace": ["a", *model, *out],
        "merge": ["a.csv", *out],
    }
    assert main([command, *arguments[command]]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"headlight: `{command}` runs in one process: start it without torchrun."
    ]
