"""Importance of heads: all at once as one at a time, against NumPy, over a corpus, and as pooled tables."""

import csv
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.models import attention_blocks, bias_logits, random_sources, unlike_model
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
from transformer.interpret.what_if.running import (
    Means,
    apply_interventions,
    apply_interventions_side_by_side,
)
from transformer.model.names import AttentionKind

BEGIN = 2
SOURCE, TARGET = random_sources(7)[0], [9, 8, 7, 3]


def log_probabilities(model, source=SOURCE, target=TARGET):
    logits = record(model, [source], [[BEGIN, *target[:-1]]], Request(keep=())).logits[0]
    return logits.double().log_softmax(dim=-1)[range(len(target)), target].numpy()


@pytest.mark.parametrize("norm, ablate", [("post", Zero), ("pre", Mean), ("pre", Uniform)])
def test_all_heads_at_once_are_each_head_alone(norm, ablate):
    model = unlike_model(norm=norm)
    means = Means(torch.randn(2, 4, 6), torch.randn(3, 4, 6), torch.randn(3, 4, 6))
    importance = head_importance(model, SOURCE, TARGET, ablate, means)
    assert (importance.encoder.shape, importance.decoder.shape, importance.cross.shape) == (
        (2, 4, 4),
        (3, 4, 4),
        (3, 4, 4),
    )
    whole = log_probabilities(model)
    assert importance.log_probabilities == near(whole)
    for heads in every_head(model):
        with apply_interventions(model, [ablate.of(heads)], means):
            alone = whole - log_probabilities(model)
        assert importance.of(heads.kind)[heads.layer, heads.head] == near(alone, scale=whole)
    ranked = importance.ranked()
    assert len(ranked) == 2 * 4 + 2 * 3 * 4
    assert [loss for _, loss in ranked] == sorted((loss for _, loss in ranked), reverse=True)
    assert ranked[0][1] == pytest.approx(importance.of(ranked[0][0].kind)[ranked[0][0].layer, ranked[0][0].head].sum())


def test_parts_of_the_heads_in_any_order_are_joined_to_all_of_them():
    model = unlike_model()
    whole, heads = head_importance(model, SOURCE, TARGET), every_head(model)[::-1]
    parts = [head_losses(model, SOURCE, TARGET, some) for some in (heads[:5], heads[5:6], heads[6:])]
    importance = joined(model, parts)
    for kind in AttentionKind:
        assert importance.of(kind) == near(whole.of(kind), scale=whole.log_probabilities)
        assert np.array_equal(importance.turned[kind], whole.turned[kind])
    assert importance.log_probabilities == near(whole.log_probabilities)


def test_turning_heads_are_those_without_which_greedy_decoding_differs():
    """Padding is the most probable token at every step; no head makes greedy decoding take it."""
    model = bias_logits(unlike_model(), {0: 30.0, 3: 1.0})
    (best,) = decode(model, [SOURCE], Greedy())
    importance, turned = head_importance(model, SOURCE, best.ids), []
    for heads in every_head(model):
        with apply_interventions(model, [Zero.of(heads)]):
            turned.append(decode(model, [SOURCE], Greedy())[0].ids != best.ids)
        assert importance.turned[heads.kind][heads.layer, heads.head] == turned[-1]
    assert 0 < sum(turned) < len(turned)


def test_each_sentence_of_a_batch_has_interventions_of_its_own():
    model, fed = unlike_model(), [BEGIN, 9, 8, 7]
    sentences = random_sources(7, 7, 5, seed=4)
    by_sentence = [["focus:cross.*.*:1@1-"], [], ["zero:encoder.1.2", "shift:decoder.0.*:-1"]]
    with apply_interventions_side_by_side(model, by_sentence):
        together = record(model, sentences, [fed] * 3).logits
    for number, (source, interventions) in enumerate(zip(sentences, by_sentence, strict=True)):
        with apply_interventions(model, interventions):
            alone = record(model, [source], [fed]).logits[0]
        assert together[number] == near(alone)


@pytest.fixture(scope="module")
def examples(translator, tokenizer):
    return make_examples(make_pairs(9, 3), tokenizer, translator.model.config.max_length)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(data_sums, "TOKENS_PER_BATCH", 24)


