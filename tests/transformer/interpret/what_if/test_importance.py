"""Importance of heads: all at once as one at a time, over a corpus, and as pooled tables."""

import csv
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.models import bias_logits, random_sources, unlike_model
from support.tiny import make_pairs, write_pairs
from support.tolerance import near

from transformer import Translator
from transformer.__main__ import main
from transformer.corpus.importance_table import ImportanceTable
from transformer.corpus.provenance import Provenance
from transformer.data import sums as data_sums
from transformer.data.batching import make_examples
from transformer.decoding.sampling import Greedy, decode
from transformer.errors import CheckpointError
from transformer.interpret.activations import Request, record
from transformer.interpret.what_if.importance import (
    ABLATIONS,
    ImportanceSums,
    every_head,
    head_importance,
    head_losses,
    joined,
    measure_importance,
)
from transformer.interpret.what_if.intervention import Mean, Uniform, Zero
from transformer.interpret.what_if.running import Means, apply_interventions
from transformer.model.names import AttentionKind

BEGIN = 2
SOURCE, TARGET = random_sources(7)[0], [9, 8, 7, 3]


def log_probabilities(model, source=SOURCE, target=TARGET):
    logits = record(model, [source], [[BEGIN, *target[:-1]]], Request(keep=())).logits[0]
    return logits.double().log_softmax(dim=-1)[range(len(target)), target].numpy()


@pytest.mark.parametrize("norm, ablate", [("post", Zero), ("pre", Mean), ("pre", Uniform)])
def test_all_heads_at_once_are_each_head_alone(norm, ablate):
    """And parts of the heads, in any order, are joined to all of them."""
    model = unlike_model(norm=norm)
    means, heads = Means(*torch.randn(3, 3, 4, 6)), every_head(model)[::-1]
    importance = head_importance(model, SOURCE, TARGET, ablate, means)
    parts = [head_losses(model, SOURCE, TARGET, some, ablate, means) for some in (heads[:5], heads[5:])]
    whole, again = log_probabilities(model), joined(model, parts)
    assert importance.log_probabilities == near(whole)
    for kind in AttentionKind:
        assert importance.of(kind).shape == (2 if kind == "encoder" else 3, 4, 4)
        assert again.of(kind) == near(importance.of(kind), scale=whole)
        assert np.array_equal(again.turned[kind], importance.turned[kind])
    for head in heads:
        with apply_interventions(model, [ablate.of(head)], means):
            alone = whole - log_probabilities(model)
        assert importance.of(head.kind)[head.layer, head.head] == near(alone, scale=whole)
        probabilities = parts[head not in heads[:5]].probabilities(head)
        assert probabilities == near(np.exp(whole - alone), scale=np.exp(whole))
    ranked = importance.ranked()
    assert {head for head, _ in ranked} == set(heads)
    assert [loss for _, loss in ranked] == sorted((loss for _, loss in ranked), reverse=True)
    assert ranked[0][1] == pytest.approx(importance.total(ranked[0][0].kind)[ranked[0][0].layer, ranked[0][0].head])


def test_turning_heads_are_those_without_which_greedy_decoding_differs():
    """Padding is the most probable token at every step; no head makes greedy decoding take it."""
    model = bias_logits(unlike_model(), {0: 30.0, 3: 1.0})
    (best,) = decode(model, [SOURCE], Greedy())
    importance, turned = head_importance(model, SOURCE, best.ids), []
    for head in every_head(model):
        with apply_interventions(model, [Zero.of(head)]):
            turned.append(decode(model, [SOURCE], Greedy())[0].ids != best.ids)
        assert importance.turned[head.kind][head.layer, head.head] == turned[-1]
    assert 0 < sum(turned) < len(turned)


@pytest.fixture(scope="module")
def examples(translator, tokenizer):
    return make_examples(make_pairs(5, 3), tokenizer, translator.model.config.max_length)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(data_sums, "TOKENS_PER_BATCH", 24)


def test_the_sums_have_every_token_and_its_square_and_those_of_parts_add_up(translator, examples):
    alone = [head_importance(translator.model, each.source, each.target[1:]) for each in examples]
    done: list[int] = []
    measured = measure_importance(translator.model, examples, progress=done.append)
    assert done[-1] == len(examples) and done == sorted(set(done)) and len(done) > 2
    tokens = np.array([len(each.target) - 1 for each in examples])
    assert (measured.sentences, measured.tokens) == (len(examples), tokens.sum())
    assert measured.heads == tuple(every_head(translator.model))
    losses = [[each.of(head.kind)[head.layer, head.head] for each in alone] for head in measured.heads]
    losses.append([each.log_probabilities for each in alone])
    log_p = np.concatenate(losses[-1])
    for row, values in enumerate(losses):
        every, of_sentences = np.concatenate(values), np.array([each.sum() for each in values])
        expected = every.sum(), (every**2).sum(), (of_sentences**2).sum(), (of_sentences * tokens).sum()
        np.testing.assert_allclose(measured.sums[row], expected, rtol=1e-3, atol=2e-4)
        assert measured.means[row] == near(every.mean(), scale=log_p)
        assert measured.deviations[row] == near(every.std(), scale=log_p)
        error = np.sqrt(((of_sentences - every.mean() * tokens) ** 2).sum()) / tokens.sum()
        assert measured.standard_errors[row] == near(error, scale=log_p)
    both = measure_importance(translator.model, examples[:3]) + measure_importance(translator.model, examples[3:])
    assert both.sums == near(measured.sums)
    for name in ("tokens", "squared_tokens", "sentences"):
        assert getattr(both, name) == getattr(measured, name)
    with pytest.raises(ValueError, match="same heads"):
        both + replace(both, heads=both.heads[::-1])


