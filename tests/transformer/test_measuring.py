"""What is measured over a corpus from the command line: where it is written, and that it goes on after a stop."""

import gzip
import json
from pathlib import Path

import pytest
from support.tiny import make_pairs, write_pairs

import transformer
from transformer.__main__ import main
from transformer.commands import corpus, measuring
from transformer.data.shards import ShardFolder
from transformer.interpret.what_if.importance import ImportanceMeasurement

INSTALLED = Path(transformer.__file__).parent
FILES = {"heads": "heads.json"}
LINES = {"heads": 2300, "importance": 30, "importance --ablation mean": 30}  # at least five chunks


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """On the CPU, this process's handlers left as they are, a few lines a chunk of importance."""
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(ImportanceMeasurement, "lines_a_chunk", 6)


def measure(command: str, folder: Path, pairs: Path, *more: object) -> int:
    name, *options = command.split()
    workers = [] if "--workers" in more else ["--workers", "1"]
    arguments = ["--checkpoint", folder, "--pairs", pairs, *options, *workers, *more]
    return main([name, *map(str, arguments)])


@pytest.mark.parametrize("command", LINES)
def test_shards_and_workers_change_no_byte(command, checkpoint_folder, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", [*make_pairs(LINES[command], 3), ("", "x")])
    found = {}
    for shards, workers in ((1, 1), (2, 2), (5, 1)):
        out = tmp_path / f"{shards}.csv"
        split = ["--shards", shards, "--workers", workers]
        assert measure(command, checkpoint_folder, pairs, "--out", out, *split) == 0
        found[shards] = out.read_bytes(), *(path.read_bytes() for path in tmp_path.glob(f"{shards}.csv.json"))
    assert found[1] == found[2] == found[5] and len(found[1]) == 1 + command.startswith("importance")
    told = json.loads(found[1][-1])["provenance"]
    assert told["lines"] == LINES[command] + 1 and told["skipped"] == {"with an empty side": 1}
    assert told["pairs"] == ["pairs.tsv"]


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
    monkeypatch.setattr(ShardFolder, "keep", lambda self, shard, content: told.append(shard))
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


def test_an_installed_checkpoint_stays_as_it_came(tmp_path, capsys):
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3))
    assert main(["evaluate", "--checkpoint", str(INSTALLED / "x"), "--pairs", str(pairs), "--write"]) == 1
    assert "installed package, whose files stay as they came: copy the checkpoint first" in capsys.readouterr().err


@pytest.mark.parametrize("command", LINES)
def test_a_measurement_that_was_stopped_goes_on_with_the_shards_that_are_missing(
    command, checkpoint_folder, tmp_path, monkeypatch, capsys
):
    pairs = write_pairs(tmp_path / "pairs.tsv", make_pairs(LINES[command], 3))
    whole, out, shards = tmp_path / "whole", tmp_path / "out", ["--shards", 5]
    assert measure(command, checkpoint_folder, pairs, "--out", whole, *shards) == 0
    printed, told = capsys.readouterr().out, []

    def stopping(lines, shards):
        def stop(done, missing):
            told.append(done)
            if len(told) == 2 + ("mean" in command):  # whose means are of one shard before
                raise KeyboardInterrupt

        return stop

    def run(*more):
        return measure(command, checkpoint_folder, pairs, "--out", out, *shards, *more)

    with monkeypatch.context() as patch:
        patch.setattr(corpus, "_reporter", stopping)
        assert run() == 130
    kept = [path.read_bytes() for path in sorted((tmp_path / "out.part").glob("shard-*"))]
    assert len(kept) == 2 and not out.exists()
    assert run() == 1 and "give --resume to go on" in capsys.readouterr().err
    other = write_pairs(tmp_path / "other.tsv", make_pairs(LINES[command], 4))
    assert measure(command, checkpoint_folder, other, "--out", out, *shards, "--resume") == 1
    assert "out.part is of another measurement" in capsys.readouterr().err.replace("/means", "")
    counted = []
    keep = ShardFolder.keep
    monkeypatch.setattr(ShardFolder, "keep", lambda *given: (counted.append(given[1]), keep(*given)))
    assert run("--workers", 2, "--resume") == 0
    assert sorted(counted) == [2, 3, 4], "what is done is not done again"
    assert out.read_bytes() == whole.read_bytes() and capsys.readouterr().out == printed
    assert not list(tmp_path.glob("*.part"))


