"""The importance of heads: all at once as one at a time, against NumPy, over a corpus, stopped and resumed."""

import csv
import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.small import attention_blocks, bias_logits, random_sources, unlike_model
from support.streams import CHECKPOINTS, loaded, trace_of
from support.tiny import make_pairs, write_pairs

from transformer import Translator
from transformer.__main__ import main
from transformer.data.batching import make_examples
from transformer.data.resumable import CorpusRun
from transformer.decoding.sampling import Greedy, decode
from transformer.errors import CheckpointError, ConfigError
from transformer.interpret.activations import Request, record
from transformer.interpret.what_if import importance as importances
from transformer.interpret.what_if.importance import (
    ImportanceSums,
    every_head,
    head_importance,
    head_losses,
    joined,
    measure_importance,
)
from transformer.interpret.what_if.importance_table import ImportanceTable, MeasuredPairs
from transformer.interpret.what_if.intervention import Mean, Uniform, Zero
from transformer.interpret.what_if.running import (
    Means,
    apply_interventions,
    apply_interventions_side_by_side,
    measure_means,
)
from transformer.model.distributed import Processes
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
    np.testing.assert_allclose(found.log_probabilities, whole, atol=1e-5)
    for heads in every_head(model):
        with apply_interventions(model, [ablate.of(heads)], means):
            alone = whole - log_probabilities(model)
        np.testing.assert_allclose(found.of(heads.kind)[heads.layer, heads.head], alone, atol=2e-5)
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
        np.testing.assert_allclose(found.of(kind), whole.of(kind), atol=1e-5)
        assert np.array_equal(found.turned[kind], whole.turned[kind])
    np.testing.assert_allclose(found.log_probabilities, whole.log_probabilities, atol=1e-5)


@pytest.mark.parametrize("text", ["I think that he has never read this book."])
def test_without_the_heads_that_turn_it_and_no_others_greedy_decoding_leaves_the_translation(shipped, text):
    trace = shipped.trace(text)
    found = head_importance(shipped.model, trace.source_ids, trace.target_ids)
    turned = {
        str(heads): bool(found.turned[heads.kind][heads.layer, heads.head]) for heads in every_head(shipped.model)
    }
    assert 0 < sum(turned.values()) < len(turned)
    for heads, turns in turned.items():
        assert (shipped.translate([text], interventions=[f"zero:{heads}"])[0] != trace.target_text) == turns


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
        torch.testing.assert_close(together[number], alone, atol=2e-5, rtol=0)


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
    monkeypatch.setattr(importances, "_TOKENS_A_BATCH", 24)


def test_over_a_corpus_it_is_the_mean_over_all_target_tokens(translator, examples):
    model = translator.model
    found = translator.head_importance(make_pairs(9, 3))
    alone = [head_importance(model, each.source, each.target[1:]) for each in examples]
    for kind in ("encoder", "decoder", "cross"):
        expected = np.concatenate([each.of(kind) for each in alone], axis=2).mean(axis=2)
        np.testing.assert_allclose(found.total(kind), expected, atol=1e-5)
    expected = np.concatenate([each.log_probabilities for each in alone]).mean()
    assert float(found.log_probabilities) == pytest.approx(expected, abs=1e-5)


def test_the_sums_have_every_token_and_its_square(translator, examples):
    """Of each pair alone, token by token, added up here."""
    alone = [head_importance(translator.model, each.source, each.target[1:]) for each in examples]
    found = measure_importance(translator.model, examples)
    assert (found.sentences, found.tokens) == (9, sum(len(each.target) - 1 for each in examples))
    assert found.heads == tuple(every_head(translator.model))
    losses = [np.concatenate([each.of(head.kind)[head.layer, head.head] for each in alone]) for head in found.heads]
    values = np.array([*losses, np.concatenate([each.log_probabilities for each in alone])])
    np.testing.assert_allclose(found.sums[:, 0], values.sum(axis=1), atol=1e-4)
    np.testing.assert_allclose(found.sums[:, 1], (values**2).sum(axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.deviations, values.std(axis=1), atol=1e-5)


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
        assert found.of(kind)[layer, head] == pytest.approx(expected, abs=2e-6) and abs(expected) > 1e-5


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
    np.testing.assert_allclose(both.sums, whole.sums, atol=1e-4)
    assert (both.tokens, both.sentences) == (whole.tokens, whole.sentences)
    with pytest.raises(ValueError, match="same heads"):
        whole + replace(whole, heads=whole.heads[::-1])


class InThreads(Processes):
    """Two processes as two threads: they gather what the real ones gather over gloo."""

    given: dict[int, torch.Tensor] = {}
    barrier = threading.Barrier(2)

    def gather(self, tensor):
        self.given[self.rank] = tensor
        self.barrier.wait()
        gathered = torch.stack([self.given[rank] for rank in range(self.count)])
        self.barrier.wait()
        return gathered

    def sums(self, *values):
        return self.gather(torch.tensor(values, dtype=torch.float64)).sum(0).tolist()


def by_two(model, examples, run):
    """Measure in both threads; return what each gets."""
    runs = [replace(run, processes=InThreads(rank, 2)) for rank in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda each: measure_importance(model, examples, run=each), runs))


