"""The importance of heads: all at once as one at a time, against NumPy, over a corpus, stopped and resumed."""

import csv
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.small import attention_blocks, random_sources, unlike_model
from support.streams import CHECKPOINTS, loaded, trace_of
from support.tiny import make_pairs

from transformer import Translator
from transformer.__main__ import main
from transformer.data.batching import make_examples
from transformer.errors import CheckpointError, ConfigError
from transformer.interpret.activations import Request, record
from transformer.interpret.what_if import importance as importances
from transformer.interpret.what_if.importance import (
    every_head,
    head_importance,
    head_losses,
    joined,
    measure_importance,
)
from transformer.interpret.what_if.intervention import Mean, Uniform, Zero
from transformer.interpret.what_if.running import Means, apply_interventions, apply_interventions_side_by_side
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


def test_a_measurement_that_was_stopped_goes_on(translator, examples, tmp_path):
    model, saved, told = translator.model, tmp_path / "some.part", []
    whole = measure_importance(model, examples)

    def stop(sentences):
        told.append(sentences)
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_importance(model, examples, saved=saved, progress=stop)
    with pytest.raises(ConfigError, match="--resume"):
        measure_importance(model, examples, saved=saved)
    with pytest.raises(CheckpointError, match="other pairs"):
        measure_importance(model, examples[1:], saved=saved, resume=True)
    with pytest.raises(CheckpointError, match="other pairs"):
        measure_importance(unlike_model(vocab_size=90), examples, saved=saved, resume=True)
    with pytest.raises(CheckpointError, match="other pairs"):
        measure_importance(model, examples, "uniform", saved=saved, resume=True)
    after: list[int] = []
    found = measure_importance(model, examples, saved=saved, resume=True, progress=after.append)
    assert after[0] > told[-1] and after[-1] == len(examples) and not saved.exists()
    assert all(np.array_equal(found.of(kind), whole.of(kind)) for kind in ("encoder", "decoder", "cross"))


class InThreads(Processes):
    """Two processes as two threads: they add up what the real ones add up over gloo."""

    given: dict[int, tuple[float, ...]] = {}
    barrier = threading.Barrier(2)

    def sums(self, *values):
        self.given[self.rank] = values
        self.barrier.wait()
        total = [sum(some) for some in zip(*self.given.values(), strict=True)]
        self.barrier.wait()
        return total


def test_two_processes_measure_what_one_does(translator, examples, tmp_path):
    model, told = translator.model, []

    def measure(rank):
        how = {"saved": tmp_path / "saved.part", "progress": told.append}
        return measure_importance(model, examples, processes=InThreads(rank, 2), **how)

    with ThreadPoolExecutor(2) as pool:
        two = list(pool.map(measure, (0, 1)))
    one = measure_importance(model, examples)
    for kind in ("encoder", "decoder", "cross"):
        assert np.array_equal(two[0].of(kind), two[1].of(kind))
        np.testing.assert_allclose(two[0].of(kind), one.of(kind), atol=1e-9)
    assert told[-1] == len(examples) and told == sorted(set(told)), "one process tells"


def test_the_command_writes_a_table_and_resumes(checkpoint_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{source}\t{target}\n" for source, target in make_pairs(4, 3)))
    out = tmp_path / "heads.csv"
    command = ["importance", "--checkpoint", str(checkpoint_folder), "--pairs", str(pairs), "--out", str(out)]
    assert main(command) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0]) == ["kind", "layer", "head", "loss_in_nats_a_token", "intervention"]
    expected = Translator.load(checkpoint_folder, "cpu").head_importance(make_pairs(4, 3)).ranked()
    assert len(rows) == len(expected)
    for row, (heads, loss) in zip(rows, expected, strict=True):
        assert row["intervention"] == f"zero:{heads.kind}.{int(row['layer']) - 1}.{int(row['head']) - 1}"
        assert float(row["loss_in_nats_a_token"]) == pytest.approx(loss, abs=1e-6)
    for ablation in ("mean", "uniform"):
        other = tmp_path / f"{ablation}.csv"
        assert main([*command[:-1], str(other), "--ablation", ablation]) == 0
        rows = list(csv.DictReader(other.read_text().splitlines()))
        (heads, loss), *_ = (
            Translator.load(checkpoint_folder, "cpu").head_importance(make_pairs(4, 3), ablation).ranked()
        )
        assert rows[0]["intervention"] == f"{ablation}:{heads}"
        assert float(rows[0]["loss_in_nats_a_token"]) == pytest.approx(loss, abs=1e-6)
    (tmp_path / "heads.csv.part").write_bytes(b"damaged")
    assert main(command) == 1 and main([*command, "--resume"]) == 1
    (tmp_path / "heads.csv.part").unlink()
    assert main([*command, "--resume"]) == 0