def test_shards_without_a_plan_are_of_nothing_that_is_measured_now(checkpoint_folder, tmp_path):
    """Stopped while the folder of an earlier measurement was deleted, its plan first."""
    for name, seed in (("one", 3), ("two", 4)):
        pairs = write_pairs(tmp_path / f"{name}.tsv", make_pairs(6, seed))
        assert measure("heads", checkpoint_folder, pairs, "--out", tmp_path / f"{name}.json") == 0
    parts, out = tmp_path / "again.json.part", tmp_path / "again.json"
    parts.mkdir()
    (parts / "shard-00000.json.gz").write_bytes(gzip.compress(b'{"sentences": 1, "parts": {}, "skipped": {}}'))
    assert measure("heads", checkpoint_folder, tmp_path / "two.tsv", "--out", out) == 0
    assert out.read_bytes() == (tmp_path / "two.json").read_bytes()


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


def test_what_is_resumed_is_of_the_same_ablation(checkpoint_folder, tmp_path, monkeypatch, capsys):
    pairs, out = write_pairs(tmp_path / "pairs.tsv", make_pairs(12, 3)), tmp_path / "heads.csv"

    def stop(self, plan):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ShardFolder, "merged", stop)
        assert measure("importance", checkpoint_folder, pairs, "--out", out) == 130
    resume = ["--out", out, "--resume"]
    assert measure("importance --ablation uniform", checkpoint_folder, pairs, *resume) == 1
    assert "is of another measurement: of other weights, pairs, shards or settings" in capsys.readouterr().err
    assert measure("importance", checkpoint_folder, pairs, *resume) == 0


def test_a_result_that_cannot_be_saved_is_not_lost(checkpoint_folder, tmp_path, monkeypatch):
    """The disk is full when all is measured; with room again nothing is measured anew."""
    pairs, out = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3)), tmp_path / "heads.json"

    def full(path, roles):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(measuring, "save_roles", full)
        assert measure("heads", checkpoint_folder, pairs, "--out", out) == 1
    told: list[int] = []
    monkeypatch.setattr(ShardFolder, "keep", lambda self, shard, content: told.append(shard))
    assert measure("heads", checkpoint_folder, pairs, "--out", out, "--resume") == 0
    assert out.is_file() and not told


@pytest.mark.parametrize("command", FILES)
def test_tables_of_parts_are_merged_to_that_of_the_whole(command, checkpoint_folder, tmp_path, capsys):
    pairs = make_pairs(900, 3)
    for name, some in (("one", pairs[:512]), ("two", pairs[512:]), ("whole", pairs)):
        path = write_pairs(tmp_path / f"{name}.tsv", some)
        assert measure(command, checkpoint_folder, path, "--out", tmp_path / f"{name}.json") == 0
    one, two, whole, out = (str(tmp_path / f"{name}.json") for name in ("one", "two", "whole", "out"))
    capsys.readouterr()
    assert main(["merge", one, two, "--out", out]) == 0 and "2 tables, 900 sentences" in capsys.readouterr().out
    merged, expected = (json.loads(Path(path).read_text()) for path in (out, whole))
    assert merged.pop("pairs") == "one.tsv, two.tsv" and expected.pop("pairs")
    assert merged.pop("provenance")["lines"] == expected.pop("provenance")["lines"] == 900
    assert merged == expected, "the first part ends with a chunk, so no batch is another one"
    assert main(["merge", one, out, "--out", str(tmp_path / "no")]) == 1
    assert "the pairs of one.tsv would count twice" in capsys.readouterr().err
    content = json.loads(Path(two).read_text())
    del content["provenance"]
    Path(two).write_text(json.dumps(content))
    assert main(["merge", one, two, "--out", str(tmp_path / "no")]) == 1
    assert "one does not say what it was measured with" in capsys.readouterr().err


def test_tables_of_two_sorts_are_not_merged(checkpoint_folder, tmp_path, capsys):
    path, outs = write_pairs(tmp_path / "pairs.tsv", make_pairs(6, 3)), []
    for command, name in (("heads", "heads.json"), ("importance", "heads.csv")):
        outs.append(str(tmp_path / name))
        assert measure(command, checkpoint_folder, path, "--out", outs[-1]) == 0
    assert main(["merge", *outs, "--out", str(tmp_path / "no")]) == 1
    assert "of several measurements, heads and importance" in capsys.readouterr().err


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