def test_given_means_take_the_place_of_those_over_the_same_pairs(translator):
    some, others = make_pairs(1, 3), make_pairs(1, 4)
    alone, with_same, with_other = (
        translator.head_importance(some, "mean", means=means).cross
        for means in (None, translator.measure_means(some), translator.measure_means(others))
    )
    assert np.array_equal(alone, with_same) and not np.array_equal(alone, with_other)
    with pytest.raises(ValueError, match="^ablation must be one of zero, mean, uniform, got 'half'"):
        translator.head_importance(some, "half")


def test_the_command_writes_a_table_and_those_of_parts_are_merged(checkpoint_folder, tmp_path, command_line, capsys):
    translator, pairs, column = Translator.load(checkpoint_folder, "cpu"), make_pairs(2, 3), "loss_in_nats_a_token"
    for name, some in (("all", pairs), ("one", pairs[:1]), ("two", pairs[1:])):
        files = ["--pairs", str(write_pairs(tmp_path / f"{name}.tsv", some)), "--out", str(tmp_path / f"{name}.csv")]
        model = ["--checkpoint", str(checkpoint_folder), "--workers", "1", "--ablation", "uniform"]
        assert main(["importance", *model, *files]) == 0
    one, two, out = (str(tmp_path / f"{name}.csv") for name in ("one", "two", "out"))
    assert main(["merge", one, two, "--out", out]) == 0
    whole, merged = (ImportanceTable.load(tmp_path / name) for name in ("all.csv", "out.csv"))
    assert merged.sums.sums == near(whole.sums.sums) and merged.provenance.pairs == ("one.tsv", "two.tsv")
    digest = hashlib.sha256((checkpoint_folder / "model.safetensors").read_bytes()).hexdigest()
    for table in (whole, merged):
        assert (table.ablation, table.provenance.weights, table.provenance.lines) == ("uniform", digest, 2)
    sums = measure_importance(translator.model, make_examples(pairs, translator.tokenizer, 20), "uniform")
    assert whole.sums.sums == near(sums.sums)
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    names = [str(ABLATIONS["uniform"].of(head)) for head, _ in sums.importance().ranked()]
    assert [row["intervention"] for row in rows] == names
    frame = whole.to_frame().sort_values(column, ascending=False, kind="stable")
    for name in frame.select_dtypes("float"):
        assert [f"{each:.6f}" for each in frame[name]] == [row[name] for row in rows]
    stored = json.loads((tmp_path / "two.csv.json").read_text())
    for content, message in (
        ({"provenance": {**stored["provenance"], "weights": "0" * 64}}, "same weights"),
        ({"ablation": "mean"}, "same ablation"),
    ):
        (tmp_path / "other.csv.json").write_text(json.dumps(stored | content))
        assert main(["merge", one, str(tmp_path / "other.csv"), "--out", out]) == 1
        assert message in capsys.readouterr().err


def test_a_damaged_table_is_refused(tmp_path):
    sums = ImportanceSums(tuple(every_head(unlike_model())), np.full((33, 4), 7.0), 7, 25, 2)
    path = tmp_path / "heads.csv"
    ImportanceTable(sums, "zero", Provenance(("a.tsv",), ("e" * 64,), "f" * 64, "1.0.0", 2, {})).save(path)
    assert np.array_equal(ImportanceTable.load(path).sums.sums, sums.sums)
    stored = json.loads((tmp_path / "heads.csv.json").read_text())
    changes = [{"version": 3}, {"ablation": "burnt"}, {"provenance": {}}]
    parts = [{"tokens": 3}, {"tokens": -1}, {"heads": []}, {"heads": stored["sums"]["heads"][1:]}, {"sums": [[1, 2]]}]
    for row in ([1, -1, 1, 1], [2**121, 2**243, 1, 1], [7, 7, 7], [float("nan"), 1, 1, 1], [-8, 7, 7, 7]):
        parts.append({"sums": [row, *stored["sums"]["sums"][1:]]})
    for change in (*changes, *({"sums": stored["sums"] | part} for part in parts)):
        (tmp_path / "heads.csv.json").write_text(json.dumps(stored | change))
        with pytest.raises(CheckpointError, match="heads.csv.json cannot be read"):
            ImportanceTable.load(path)
