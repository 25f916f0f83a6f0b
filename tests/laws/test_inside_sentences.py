"""Laws of the findings on one attention block and on the architecture: numbers counted again from the arrays."""

from dataclasses import replace

import numpy as np
import pytest
from support.traces import labels, loaded, some_blocks, stages_of, trace_of

from headlight.views.inside.architecture_content import share_words
from headlight.views.inside.scaling import describe_head, describe_random
from transformer.experiments.attention import fully_masked_row, measure_random_products
from transformer.interpret.parameters import blocks_of


def softmax_by_hand(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def jacobian(weights):
    return float(np.abs(np.diag(weights) - np.outer(weights, weights)).sum())


def blocks():
    """Stages, head and queries of real blocks, and of one with certain and one with even weights."""
    real = [
        (stages, head, labels(trace_of(name, text), kind)[0])
        for name, text, kind, layer in some_blocks()
        for stages in [stages_of(name, text, kind, layer)]
        for head in range(0, stages.weights.shape[1], 3)
    ]
    first, *others = real[0]
    certain = (first.scores == first.scores.max(axis=-1, keepdims=True)).astype(np.float32)
    decided = replace(first, weights=certain, products=1e5 * first.products, scores=1e5 * first.scores)
    even = np.broadcast_to(first.unmasked[:, None] / first.unmasked.sum(axis=-1)[:, None, :, None], certain.shape)
    narrow = replace(first, weights=even.astype(np.float32), products=0 * first.products, scores=0 * first.scores)
    return [*real, (decided, *others), (narrow, *others)]


def test_the_effect_of_the_division_on_a_head():
    saturated = unmoved = 0
    for stages, head, queries in blocks():
        finding = describe_head(stages, head, queries)
        products, free = stages.products[0, head].astype(np.float64), stages.unmasked[0]
        root = (stages.query.shape[-1] // stages.weights.shape[1]) ** 0.5
        without = [softmax_by_hand(row[open_]) for row, open_ in zip(products, free, strict=True)]
        divided = [softmax_by_hand(row[open_] / root) for row, open_ in zip(products, free, strict=True)]
        means = [float(np.mean([row.max() for row in rows])) for rows in (without, divided)]
        assert finding.name == ("undivided" if means[0] - means[1] >= 0.01 else "hardly_changes")
        if finding.name == "undivided":
            assert [finding["without"], finding["divided"]] == pytest.approx(means, abs=1e-5)
            change = [one.max() - other.max() for one, other in zip(without, divided, strict=True)]
            most = finding["row"].position
            assert change[most] >= max(change) - 1e-5
            ends = divided[most].max(), without[most].max()
            assert (finding["low"], finding["high"]) == pytest.approx(ends, abs=1e-5)
        else:
            assert finding["largest"] == pytest.approx(means[1], abs=1e-5)
            unmoved += 1
        spreads = products[free].std(), products[free].std() / root
        assert (finding["products"], finding["scores"]) == pytest.approx(spreads, rel=1e-4, abs=1e-6)
        steep = sum(map(jacobian, divided))
        assert ("gradient" in finding) == (steep > 1e-6) != ("no_gradient" in finding)
        saturated += "no_gradient" in finding
        if "gradient" in finding:
            assert finding["gradient"] == pytest.approx(sum(map(jacobian, without)) / steep * root, rel=2e-3, abs=1e-5)
    assert saturated == 1 and unmoved >= 2


@pytest.mark.parametrize("seed", range(1, 100, 33))
def test_random_products_grow_and_the_median_row_gains_while_the_mean_loses(seed):
    spread = measure_random_products(seed, (1, 8, 512))
    finding = describe_random(spread)
    ratio = spread.gradient_scaled[-1] / spread.gradient[-1] / 512**0.5
    expected = {
        "high": 512,
        "low": 1,
        "root": 512**0.5,
        "undivided": spread.largest[-1],
        "divided": spread.largest_scaled[-1],
        "either": spread.largest[0],
        "deviation": spread.products[-1],
        "median": spread.typical_ratio[-1],
        "mean": ratio,
    }
    assert {name: finding[name] for name in expected} == pytest.approx(expected, rel=1e-5)
    assert ratio < 1 < spread.typical_ratio[-1]


def test_the_three_ways_of_a_row_without_an_unmasked_key():
    for scores in ([3.0, -1.0], [0.5, 2.0, -7.0, 0.0]):
        row = fully_masked_row(scores)
        assert all(map(np.isnan, row.with_infinity)) and not any(row.fused)
        assert np.allclose(row.with_large_number, 1 / len(scores)), "and not softmax of the scores"


@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_counts_of_the_blocks_sum_to_the_models_parameters(name):
    model = loaded(name).model
    total = sum(parameter.numel() for parameter in model.parameters())
    counted = 0
    for block in blocks_of(model):
        text = share_words(block, total)
        assert (text == "") == (not block.shared_with and not block.parameters)
        if block.shared_with or not text:
            continue
        counted += block.parameters
        count, share = text.split(" · ")
        assert int(count.replace(",", "")) == block.parameters
        if share[0].isdigit():
            assert float(share.removesuffix(" %")) == pytest.approx(100 * block.parameters / total, abs=0.51)
        if block.kind == "feed_forward":
            layer = getattr(model, block.stack)[block.layer].feed_forward
            assert block.parameters == sum(parameter.numel() for parameter in layer.parameters())
    assert counted == total