def stop_after(rounds):
    """Return what is told, and a progress callback that stops the measurement after so many rounds."""
    told = []

    def progress(sentences):
        told.append(sentences)
        if len(told) == rounds:
            raise KeyboardInterrupt

    return told, progress


def test_a_measurement_that_was_stopped_goes_on(translator, examples, tmp_path):
    model, saved = translator.model, tmp_path / "some.part"
    whole, (told, stop) = measure_importance(model, examples), stop_after(2)
    with pytest.raises(KeyboardInterrupt):
        measure_importance(model, examples, run=CorpusRun(saved=saved, progress=stop))
    with pytest.raises(ConfigError, match="--resume"):
        measure_importance(model, examples, run=CorpusRun(saved=saved))
    after: list[int] = []
    go_on = CorpusRun(saved=saved, resume=True, progress=after.append)
    found = measure_importance(model, examples, run=go_on)
    assert after[0] > told[-1] and after[-1] == len(examples) and np.array_equal(found.sums, whole.sums)
    after.clear()
    assert np.array_equal(measure_importance(model, examples, run=go_on).sums, whole.sums) and not after


def test_what_is_resumed_is_of_the_same_weights_pairs_and_ablation(translator, examples, tmp_path):
    model, saved = translator.model, tmp_path / "some.part"
    first, second = (measure_means(model, some) for some in (examples[:3], examples[3:]))
    measure_importance(model, examples, Mean, first, CorpusRun(saved=saved))
    go_on = CorpusRun(saved=saved, resume=True)
    for other in (
        (model, examples[1:], Mean, first),
        (unlike_model(vocab_size=90), examples, Mean, first),
        (model, examples, Zero, first),
        (model, examples, Uniform, first),
        (model, examples, Mean, second),
        (model, examples, "mean", None),
    ):
        with pytest.raises(CheckpointError, match="of another measurement"):
            measure_importance(*other, run=go_on)
    measure_importance(model, examples, Mean, first, go_on)


def test_a_mean_ablation_that_was_stopped_goes_on_with_the_means_of_all_pairs(translator, examples, tmp_path):
    model, saved = translator.model, tmp_path / "some.part"
    whole, (_, stop) = measure_importance(model, examples, "mean"), stop_after(2)
    with pytest.raises(KeyboardInterrupt):
        measure_importance(model, examples, "mean", run=CorpusRun(saved=saved, progress=stop))
    found = measure_importance(model, examples, "mean", run=CorpusRun(saved=saved, resume=True))
    assert np.array_equal(found.sums, whole.sums)


def test_another_number_of_processes_goes_on_with_what_one_began(translator, examples, tmp_path):
    begun, (_, stop) = tmp_path / "one.part", stop_after(2)
    with pytest.raises(KeyboardInterrupt):
        measure_importance(translator.model, examples, run=CorpusRun(saved=begun, progress=stop))
    told: list[int] = []
    found = by_two(translator.model, examples, CorpusRun(saved=begun, resume=True, progress=told.append))
    whole = measure_importance(translator.model, examples)
    assert told[0] > 2 and told[-1] == len(examples)
    for each in found:
        np.testing.assert_allclose(each.sums, whole.sums, atol=1e-9)


def test_one_process_goes_on_with_what_two_began(translator, examples, tmp_path):
    begun, (told, stop) = tmp_path / "two.part", stop_after(1)
    runs = [CorpusRun(saved=begun, progress=stop, processes=InThreads(rank, 2)) for rank in (0, 1)]
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(measure_importance, translator.model, examples, run=runs[1])
        with pytest.raises(KeyboardInterrupt):
            measure_importance(translator.model, examples, run=runs[0])
        InThreads.barrier.abort()  # as the other process ends when one has
        assert isinstance(second.exception(), threading.BrokenBarrierError)
    InThreads.barrier.reset()
    after: list[int] = []
    go_on = CorpusRun(saved=begun, resume=True, progress=after.append)
    found = measure_importance(translator.model, examples, run=go_on)
    assert after[0] > told[0] >= 2
    np.testing.assert_allclose(found.sums, measure_importance(translator.model, examples).sums, atol=1e-9)


def test_two_processes_measure_what_one_does(translator, examples, tmp_path):
    told: list[int] = []
    two = by_two(translator.model, examples, CorpusRun(saved=tmp_path / "saved.part", progress=told.append))
    one = measure_importance(translator.model, examples)
    assert np.array_equal(two[0].sums, two[1].sums)
    np.testing.assert_allclose(two[0].sums, one.sums, atol=1e-9)
    assert told[-1] == len(examples) and told == sorted(set(told)), "one process tells"