def test_the_sums_have_every_token_and_its_square(translator, examples):
    alone = [head_importance(translator.model, each.source, each.target[1:]) for each in examples]
    done: list[int] = []
    measured = measure_importance(translator.model, examples, progress=done.append)
    assert done[-1] == len(examples) and done == sorted(set(done)) and len(done) > 2
    assert (measured.sentences, measured.tokens) == (9, sum(len(each.target) - 1 for each in examples))
    assert measured.heads == tuple(every_head(translator.model))
    losses = [
        *([each.of(head.kind)[head.layer, head.head] for each in alone] for head in measured.heads),
        [each.log_probabilities for each in alone],
    ]
    tokens = np.array([len(each.target) - 1 for each in examples])
    log_p = np.concatenate(losses[-1])
    for values, row, mean, deviation, error in zip(
        losses, measured.sums, measured.means, measured.deviations, measured.standard_errors, strict=True
    ):
        every, of_sentences = np.concatenate(values), np.array([each.sum() for each in values])
        expected = every.sum(), (every**2).sum(), (of_sentences**2).sum(), (of_sentences * tokens).sum()
        np.testing.assert_allclose(row, expected, rtol=1e-3, atol=2e-4)
        assert mean == near(every.mean(), scale=log_p) and deviation == near(every.std(), scale=log_p)
        residuals = of_sentences - every.mean() * tokens
        assert error == near(np.sqrt((residuals**2).sum()) / tokens.sum(), scale=log_p)


@pytest.mark.parametrize("ablation", ["zero", "mean", "uniform"])
def test_each_ablation_by_its_name_is_a_model_changed_by_a_hook(translator, examples, ablation):
    """Replace one head by zero, its mean over all tokens of the examples, or the mean of the values."""
    model = translator.model
    measured = translator.head_importance(make_pairs(9, 3), ablation)

    def log_p(example):
        return log_probabilities(model, example.source, list(example.target[1:]))

    for kind, layer, head in (("encoder", 1, 2), ("cross", 2, 0)):
        core, outputs = attention_blocks(model, kind)[layer].core, []
        handle = core.register_forward_hook(
            lambda *call, outputs=outputs, at=head: outputs.append(call[2][0, at].double())
        )
        whole = [log_p(each) for each in examples]
        handle.remove()
        mean = torch.cat(outputs).mean(dim=0).float()

        def replace(_, inputs, output, at=head, mean=mean):
            filling = {"zero": 0 * mean, "mean": mean, "uniform": inputs[2][:, at].mean(dim=1, keepdim=True)}
            output = output.clone()
            output[:, at] = filling[ablation]
            return output

        handle = core.register_forward_hook(replace)
        losses = [before - log_p(each) for before, each in zip(whole, examples, strict=True)]
        handle.remove()
        loss, scale = measured.of(kind)[layer, head], np.concatenate(whole)
        assert loss == near(np.concatenate(losses).mean(), scale=scale) and loss != near(0, scale=scale)


def test_given_means_take_the_place_of_those_over_the_same_pairs(translator):
    some, others = make_pairs(9, 3), make_pairs(9, 4)
    alone, with_same, with_other = (
        translator.head_importance(some, "mean", means=means).cross
        for means in (None, translator.measure_means(some), translator.measure_means(others))
    )
    assert np.array_equal(alone, with_same) and not np.array_equal(alone, with_other)
    with pytest.raises(ValueError, match="^ablation must be one of zero, mean, uniform, got 'half'"):
        translator.head_importance(some, "half")


def test_parts_of_a_corpus_add_up_to_the_whole(translator, examples):
    whole = measure_importance(translator.model, examples)
    both = measure_importance(translator.model, examples[:4]) + measure_importance(translator.model, examples[4:])
    assert both.means == near(whole.means)
    assert both.standard_errors == near(whole.standard_errors, scale=whole.means)
    for name in ("tokens", "squared_tokens", "sentences"):
        assert getattr(both, name) == getattr(whole, name)
    with pytest.raises(ValueError, match="same heads"):
        whole + replace(whole, heads=whole.heads[::-1])


@pytest.fixture
def command(checkpoint_folder, tmp_path, monkeypatch):
    """Run `importance` over some pairs, into a file; returns the exit status."""
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def run(pairs, out, *more):
        path = str(write_pairs(tmp_path / f"{out.stem}.tsv", pairs))
        model = ["--checkpoint", str(checkpoint_folder), "--workers", "1"]
        return main(["importance", *model, "--pairs", path, "--out", str(out), *more])

    return run


