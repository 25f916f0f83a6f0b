"""The importance of heads: all at once as one at a time, against NumPy, over a corpus, as tables that are pooled."""

import csv
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.models import attention_blocks, bias_logits, random_sources, unlike_model
from support.tiny import make_pairs, write_pairs
from support.tolerance import near
from support.traces import CHECKPOINTS, loaded, trace_of

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
    found = head_importance(model, SOURCE, TARGET, ablate, means)
    assert (found.encoder.shape, found.decoder.shape, found.cross.shape) == ((2, 4, 4), (3, 4, 4), (3, 4, 4))
    whole = log_probabilities(model)
    assert found.log_probabilities == near(whole)
    for heads in every_head(model):
        with apply_interventions(model, [ablate.of(heads)], means):
            alone = whole - log_probabilities(model)
        assert found.of(heads.kind)[heads.layer, heads.head] == near(alone, scale=whole)
    ranked = found.ranked()
    assert len(ranked) == 2 * 4 + 2 * 3 * 4
    assert [loss for _, loss in ranked] == sorted((loss for _, loss in ranked), reverse=True)
    assert ranked[0][1] == pytest.approx(found.of(ranked[0][0].kind)[ranked[0][0].layer, ranked[0][0].head].sum())


def test_parts_of_the_heads_in_any_order_are_joined_to_all_of_them():
    model = unlike_model()
    whole, heads = head_importance(model, SOURCE, TARGET), every_head(model)[::-1]
    parts = [head_losses(model, SOURCE, TARGET, some) for some in (heads[:5], heads[5:6], heads[6:])]
    found = joined(model, parts)
    for kind in AttentionKind:
        assert found.of(kind) == near(whole.of(kind), scale=whole.log_probabilities)
        assert np.array_equal(found.turned[kind], whole.turned[kind])
    assert found.log_probabilities == near(whole.log_probabilities)


@pytest.mark.parametrize("text", ["I think that he has never read this book."])
def test_without_the_heads_that_turn_it_and_no_others_greedy_decoding_leaves_the_translation(shipped, text):
    trace = shipped.trace(text)
    found = head_importance(shipped.model, trace.source_ids, trace.target_ids)
    turned = {
        str(Zero.of(head)): bool(found.turned[head.kind][head.layer, head.head]) for head in every_head(shipped.model)
    }
    assert 0 < sum(turned.values()) < len(turned)
    for intervention, turns in turned.items():
        assert (shipped.translate([text], interventions=[intervention])[0] != trace.target_text) == turns


def test_what_decoding_never_chooses_turns_no_translation():
    """Padding is the most probable token at every step, and no head makes greedy decoding take it."""
    model = bias_logits(unlike_model(), {0: 30.0, 3: 1.0})
    (best,) = decode(model, [SOURCE], Greedy())
    found, turned = head_importance(model, SOURCE, best.ids), []
    for heads in every_head(model):
        with apply_interventions(model, [Zero.of(heads)]):
            turned.append(decode(model, [SOURCE], Greedy())[0].ids != best.ids)
        assert found.turned[heads.kind][heads.layer, heads.head] == turned[-1]
    assert 0 < sum(turned) < len(turned)


def test_each_sentence_of_a_batch_has_interventions_of_its_own():
    model, fed = unlike_model(), [BEGIN, 9, 8, 7]
    sentences = random_sources(7, 7, 5, seed=4)
    asked = [["focus:cross.*.*:1@1-"], [], ["zero:encoder.1.2", "shift:decoder.0.*:-1"]]
    with apply_interventions_side_by_side(model, asked):
        together = record(model, sentences, [fed] * 3).logits
    for number, (source, own) in enumerate(zip(sentences, asked, strict=True)):
        with apply_interventions(model, own):
            alone = record(model, [source], [fed]).logits[0]
        assert together[number] == near(alone)