@pytest.fixture
def command(checkpoint_folder, tmp_path, monkeypatch):
    """Run `importance` over some pairs, into a file; returns the exit status."""
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def run(pairs, out, *more):
        path = str(write_pairs(tmp_path / f"{out.stem}.tsv", pairs))
        return main(["importance", "--checkpoint", str(checkpoint_folder), "--pairs", path, "--out", str(out), *more])

    return run


def test_the_command_writes_a_table_and_resumes(command, checkpoint_folder, tmp_path):
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
        assert float(row["loss_in_nats_a_token"]) == pytest.approx(loss, abs=1e-6)
        assert (int(row["tokens"]), int(row["sentences"])) == (tokens, 4)
        at = sums.heads.index(heads)
        assert [float(row["sum"]), float(row["sum_of_squares"])] == pytest.approx(sums.sums[at].tolist(), rel=1e-9)
        assert float(row["standard_deviation"]) == pytest.approx(sums.deviations[at], abs=1e-6)
    told = json.loads((tmp_path / "heads.csv.json").read_text())
    assert told["weights"] == hashlib.sha256((checkpoint_folder / "model.safetensors").read_bytes()).hexdigest()
    assert told["ablation"] == "zero" and [each["name"] for each in told["pairs"]] == ["heads.tsv"]
    assert sorted(path.name for path in tmp_path.glob("heads.csv*")) == ["heads.csv", "heads.csv.json"]
    (tmp_path / "heads.csv.part").write_bytes(b"damaged")
    assert command(make_pairs(4, 3), out) == 1 and command(make_pairs(4, 3), out, "--resume") == 1
    (tmp_path / "heads.csv.part").unlink()
    assert command(make_pairs(4, 3), out, "--resume") == 0


@pytest.mark.parametrize("ablation", ["mean", "uniform"])
def test_the_command_measures_each_ablation(command, checkpoint_folder, tmp_path, ablation):
    out = tmp_path / "heads.csv"
    assert command(make_pairs(4, 3), out, "--ablation", ablation) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    expected = Translator.load(checkpoint_folder, "cpu").head_importance(make_pairs(4, 3), ablation).ranked()
    assert [row["intervention"] for row in rows] == [f"{ablation}:{heads}" for heads, _ in expected]
    losses = [float(row["loss_in_nats_a_token"]) for row in rows]
    assert losses == pytest.approx([loss for _, loss in expected], abs=1e-6)
    assert ImportanceTable.load(out).ablation == ablation


def test_tables_of_parts_are_merged_to_that_of_the_whole(command, tmp_path, capsys):
    pairs, (whole, one, two, out) = (
        make_pairs(9, 3),
        (tmp_path / f"{name}.csv" for name in ("all", "one", "two", "out")),
    )
    assert [command(pairs, whole), command(pairs[:4], one), command(pairs[4:], two)] == [0, 0, 0]
    assert main(["merge", str(one), str(two), "--out", str(out)]) == 0
    merged, expected = ImportanceTable.load(out), ImportanceTable.load(whole)
    np.testing.assert_allclose(merged.sums.sums, expected.sums.sums, atol=1e-4)
    assert (merged.sums.tokens, merged.sums.sentences) == (expected.sums.tokens, 9)
    assert [(each.name, each.sentences) for each in merged.pairs] == [("one.tsv", 4), ("two.tsv", 5)]
    cells, of_whole = ([row.split(",") for row in path.read_text().splitlines()] for path in (out, whole))
    assert [row[:3] for row in cells] == [row[:3] for row in of_whole], "ranked alike"
    capsys.readouterr()
    for content, words in (({"weights": "0" * 64}, "same weights"), ({"ablation": "mean"}, "same ablation")):
        other = tmp_path / "other.csv"
        stored = json.loads((tmp_path / "two.csv.json").read_text())
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
        {"sentences": "9"},
        {"ablation": "burnt"},
        {"pairs": []},
        {"heads": [["encoder", 0, 0, float("nan"), 1.0]]},
        {"heads": [["encoder", 0, -1, 1.0, 1.0]]},
        {"heads": [["encoder", 0, 0, 1.0, -1.0]]},
        {"heads": 5},
        {"log_probability": [1.0]},
    ],
)
def test_a_damaged_table_is_refused_in_a_sentence(tmp_path, change):
    sums = ImportanceSums(tuple(every_head(unlike_model())), np.ones((33, 2)), 7, 2)
    path = tmp_path / "heads.csv"
    ImportanceTable(sums, "f" * 64, "zero", (MeasuredPairs("a.tsv", "e" * 64, 2),)).save(path)
    assert np.array_equal(ImportanceTable.load(path).sums.sums, sums.sums)
    stored = json.loads((tmp_path / "heads.csv.json").read_text())
    (tmp_path / "heads.csv.json").write_text(json.dumps(stored | change))
    with pytest.raises(CheckpointError, match="heads.csv.json cannot be read"):
        ImportanceTable.load(path)
