"""`headlight atlas`: the contents of its files, the pooling of atlases, and refusals."""

import csv
from pathlib import Path

import numpy as np
import pytest
from support.tiny import make_pairs, write_pairs
from support.tolerance import near

from transformer.__main__ import main
from transformer.checkpoint import save_checkpoint, weights_digest
from transformer.corpus.alignment.aligners import aligners_of
from transformer.corpus.alignment.table import AlignmentTable, save_alignment
from transformer.corpus.atlas.atlas import Role, find_atlas
from transformer.corpus.atlas.run import read_statistics
from transformer.interpret.head_patterns import Pattern
from transformer.interpret.what_if.importance import every_head
from transformer.model.names import AttentionKind
from transformer.translator import Translator

pytestmark = pytest.mark.usefixtures("command_line")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, translator) -> Path:
    """Write a checkpoint, and two files of pairs with three bad lines: five chunks."""
    folder = tmp_path_factory.mktemp("atlas")
    save_checkpoint(folder / "checkpoint", translator.checkpoint)
    write_pairs(folder / "one.tsv", make_pairs(1500, 5))
    write_pairs(folder / "two.tsv", [*make_pairs(900, 6), ("", ""), ("no", "\t"), ("red " * 40, "rot")])
    return folder


def command(folder: Path, out: Path, *more: object) -> list[str]:
    pairs = [str(folder / "one.tsv"), str(folder / "two.tsv")]
    return ["atlas", "--checkpoint", str(folder / "checkpoint"), "--pairs", *pairs, "--out", str(out), *map(str, more)]


def test_the_files_have_the_statistics_of_the_corpus_and_maps_of_its_traces(folder, translator):
    whole = folder / "whole"
    assert main(command(folder, whole, "--workers", 1)) == 0
    atlas = find_atlas(whole, translator.model)
    skipped = {"longer than 20 tokens a side": 1, "with an empty side": 1, "with more than one tab": 1}
    provenance = atlas.provenance
    assert (atlas.sentences_measured, provenance.lines, provenance.skipped) == (2400, 2403, skipped)
    assert provenance.pairs == ("one.tsv", "two.tsv") and provenance.weights == weights_digest(folder / "checkpoint")
    counted = read_statistics(whole / "statistics.json.gz")
    for entry in atlas.entries():
        kind, number = counted.kinds[entry.kind], entry.layer * 4 + entry.head
        assert sum(entry.greatest) == sum(entry.confidence) == kind.measured <= 2400
        for at, pattern in enumerate(Pattern):
            role = entry.roles.get(pattern, Role(0, 0, 0))
            assert kind.roles[number, :, at].tolist() == [role.labelled, role.rows, role.eligible]
        assert {each.fifth for each in entry.examples if not each.strongest} == set(range(5))
        strongest = [each.confidence for each in entry.examples if each.strongest]
        assert len(strongest) == 6 and strongest == sorted(strongest, reverse=True)
        cosines = kind.products[number] / np.sqrt(np.diagonal(kind.products) * kind.products[number, number])
        cosines[number] = -1
        assert [each.layer * 4 + each.head for each in entry.nearest] == np.argsort(-cosines)[:5].tolist()
        assert [each.cosine for each in entry.nearest] == pytest.approx(-np.sort(-cosines)[:5], abs=1e-4)
    frame = atlas.to_frame()
    assert len(frame) == len(every_head(translator.model)) and frame["importance"].isna().all()
    translator = Translator.load(folder / "checkpoint", "cpu")
    for kind in AttentionKind:
        entry = atlas.head(kind, 0, 1)
        for example in (entry.examples[0], entry.examples[-1]):
            sentence = atlas.sentences[example.sentence]
            texts = ("".join(tokens[:-1]).replace("▁", " ").strip() for tokens in (sentence.source, sentence.target))
            expected = translator.trace(next(texts), target=next(texts)).attention(kind)[0, 1]
            drawn = np.zeros_like(expected)
            np.put(drawn, example.cells, example.weights)
            dropped = (expected * (drawn == 0)).max(axis=-1)
            assert abs(drawn - expected)[drawn > 0].max() < 1e-3
            assert (((drawn > 0).sum(axis=-1) >= 8) | (dropped < 0.006)).all()


