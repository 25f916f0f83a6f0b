"""What lessons ask about the division by the root of d_k, against NumPy and the file of weights."""

import re
from functools import cache

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.lesson_runs import LANGUAGES, decided, measured, named, run_in, run_of
from support.models import small_config
from support.pages import ROOT

from headlight.app.results import measures
from headlight.lessons.answer import Run
from headlight.lessons.register import answer_of
from headlight.plots import numbers
from headlight.views.inside.scaling import describe_head, describe_random
from transformer.checkpoint import Checkpoint, save_checkpoint
from transformer.experiments.attention import measure_random_products
from transformer.model.transformer import Transformer

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)
SIZES, SAMPLES, KEYS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512), 400, 10
D_K = 32  # of both checkpoints


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@cache
def drawn(seed: int, size: int) -> np.ndarray:
    """The products of the page's random vectors: [rows, keys]."""
    generator = np.random.default_rng([seed, size])
    queries = generator.standard_normal((SAMPLES, 1, size))
    return np.einsum("rod,rkd->rk", queries, generator.standard_normal((SAMPLES, KEYS, size)))


@cache
def weights_file(checkpoint: str) -> ByHand:
    return ByHand(ROOT / "checkpoints" / checkpoint)


def stages_of(checkpoint: str, run: Run, kind: str, layer: int) -> dict[str, np.ndarray]:
    by_hand = weights_file(checkpoint)
    by_hand.run(run.trace.source_ids, run.trace.decoder_input_ids)
    return by_hand.stages[kind, layer]


