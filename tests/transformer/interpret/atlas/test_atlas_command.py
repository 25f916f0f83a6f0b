"""`headlight atlas`: the same files whatever the shards, who computes and who dies; and what it refuses."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.atlases import Dying, files_in
from support.near import near
from support.tiny import make_pairs, write_pairs
from support.until import until

from transformer.__main__ import main
from transformer.checkpoint import save_checkpoint, weights_digest
from transformer.data import engines
from transformer.data.chunks import survey
from transformer.data.shards import Plan, read_statistics
from transformer.interpret.alignment.measure import aligners_of
from transformer.interpret.alignment.table import AlignmentTable, save_alignment
from transformer.interpret.atlas.atlas import Role, find_atlas
from transformer.interpret.atlas.run import AtlasMeasurement
from transformer.interpret.head_patterns import Pattern
from transformer.interpret.what_if.importance import every_head
from transformer.model.names import AttentionKind
from transformer.translator import Translator

ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def alone(command_line):
    """On the CPU, this process's handlers left as they are."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, translator) -> Path:
    """A checkpoint, and two files of pairs with three bad lines: five chunks."""
    folder = tmp_path_factory.mktemp("atlas")
    save_checkpoint(folder / "checkpoint", translator.checkpoint)
    write_pairs(folder / "one.tsv", make_pairs(1500, 5))
    write_pairs(folder / "two.tsv", [*make_pairs(900, 6), ("", ""), ("no", "\t"), ("red " * 40, "rot")])
    return folder


def command(folder: Path, out: Path, *more: object) -> list[str]:
    pairs = [str(folder / "one.tsv"), str(folder / "two.tsv")]
    return ["atlas", "--checkpoint", str(folder / "checkpoint"), "--pairs", *pairs, "--out", str(out), *map(str, more)]