@pytest.mark.parametrize("name, some", [("en-de", 9), ("reverse", 5)])
def test_it_is_what_numpy_makes_of_the_checkpoints_file(name, some):
    """Michel et al.'s ablation: the head's rows of W_O are 0 in a NumPy program that shares no code with the engine."""
    trace, by_hand = trace_of(name, "I love my teacher."), ByHand(CHECKPOINTS / name)
    found = head_importance(loaded(name).model, trace.source_ids, trace.target_ids)

    def by_numpy():
        logits = by_hand.run(trace.source_ids, trace.decoder_input_ids)
        logits = logits - logits.max(axis=1, keepdims=True)
        own = logits[range(len(trace.target_ids)), trace.target_ids]
        return own - np.log(np.exp(logits).sum(axis=1))

    whole = by_numpy()
    np.testing.assert_allclose(found.log_probabilities, whole, atol=2e-3)
    for heads in every_head(loaded(name).model)[::some]:
        weight = f"{heads.kind.block_name(heads.layer)}.output.weight"
        kept, width = by_hand.weights[weight], by_hand.config["d_model"] // by_hand.config["num_heads"]
        by_hand.weights[weight] = kept.copy()
        by_hand.weights[weight][:, heads.head * width : (heads.head + 1) * width] = 0
        np.testing.assert_allclose(found.of(heads.kind)[heads.layer, heads.head], whole - by_numpy(), atol=4e-3)
        by_hand.weights[weight] = kept


@pytest.fixture(scope="module")
def examples(translator, tokenizer):
    return make_examples(make_pairs(9, 3), tokenizer, translator.model.config.max_length)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(data_sums, "TOKENS_PER_BATCH", 24)


def test_over_a_corpus_it_is_the_mean_over_all_target_tokens(translator, examples):
    model = translator.model
    found = translator.head_importance(make_pairs(9, 3))
    alone = [head_importance(model, each.source, each.target[1:]) for each in examples]
    log_p = np.concatenate([each.log_probabilities for each in alone])
    for kind in ("encoder", "decoder", "cross"):
        expected = np.concatenate([each.of(kind) for each in alone], axis=2).mean(axis=2)
        assert found.total(kind) == near(expected, scale=log_p)
    assert float(found.log_probabilities) == near(log_p.mean())


def test_the_sums_have_every_token_and_its_square(translator, examples):
    """Of each pair alone, token by token, added up here."""
    alone = [head_importance(translator.model, each.source, each.target[1:]) for each in examples]
    found = measure_importance(translator.model, examples)
    assert (found.sentences, found.tokens) == (9, sum(len(each.target) - 1 for each in examples))
    assert found.heads == tuple(every_head(translator.model))
    losses = [
        *([each.of(head.kind)[head.layer, head.head] for each in alone] for head in found.heads),
        [each.log_probabilities for each in alone],
    ]
    tokens = np.array([len(each.target) - 1 for each in examples])
    log_p = np.concatenate(losses[-1])
    for values, row, mean, deviation, error in zip(
        losses, found.sums, found.means, found.deviations, found.standard_errors, strict=True
    ):
        every, of_sentences = np.concatenate(values), np.array([each.sum() for each in values])
        expected = every.sum(), (every**2).sum(), (of_sentences**2).sum(), (of_sentences * tokens).sum()
        np.testing.assert_allclose(row, expected, rtol=1e-3, atol=2e-4)
        assert mean == near(every.mean(), scale=log_p) and deviation == near(every.std(), scale=log_p)
        residuals = of_sentences - every.mean() * tokens
        assert error == near(np.sqrt((residuals**2).sum()) / tokens.sum(), scale=log_p)


@pytest.mark.parametrize("ablation", ["zero", "mean", "uniform"])
def test_each_ablation_by_its_name_is_a_model_changed_by_the_tests_own_hook(translator, examples, ablation):
    """A pass a sentence, one head replaced: by its mean over all tokens of the examples, or by that of the values."""
    model = translator.model
    found = translator.head_importance(make_pairs(9, 3), ablation)
    for kind, layer, head in (("encoder", 1, 2), ("cross", 2, 0)):
        core = attention_blocks(model, kind)[layer].core
        outputs = []
        handle = core.register_forward_hook(lambda *call, kept=outputs, at=head: kept.append(call[2][0, at].double()))
        whole = [log_p_of(model, each) for each in examples]
        handle.remove()
        mean = torch.cat(outputs).mean(dim=0).float()

        def replace(_, inputs, output, at=head, mean=mean):
            filling = {"zero": 0 * mean, "mean": mean, "uniform": inputs[2][:, at].mean(dim=1, keepdim=True)}
            output = output.clone()
            output[:, at] = filling[ablation]
            return output

        handle = core.register_forward_hook(replace)
        losses = [before - log_p_of(model, each) for before, each in zip(whole, examples, strict=True)]
        handle.remove()
        expected = float(torch.cat(losses).mean())
        loss, log_p = found.of(kind)[layer, head], torch.cat(whole)
        assert loss == near(expected, scale=log_p) and loss != near(0, scale=log_p)