def largest(stages: dict[str, np.ndarray], head: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The largest weight of each row of a head, without the division and with it."""
    products = stages["products"][head]
    if kind == "decoder":
        products = np.where(np.tri(*products.shape, dtype=bool), products, -np.inf)
    return softmax(products).max(axis=1), softmax(products / np.sqrt(D_K)).max(axis=1)


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def percent(text: str) -> float:
    """A share in words: "94 %"."""
    return 1.0 if text == "over 99 %" else float(text.removesuffix(" %")) / 100


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_random_products_spread_by_the_root_of_their_dimensions(factor):
    for seed in (1, 2, 3):
        answer = answer_of(run_of("en-de", "I love my teacher."), "spread_growth", {"seed": seed, "factor": factor})
        low, high = (int(answer.names[name]) for name in ("low", "high"))
        assert high == factor * low
        before, after = (drawn(seed, size).std() for size in (low, high))
        times = {"same": 1, "root": factor**0.5, "factor": factor, "square": factor**2}
        assert answer.right == {min(times, key=lambda name: abs(np.log(times[name] / (after / before))))} == {"root"}
        said = [number(found) for found in re.findall(r"it is ([\d.,]+):|is ([\d.]+),", answer.truth)[0] if found]
        assert said == [pytest.approx(before, rel=0.01)]
        assert f"{after / before:.2f} times" in answer.truth
        for option in answer.options:
            told = re.search(r"would be ([\d.,]+) at", option.told)
            assert number(told[1]) == pytest.approx(before * times[option.name], rel=0.01)


def test_sizes_that_the_page_does_not_have_are_said():
    run = run_of("en-de", "I love my teacher.")
    for factor in (0, 1, 3, -2, 10**9):
        assert "none is" in measured(run, "spread_growth", seed=1, factor=factor)
    for seed in (0, -1, 100):
        assert "seeds from 1 to 99" in measured(run, "typical_gradient", seed=seed)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_typical_gradient_grows_by_the_division_as_its_jacobian_says(seed):
    answer = answer_of(run_of("en-de", "I love my teacher."), "typical_gradient", {"seed": seed})
    products, size = drawn(seed, SIZES[-1]), SIZES[-1]

    def through(scores: np.ndarray) -> np.ndarray:
        weights = softmax(scores)
        jacobian = weights[:, :, None] * (np.eye(KEYS) - weights[:, None, :])
        return np.abs(jacobian).sum(axis=(1, 2))

    divided, undivided = through(products / np.sqrt(size)) / np.sqrt(size), through(products)
    times, by_mean = np.median(divided) / np.median(undivided), divided.mean() / undivided.mean()
    assert answer.right == {"grown"} and times > 2
    assert number(re.search(r"it becomes ([\d.,]+) times as large", answer.truth)[1]) == pytest.approx(times, rel=0.01)
    said = str(describe_random(measure_random_products(seed)))
    assert f"is {times:,.2f} times as large by the rows' median, and {by_mean:,.2f} times by their mean" in said
    assert percent(answer.names["undivided"]) == pytest.approx(softmax(products).max(axis=1).mean(), abs=0.0051)


def test_the_division_changes_nothing_where_there_is_one_dimension():
    for seed in (1, 5, 99):
        answer = answer_of(run_of("en-de", "I love my teacher."), "size_without_effect", {"seed": seed})
        changes = {}
        for option in answer.options:
            products = drawn(seed, int(option.name))
            means = [softmax(part).max(axis=1).mean() for part in (products, products / int(option.name) ** 0.5)]
            changes[option.name] = means[0] - means[1]
            said = re.findall(
                r"is ([\d.]+ %) without the division,? (?:and )?([\d.]+ %) w", option.told or answer.truth
            )
            assert [percent(each) for each in said[0]] == pytest.approx(means, abs=0.0051)
        assert answer.right == {min(changes, key=changes.get)}


@BOTH
def test_a_row_without_the_division_has_the_largest_weight_of_its_products_softmax(checkpoint):
    answers = decided(checkpoint, "row_without_root", kind="cross")
    assert len(answers) >= 5
    for run, answer in answers:
        layer, head, row = (int(answer.names[name]) - 1 for name in ("layer", "head", "query"))
        stages = stages_of(checkpoint, run, "cross", layer)
        without, divided = largest(stages, head, "cross")
        assert (without - divided)[row] == pytest.approx((without - divided).max(), abs=1e-4)
        twice = softmax(stages["products"][head] / D_K).max(axis=1)[row]
        values = {"undivided": without[row], "same": divided[row], "twice": twice}
        assert {option.name for option in answer.options} == set(values) and answer.right == {"undivided"}
        for option in answer.options:
            assert percent(option.label) == pytest.approx(values[option.name], abs=0.0051)
        assert answer.names["word"] == named(run.trace.target_tokens)[row]
        told = describe_head(measures.stages(run.request, "cross", layer)[0], head, run.trace.decoder_input_tokens)
        assert f"from {numbers.percent(divided[row])} to {numbers.percent(without[row])}" in str(told)


@BOTH
def test_a_quiet_head_is_done_where_the_page_shows_a_small_rise(checkpoint):
    for run, answer in decided(checkpoint, "quiet_head")[:3]:
        assert not answer.done
        rises = {}
        for kind in ("encoder", "decoder", "cross"):
            for layer in range(3):
                stages = stages_of(checkpoint, run, kind, layer)
                for head in range(8):
                    without, divided = largest(stages, head, kind)
                    rises[kind, layer, head] = without.mean() - divided.mean()
        quiet = (answer.names["quiet_kind"], *(int(answer.names[name]) - 1 for name in ("quiet_layer", "quiet_head")))
        assert rises[quiet] == pytest.approx(min(rises.values()), abs=1e-4)
        begins = ("cross", *(int(answer.names[name]) - 1 for name in ("layer", "head")))
        assert rises[begins] == pytest.approx(max(rises[key] for key in rises if key[0] == "cross"), abs=1e-4)
        for (kind, layer, head), rise in rises.items():
            if abs(rise - 0.05) < 1e-3:
                continue
            address = {"head": f"{kind}.{layer + 1}.{head + 1}"}
            here = measured(run_of(checkpoint, run.request.text, **address), "quiet_head")
            assert here.done == (rise < 0.05)
            said = "less than 1" if rise < 0.005 else f"{100 * rise:.0f}"
            assert f"it would rise by {said} percentage point" in here.truth or abs(rise * 100 % 1 - 0.5) < 0.05


def test_an_address_without_a_single_head_is_not_done_and_short_sentences_are_undecided():
    text = "The cat is hungry because it has not eaten."
    answer = answer_of(run_of("en-de", text), "quiet_head", {})
    kind, layer, head = (answer.names[f"quiet_{name}"] for name in ("kind", "layer", "head"))
    assert answer_of(run_of("en-de", text, head=f"{kind}.{layer}.{head}"), "quiet_head", {}).done
    for other in (f"{kind}.all.{head}", f"{kind}.{layer}.0", f"{kind}.99.{head}", f"x.{layer}.{head}", kind, ""):
        assert not answer_of(run_of("en-de", text, head=other), "quiet_head", {}).done
    assert "too short" in measured(run_of("en-de", "a"), "quiet_head")
    assert "hardly changes" in measured(run_of("en-de", "the"), "row_without_root", kind="cross")


@pytest.fixture
def divided_and_biased(tmp_path, tokenizer) -> Run:
    """A run of a model that divides its products and then adds a bias by distance, of some size."""
    torch.manual_seed(1)
    ranges = {"relative_buckets": 8, "relative_distance": 11}
    model = Transformer(small_config(vocab_size=len(tokenizer), positions="relative", **ranges))
    for relative in (model.encoder_relative, model.decoder_relative):
        torch.nn.init.normal_(relative.table, std=3.0)
    save_checkpoint(tmp_path / "relative", Checkpoint(model, tokenizer, {}, []))
    return run_in(tmp_path / "relative", "red dog red.")


@pytest.mark.parametrize(("measure", "arguments"), [("row_without_root", {"kind": "encoder"}), ("quiet_head", {})])
def test_where_a_bias_is_added_not_every_score_would_grow(divided_and_biased, measure, arguments):
    assert "adds a bias by distance" in str(measured(divided_and_biased, measure, **arguments))