@pytest.mark.parametrize("ablation", ["zero", "mean", "uniform"])
def test_the_command_writes_a_table(command, checkpoint_folder, tmp_path, ablation):
    out, translator = tmp_path / "heads.csv", Translator.load(checkpoint_folder, "cpu")
    assert command(make_pairs(4, 3), out, "--ablation", ablation) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    examples = make_examples(make_pairs(4, 3), translator.tokenizer, translator.model.config.max_length)
    sums = measure_importance(translator.model, examples, ablation)
    ranked = sums.importance().ranked()
    numbers = {"loss_in_nats_a_token": sums.means, "standard_error": sums.standard_errors}
    numbers |= {"standard_deviation": sums.deviations, "sum": sums.sums[:, 0], "sum_of_squares": sums.sums[:, 1]}
    assert len(rows) == len(ranked)
    for row, (head, _) in zip(rows, ranked, strict=True):
        assert row["intervention"] == str(ABLATIONS[ablation].of(head))
        assert (row["kind"], int(row["layer"]), int(row["head"])) == (head.kind, head.layer + 1, head.head + 1)
        assert (int(row["tokens"]), int(row["sentences"])) == (sums.tokens, 4)
        at = sums.heads.index(head)
        expected = [values[at] for values in numbers.values()]
        assert [float(row[name]) for name in numbers] == near(expected, scale=sums.means * sums.tokens)
    loaded = ImportanceTable.load(out)
    digest = hashlib.sha256((checkpoint_folder / "model.safetensors").read_bytes()).hexdigest()
    assert (loaded.ablation, loaded.provenance.weights, loaded.provenance.lines) == (ablation, digest, 4)
    assert loaded.provenance.pairs == ("heads.tsv",)
    frame = loaded.to_frame().sort_values("loss_in_nats_a_token", ascending=False, kind="stable")
    for name in numbers:
        assert [f"{each:.6f}" for each in frame[name]] == [row[name] for row in rows]
    assert sorted(path.name for path in tmp_path.glob("heads.csv*")) == ["heads.csv", "heads.csv.json"]


def test_tables_of_parts_are_merged_to_that_of_the_whole(command, tmp_path, capsys):
    pairs = make_pairs(9, 3)
    whole, one, two, out = (tmp_path / f"{name}.csv" for name in ("all", "one", "two", "out"))
    assert [command(pairs, whole), command(pairs[:4], one), command(pairs[4:], two)] == [0, 0, 0]
    assert main(["merge", str(one), str(two), "--out", str(out)]) == 0
    merged, expected = ImportanceTable.load(out), ImportanceTable.load(whole)
    assert merged.sums.means == near(expected.sums.means)
    assert merged.sums.standard_errors == near(expected.sums.standard_errors, scale=expected.sums.means)
    assert (merged.sums.tokens, merged.sums.sentences) == (expected.sums.tokens, 9)
    assert merged.provenance.pairs == ("one.tsv", "two.tsv") and merged.provenance.lines == 9
    stored = json.loads((tmp_path / "two.csv.json").read_text())
    for content, message in (
        ({"provenance": {**stored["provenance"], "weights": "0" * 64}}, "same weights"),
        ({"ablation": "mean"}, "same ablation"),
        ({"provenance": json.loads((tmp_path / "one.csv.json").read_text())["provenance"]}, "would count twice"),
    ):
        (tmp_path / "other.csv.json").write_text(json.dumps(stored | content))
        assert main(["merge", str(one), str(tmp_path / "other.csv"), "--out", str(out)]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"tokens": 3},
        {"ablation": "burnt"},
        {"provenance": {}},
        {"heads": [["encoder", 0, 0, float("nan"), 1, 1, 1]]},
        {"heads": [["encoder", 0, -1, 1, 1, 1, 1]]},
        {"heads": [["encoder", 0, 0, 1, -1, 1, 1]]},
        {"heads": [["encoder", 0, 0, 2**121, 2**243, 1, 1]]},
        {"heads": [["encoder", 0, 0, 7, 7, 7, 7]]},
        {"heads": []},
        {"log_probability": [1]},
    ],
)
def test_a_damaged_table_is_refused(tmp_path, change):
    ones = np.full((33, 4), 7.0)
    sums = ImportanceSums(tuple(every_head(unlike_model())), ones, 7, 25, 2)
    path = tmp_path / "heads.csv"
    ImportanceTable(sums, "zero", Provenance(("a.tsv",), ("e" * 64,), "f" * 64, "1.0.0", 2, {})).save(path)
    assert np.array_equal(ImportanceTable.load(path).sums.sums, sums.sums)
    stored = json.loads((tmp_path / "heads.csv.json").read_text())
    (tmp_path / "heads.csv.json").write_text(json.dumps(stored | change))
    with pytest.raises(CheckpointError, match="heads.csv.json cannot be read"):
        ImportanceTable.load(path)