@torch.inference_mode()
def log_p_of(model, example):
    logits = model(torch.tensor([example.source]), torch.tensor([example.target[:-1]]))[0].double()
    return logits.log_softmax(dim=-1)[range(len(example.target) - 1), example.target[1:]]


def test_means_that_are_given_take_the_place_of_those_over_the_same_pairs(translator):
    some, others = make_pairs(9, 3), make_pairs(9, 4)
    means = translator.measure_means(some)
    found = translator.head_importance(some, "mean")
    assert np.array_equal(found.cross, translator.head_importance(some, "mean", means=means).cross)
    assert not np.array_equal(
        found.cross, translator.head_importance(some, "mean", means=translator.measure_means(others)).cross
    )
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


def test_it_tells_how_many_sentences_are_done(translator, examples):
    told: list[int] = []
    measure_importance(translator.model, examples, progress=told.append)
    assert told[-1] == len(examples) and told == sorted(set(told)) and len(told) > 2


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


def test_the_command_writes_a_table(command, checkpoint_folder, tmp_path):
    out, translator = tmp_path / "heads.csv", Translator.load(checkpoint_folder, "cpu")
    assert command(make_pairs(4, 3), out) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    examples = make_examples(make_pairs(4, 3), translator.tokenizer, translator.model.config.max_length)
    expected, sums = (
        translator.head_importance(make_pairs(4, 3)).ranked(),
        measure_importance(translator.model, examples),
    )
    assert len(rows) == len(expected)
    tokens = sum(len(example.target) - 1 for example in examples)
    for row, (heads, loss) in zip(rows, expected, strict=True):
        assert row["intervention"] == f"zero:{heads.kind}.{int(row['layer']) - 1}.{int(row['head']) - 1}"
        assert float(row["loss_in_nats_a_token"]) == near(loss, scale=sums.means)
        assert (int(row["tokens"]), int(row["sentences"])) == (tokens, 4)
        at = sums.heads.index(heads)
        expected_sums = sums.sums[at, 0], sums.sums[at, 1]
        assert [float(row["sum"]), float(row["sum_of_squares"])] == near(expected_sums, scale=sums.means * tokens)
        assert float(row["standard_deviation"]) == near(sums.deviations[at], scale=sums.means)
        assert float(row["standard_error"]) == near(sums.standard_errors[at], scale=sums.means)
    told = json.loads((tmp_path / "heads.csv.json").read_text())
    digest = hashlib.sha256((checkpoint_folder / "model.safetensors").read_bytes()).hexdigest()
    assert told["provenance"]["weights"] == digest and told["ablation"] == "zero"
    assert told["provenance"]["pairs"] == ["heads.tsv"] and told["provenance"]["lines"] == 4
    frame = ImportanceTable.load(out).to_frame().sort_values("loss_in_nats_a_token", ascending=False, kind="stable")
    assert [f"{each:.6f}" for each in frame.loss_in_nats_a_token] == [row["loss_in_nats_a_token"] for row in rows]
    assert [f"{each:.6f}" for each in frame.standard_error] == [row["standard_error"] for row in rows]
    assert list(frame.kind.astype(str) + frame.layer.add(1).astype(str)) == [row["kind"] + row["layer"] for row in rows]
    assert sorted(path.name for path in tmp_path.glob("heads.csv*")) == ["heads.csv", "heads.csv.json"]