def test_importance_and_alignment_error_rates_are_those_of_the_same_weights(tmp_path, translator, capsys):
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, translator.checkpoint)
    aligners = aligners_of(translator.model)
    halves = np.zeros((2, len(aligners), 2, 2, 4), dtype=int)
    halves[...] = (1, 2, 4, 4)  # sure hits, possible hits, links, sure ones: a rate of 1 - 3 / 8
    head = next(row for row, each in enumerate(aligners) if (each.method, each.layer, each.head) == ("head", 0, 2))
    halves[:, head, 1, 0] = 3, 3, 4, 4
    errors = np.zeros((3, len(aligners), 2, 2))
    few, table = write_pairs(tmp_path / "few.tsv", make_pairs(12, 5)), tmp_path / "heads.csv"
    measured = ["--checkpoint", str(folder), "--pairs", str(few), "--workers", "1", "--out"]
    assert main(["importance", *measured, str(table)]) == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == len(every_head(translator.model))
    atlases = ["atlas", *measured[:-1], "--importance", str(table), "--out"]
    for weights, expected in ((weights_digest(folder), [0.625, 0.625, 0.25, 0.625]), ("0" * 64, [None] * 4)):
        save_alignment(folder / "alignment.json", AlignmentTable("gold", 2, weights, aligners, halves, errors))
        out = tmp_path / weights[:8]
        assert main([*atlases, str(out)]) == 0
        atlas = find_atlas(out, translator.model)
        assert [atlas.head("cross", 0, at).alignment_error_rate for at in range(4)] == expected
        assert atlas.head("encoder", 0, 0).alignment_error_rate is None
        for row in rows:
            importance = atlas.head(row["kind"], int(row["layer"]) - 1, int(row["head"]) - 1).importance
            assert importance == near((float(row["loss_in_nats_a_token"]), float(row["standard_error"])))
    content = table.with_name("heads.csv.json")
    content.write_text(content.read_text().replace(weights_digest(folder), "0" * 64))
    assert main([*atlases, str(tmp_path / "other")]) == 1 and "is of other weights" in capsys.readouterr().err


def test_atlases_of_parts_are_pooled(folder, tmp_path, capsys, translator):
    """The first part ends with a chunk, so that the batches are those of the whole."""
    lines = (folder / "one.tsv").read_bytes().splitlines(keepends=True)
    parts = {"a": lines[:512], "b": lines[512:600], "all": lines[:600]}
    model = ["--checkpoint", str(folder / "checkpoint")]
    for name, some in parts.items():
        (tmp_path / f"{name}.tsv").write_bytes(b"".join(some))
        pairs = ["--pairs", str(tmp_path / f"{name}.tsv"), "--out", str(tmp_path / name), "--workers", "1"]
        assert main(["atlas", *model, *pairs]) == 0
    assert main(["merge", str(tmp_path / "b"), str(tmp_path / "a"), "--out", str(tmp_path / "both"), *model]) == 0
    statistics = [read_statistics(tmp_path / name / "statistics.json.gz") for name in ("both", "all")]
    assert statistics[0].ids == statistics[1].ids
    np.testing.assert_allclose(*(each.kinds["cross"].sums for each in statistics), rtol=1e-9)
    pooled, expected = (find_atlas(tmp_path / name, translator.model) for name in ("both", "all"))
    assert pooled.provenance.pairs == ("b.tsv", "a.tsv") and pooled.provenance.lines == 600
    for entry, other in zip(pooled.entries(), expected.entries(), strict=True):
        assert (entry.roles, entry.greatest) == (other.roles, other.greatest)
        assert len(entry.examples) == len(other.examples)
    assert "2 atlases, 600 sentences" in capsys.readouterr().out
    twice = ["merge", str(tmp_path / "b"), str(tmp_path / "both"), "--out", str(tmp_path / "c")]
    assert main([*twice, *model]) == 1 and "b.tsv would count twice" in capsys.readouterr().err
    assert main(twice) == 1 and "say with --checkpoint" in capsys.readouterr().err
