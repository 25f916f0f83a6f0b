"""Commands that measure a corpus: the files they write, the pooling of files, and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.tiny import make_pairs, write_pairs

import transformer
from transformer.__main__ import main
from transformer.commands import corpus, measuring
from transformer.corpus.head_roles import load_roles
from transformer.corpus.importance_table import ImportanceTable
from transformer.model.names import AttentionKind

INSTALLED = Path(transformer.__file__).parent
COMMANDS = {"heads": 700, "importance": 30}  # lines

pytestmark = pytest.mark.usefixtures("command_line")


def measure(command: str, folder: Path, pairs: Path, *more: object) -> int:
    name, *options = command.split()
    workers = [] if "--workers" in more else ["--workers", "1"]
    arguments = ["--checkpoint", folder, "--pairs", pairs, *options, *workers, *more]
    return main([name, *map(str, arguments)])


def numbers_of(command: str, out: Path) -> np.ndarray:
    """All numbers of a result."""
    if command != "heads":
        return ImportanceTable.load(out).sums.sums
    roles = load_roles(out)
    return np.stack([table[kind] for table in (roles.labelled, roles.rows) for kind in (AttentionKind.CROSS,)])


@pytest.mark.parametrize("command", COMMANDS)
def test_one_and_two_workers_measure_the_same(command, checkpoint_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "_LINES_PER_CHUNK", 8)
    pairs = write_pairs(tmp_path / "pairs.tsv", [*make_pairs(COMMANDS[command], 3), ("", "x")])
    found = []
    for workers in (1, 2):
        out = tmp_path / f"{workers}.json"
        assert measure(command, checkpoint_folder, pairs, "--out", out, "--workers", workers) == 0
        found.append(numbers_of(command, out))
        content = json.loads((out if command == "heads" else tmp_path / f"{workers}.json.json").read_text())
        assert content["provenance"]["lines"] == COMMANDS[command] + 1
        assert content["provenance"]["skipped"] == {"with an empty side": 1}
        assert content["provenance"]["pairs"] == ["pairs.tsv"]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    command, checkpoint_folder, tmp_path, monkeypatch, capsys
):
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3))
    monkeypatch.setattr(corpus, "measure_corpus", lambda *_: pytest.fail("it was measured"))
    for out, words in (
        (tmp_path / "none" / "x.json", "none is no folder."),
        (pairs / "x.json", "pairs.tsv is no folder."),
        (tmp_path, "is a folder: name a file."),
        (
            INSTALLED / "checkpoints" / "x.json",
            "in the installed package, whose files stay as they came: say with --out",
        ),
    ):
        assert measure(command, checkpoint_folder, pairs, "--out", out) == 1
        assert words in capsys.readouterr().err.splitlines()[-1]
        assert out.is_dir() or not out.exists()


def test_an_installed_checkpoint_stays_as_it_came(tmp_path, capsys):
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3))
    assert main(["evaluate", "--checkpoint", str(INSTALLED / "x"), "--pairs", str(pairs), "--write"]) == 1
    assert "installed package, whose files stay as they came: copy the checkpoint first" in capsys.readouterr().err


def test_mean_ablation_of_pairs_that_cannot_be_measured_is_refused_in_a_sentence(checkpoint_folder, tmp_path, capsys):
    pairs = write_pairs(tmp_path / "pairs.tsv", [("", "x")])
    assert measure("importance --ablation mean", checkpoint_folder, pairs, "--out", tmp_path / "heads.csv") == 1
    assert "No pair of pairs.tsv can be measured: 1 with an empty side." in capsys.readouterr().err


def test_tables_whose_files_lack_digests_are_not_merged(checkpoint_folder, tmp_path, capsys):
    path, out = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3)), tmp_path / "heads.json"
    assert measure("heads", checkpoint_folder, path, "--out", out) == 0
    content = json.loads(out.read_text())
    content["provenance"]["digests"] = []
    out.write_text(json.dumps(content))
    assert main(["merge", str(out), str(out), "--out", str(tmp_path / "no")]) == 1
    assert "heads.json cannot be read: 1 files with 0 digests." in capsys.readouterr().err


def test_tables_of_parts_are_merged_to_the_table_of_the_whole(checkpoint_folder, tmp_path, capsys):
    pairs = make_pairs(700, 3)
    for name, some in (("one", pairs[:512]), ("two", pairs[512:]), ("whole", pairs)):
        path = write_pairs(tmp_path / f"{name}.tsv", some)
        assert measure("heads", checkpoint_folder, path, "--out", tmp_path / f"{name}.json") == 0
    one, two, whole, out = (str(tmp_path / f"{name}.json") for name in ("one", "two", "whole", "out"))
    capsys.readouterr()
    assert main(["merge", one, two, "--out", out]) == 0 and "2 tables, 700 sentences" in capsys.readouterr().out
    merged, expected = (json.loads(Path(path).read_text()) for path in (out, whole))
    assert merged.pop("pairs") == "one.tsv, two.tsv" and expected.pop("pairs")
    assert merged.pop("provenance")["lines"] == expected.pop("provenance")["lines"] == 700
    assert merged == expected, "the first part ends with a chunk, so all batches are equal"
    assert main(["merge", one, out, "--out", str(tmp_path / "no")]) == 1
    assert "the pairs of one.tsv would count twice" in capsys.readouterr().err
    content = json.loads(Path(two).read_text())
    del content["provenance"]
    Path(two).write_text(json.dumps(content))
    assert main(["merge", one, two, "--out", str(tmp_path / "no")]) == 1
    assert "one does not say what it was measured with" in capsys.readouterr().err


def test_tables_of_two_commands_are_not_merged(checkpoint_folder, tmp_path, capsys):
    path, outs = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3)), []
    for command, name in (("heads", "heads.json"), ("importance", "heads.csv")):
        outs.append(str(tmp_path / name))
        assert measure(command, checkpoint_folder, path, "--out", outs[-1]) == 0
    assert main(["merge", *outs, "--out", str(tmp_path / "no")]) == 1
    assert "of several measurements, heads and importance" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["translate", "evaluate", "heads", "merge"])
def test_torchrun_of_a_command_in_one_process_is_refused(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    model, out = ["--checkpoint", str(tmp_path / "none")], ["--out", str(tmp_path / "out")]
    arguments = {
        "translate": ["a", *model],
        "evaluate": [*model, "--pairs", "p.tsv"],
        "heads": [*model, "--pairs", "p.tsv", *out],
        "merge": ["a.csv", *out],
    }
    assert main([command, *arguments[command]]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"headlight: `{command}` runs in one process: start it without torchrun."
    ]