@pytest.mark.parametrize("ablation", ["mean", "uniform"])
def test_the_command_measures_each_ablation(command, checkpoint_folder, tmp_path, ablation):
    out = tmp_path / "heads.csv"
    assert command(make_pairs(4, 3), out, "--ablation", ablation) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    found = Translator.load(checkpoint_folder, "cpu").head_importance(make_pairs(4, 3), ablation)
    assert [row["intervention"] for row in rows] == [str(ABLATIONS[ablation].of(head)) for head, _ in found.ranked()]
    losses = [float(row["loss_in_nats_a_token"]) for row in rows]
    assert losses == near([loss for _, loss in found.ranked()], scale=found.log_probabilities)
    assert ImportanceTable.load(out).ablation == ablation


def test_tables_of_parts_are_merged_to_that_of_the_whole(command, tmp_path, capsys):
    pairs, (whole, one, two, out) = (
        make_pairs(9, 3),
        (tmp_path / f"{name}.csv" for name in ("all", "one", "two", "out")),
    )
    assert [command(pairs, whole), command(pairs[:4], one), command(pairs[4:], two)] == [0, 0, 0]
    assert main(["merge", str(one), str(two), "--out", str(out)]) == 0
    merged, expected = ImportanceTable.load(out), ImportanceTable.load(whole)
    assert merged.sums.means == near(expected.sums.means)
    assert merged.sums.standard_errors == near(expected.sums.standard_errors, scale=expected.sums.means)
    assert (merged.sums.tokens, merged.sums.sentences) == (expected.sums.tokens, 9)
    assert merged.provenance.pairs == ("one.tsv", "two.tsv") and merged.provenance.lines == 9
    cells, of_whole = ([row.split(",") for row in path.read_text().splitlines()] for path in (out, whole))
    assert [row[:3] for row in cells] == [row[:3] for row in of_whole], "ranked alike"
    capsys.readouterr()
    stored = json.loads((tmp_path / "two.csv.json").read_text())
    other_weights = {"provenance": {**stored["provenance"], "weights": "0" * 64}}
    for content, words in ((other_weights, "same weights"), ({"ablation": "mean"}, "same ablation")):
        other = tmp_path / "other.csv"
        (tmp_path / "other.csv.json").write_text(json.dumps(stored | content))
        assert main(["merge", str(one), str(other), "--out", str(out)]) == 1 and words in capsys.readouterr().err
    assert main(["merge", str(one), str(one), "--out", str(out)]) == 1
    assert "the pairs of one.tsv would count twice" in capsys.readouterr().err
    assert main(["merge", str(tmp_path / "none.csv"), str(one), "--out", str(out)]) == 1
    assert "none.csv.json is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"tokens": 0},
        {"tokens": 3},
        {"sentences": "9"},
        {"ablation": "burnt"},
        {"provenance": {}},
        {"heads": [["encoder", 0, 0, float("nan"), 1, 1, 1]]},
        {"heads": [["encoder", 0, -1, 1, 1, 1, 1]]},
        {"heads": [["encoder", 0, 0, 1, -1, 1, 1]]},
        {"heads": [["encoder", 0, 0, 2**121, 2**243, 1, 1]]},
        {"heads": [["encoder", 0, 0, 7, 7, 7, 7]]},
        {"heads": [["encoder", 0, 2**40, 7, 7, 7, 7]]},
        {"heads": []},
        {"heads": 5},
        {"log_probability": [1]},
    ],
)
def test_a_damaged_table_is_refused_in_a_sentence(tmp_path, change):
    ones = np.full((33, 4), 7.0)
    sums = ImportanceSums(tuple(every_head(unlike_model())), ones, 7, 25, 2)
    path = tmp_path / "heads.csv"
    ImportanceTable(sums, "zero", Provenance(("a.tsv",), ("e" * 64,), "f" * 64, "1.0.0", 2, {})).save(path)
    assert np.array_equal(ImportanceTable.load(path).sums.sums, sums.sums)
    stored = json.loads((tmp_path / "heads.csv.json").read_text())
    (tmp_path / "heads.csv.json").write_text(json.dumps(stored | change))
    with pytest.raises(CheckpointError, match="heads.csv.json cannot be read"):
        ImportanceTable.load(path)