@pytest.fixture(scope="module")
def whole(folder, translator) -> dict[str, bytes]:
    """The files of one process that computes one shard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_DEVICE", "cpu")
        patch.setattr("signal.signal", lambda *_: None)
        assert main(command(folder, folder / "whole", "--shards", 1, "--workers", 1)) == 0
    return files_in(folder / "whole")


def test_two_processes_with_five_shards_one_of_them_killed_make_the_same(folder, whole, tmp_path, monkeypatch):
    run = engines.Local.run
    grave = str(tmp_path / "grave")
    monkeypatch.setattr(engines.Local, "run", lambda self, work, tasks: run(self, Dying(work, grave), tasks))
    assert main(command(folder, tmp_path / "out", "--shards", 5, "--workers", 2)) == 0
    assert os.path.exists(grave)
    assert files_in(tmp_path / "out") == whole


def test_who_is_killed_three_times_loses_a_shard_each_time_and_nothing_else(folder, whole, tmp_path):
    out = tmp_path / "out"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    arguments = command(folder, out, "--shards", 5, "--workers", 1, "--resume")
    written: dict[str, int] = {}
    for number in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "transformer", *arguments], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL
        )
        try:
            until(lambda number=number, process=process: len(shards_of(out)) > number or process.poll() is not None)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert process.returncode == -signal.SIGKILL
        kept = {path.name: path.stat().st_mtime_ns for path in shards_of(out)}
        assert kept.items() >= written.items(), "what is done stays as it is"
        written = kept
    assert 1 <= len(written) <= 5
    before = {path.name: path.read_bytes() for path in shards_of(out)}
    assert main(arguments) == 0
    assert before and files_in(out) == whole


def shards_of(out: Path) -> list[Path]:
    return sorted(out.glob("shard-*.gz"))


def test_what_is_in_the_files(folder, whole, translator):
    atlas = find_atlas(folder / "whole", translator.model)
    assert atlas.sentences_measured == 2400 and atlas.provenance.lines == 2403
    assert atlas.provenance.skipped == {
        "longer than 20 tokens a side": 1,
        "with an empty side": 1,
        "with more than one tab": 1,
    }
    assert atlas.provenance.pairs == ("one.tsv", "two.tsv")
    assert atlas.provenance.weights == weights_digest(folder / "checkpoint")
    counted = read_statistics(folder / "whole" / "statistics.json.gz", AtlasMeasurement())
    for entry in atlas.entries():
        kind = counted.kinds[entry.kind]
        number = entry.layer * 4 + entry.head
        assert sum(entry.greatest) == sum(entry.confidence) == kind.measured <= 2400
        for place, pattern in enumerate(Pattern):
            found = entry.roles.get(pattern, Role(0, 0, 0))
            assert kind.roles[number, :, place].tolist() == [found.labelled, found.rows, found.eligible]
        assert {each.fifth for each in entry.examples if not each.strongest} == set(range(5))
        strongest = [each.confidence for each in entry.examples if each.strongest]
        assert len(strongest) == 6 and strongest == sorted(strongest, reverse=True)
        assert len(entry.nearest) == min(5, len(kind.roles) - 1)
    frame = atlas.to_frame()
    assert len(frame) == len(every_head(translator.model)) and frame["importance"].isna().all()


def test_an_examples_map_is_that_of_its_trace(folder, whole):
    translator = Translator.load(folder / "checkpoint", "cpu")
    atlas = find_atlas(folder / "whole", translator.model)
    for kind in AttentionKind:
        entry = atlas.head(kind, 0, 1)
        for example in (entry.examples[0], entry.examples[-1]):
            sentence = atlas.sentences[example.sentence]
            texts = ("".join(tokens[:-1]).replace("▁", " ").strip() for tokens in (sentence.source, sentence.target))
            source, target = texts
            trace = translator.trace(source, target=target)
            rows, columns, drawn = atlas.map_of(entry, example)
            expected = trace.attention(kind)[0, 1]
            assert drawn.shape == expected.shape == (len(rows), len(columns))
            kept = drawn > 0
            assert abs(drawn - expected)[kept].max() < 1e-3
            dropped = (expected * ~kept).max(axis=-1)
            eighth = (kept.sum(axis=-1) >= 8) | (dropped < 0.006)
            assert eighth.all()


def test_importance_goes_in_where_it_was_measured_of_the_same_weights(folder, tmp_path, capsys, translator):
    few = write_pairs(tmp_path / "few.tsv", make_pairs(12, 5))
    measured = ["--checkpoint", str(folder / "checkpoint"), "--pairs", str(few)]
    assert main(["importance", *measured, "--out", str(tmp_path / "heads.csv")]) == 0
    table = ["--importance", str(tmp_path / "heads.csv"), "--workers", "1"]
    assert main(["atlas", *measured, "--out", str(tmp_path / "out"), *table]) == 0
    atlas = find_atlas(tmp_path / "out", translator.model)
    rows = list(csv.DictReader((tmp_path / "heads.csv").read_text().splitlines()))
    assert len(rows) == len(every_head(translator.model))
    for row in rows:
        found = atlas.head(row["kind"], int(row["layer"]) - 1, int(row["head"]) - 1).importance
        expected = float(row["loss_in_nats_a_token"]), float(row["standard_error"])
        assert found == near(expected)
    told = json.loads((tmp_path / "heads.csv.json").read_text())
    told["provenance"]["weights"] = "0" * 64
    (tmp_path / "heads.csv.json").write_text(json.dumps(told))
    assert main(["atlas", *measured, "--out", str(tmp_path / "other"), *table]) == 1
    assert "is of other weights" in capsys.readouterr().err


def test_alignment_error_rates_go_in_where_they_are_beside_the_same_weights(tmp_path, translator):
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, translator.checkpoint)
    aligners = aligners_of(translator.model)
    halves = np.zeros((2, len(aligners), 2, 2, 4), dtype=int)
    halves[...] = (1, 2, 4, 4)  # sure hits, possible hits, links, sure ones: a rate of 1 - 3 / 8
    head = next(row for row, each in enumerate(aligners) if (each.method, each.layer, each.head) == ("head", 0, 2))
    halves[:, head, 1, 0] = 3, 3, 4, 4
    errors = np.zeros((3, len(aligners), 2, 2))
    few = write_pairs(tmp_path / "few.tsv", make_pairs(12, 5))
    for weights, expected in ((weights_digest(folder), [0.625, 0.625, 0.25, 0.625]), ("0" * 64, [None] * 4)):
        save_alignment(folder / "alignment.json", AlignmentTable("gold", 2, weights, aligners, halves, errors))
        out = tmp_path / weights[:8]
        arguments = ["--checkpoint", str(folder), "--pairs", str(few), "--out", str(out), "--workers", "1"]
        assert main(["atlas", *arguments]) == 0
        atlas = find_atlas(out, translator.model)
        assert [atlas.head("cross", 0, at).alignment_error_rate for at in range(4)] == expected
        assert atlas.head("encoder", 0, 0).alignment_error_rate is None


def test_atlases_of_parts_are_pooled(folder, whole, tmp_path, capsys, translator):
    """Of a first part that ends with a chunk it is the atlas of the whole, but for what it says of the files."""
    lines = (folder / "one.tsv").read_bytes().splitlines(keepends=True)
    parts = {"a": lines[:512], "b": lines[512:900], "whole": lines[:900]}
    model = ["--checkpoint", str(folder / "checkpoint")]
    for name, some in parts.items():
        (tmp_path / f"{name}.tsv").write_bytes(b"".join(some))
        pairs = ["--pairs", str(tmp_path / f"{name}.tsv"), "--out", str(tmp_path / name), "--workers", "1"]
        assert main(["atlas", *model, *pairs]) == 0
    assert main(["merge", str(tmp_path / "b"), str(tmp_path / "a"), "--out", str(tmp_path / "both"), *model]) == 0
    both, one = files_in(tmp_path / "both"), files_in(tmp_path / "whole")
    assert both["statistics.json.gz"] == one["statistics.json.gz"] and both.keys() == one.keys()
    told, expected = json.loads(both["atlas.json"]), json.loads(one["atlas.json"])
    assert told.pop("provenance")["pairs"] == ["b.tsv", "a.tsv"] and expected.pop("provenance") and told == expected
    assert "2 atlases, 900 sentences" in capsys.readouterr().out
    twice = ["merge", str(tmp_path / "b"), str(tmp_path / "both"), "--out", str(tmp_path / "c")]
    assert main([*twice, *model]) == 1 and "b.tsv would count twice" in capsys.readouterr().err
    assert main(twice) == 1 and "say with --checkpoint" in capsys.readouterr().err


def test_what_is_refused_in_a_sentence(folder, whole, tmp_path, capsys):
    few = write_pairs(tmp_path / "few.tsv", make_pairs(12, 5))
    shared = ["atlas", "--checkpoint", str(folder / "checkpoint"), "--workers", "1", "--pairs"]

    def refused(words: str, *arguments: object) -> None:
        assert main([*shared, *map(str, arguments)]) == 1
        assert words in capsys.readouterr().err

    refused("holds an atlas that is finished", few, "--out", folder / "whole", "--resume")
    refused("cannot be read", tmp_path / "none.tsv", "--out", tmp_path / "out")
    refused("give --engine ray", few, "--out", tmp_path / "out", "--address", "auto")
    nothing = write_pairs(tmp_path / "nothing.tsv", [("", "")])
    refused("No pair of nothing.tsv can be measured: 1 with an empty side", nothing, "--out", tmp_path / "nothing")
    refused("give --resume to go on", nothing, "--out", tmp_path / "nothing")
    refused("is of another measurement", few, "--out", tmp_path / "nothing", "--resume")


def test_a_damaged_shard_is_told(folder, tmp_path, capsys):
    few = write_pairs(tmp_path / "few.tsv", make_pairs(12, 5))
    out = tmp_path / "out"
    out.mkdir()
    plan = Plan.of(folder / "checkpoint", survey([few]), AtlasMeasurement())
    (out / "plan.json").write_text(json.dumps(plan.identity()))
    (out / "shard-00000.json.gz").write_bytes(b"damaged")
    shared = ["--checkpoint", str(folder / "checkpoint"), "--pairs", str(few), "--out", str(out)]
    assert main(["atlas", *shared, "--resume", "--workers", "1"]) == 1
    assert "shard-00000.json.gz is damaged" in capsys.readouterr().err
