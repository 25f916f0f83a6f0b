"""Laws of the findings on one attention block: numbers counted again from the arrays."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.traces import KINDS, labels, stages_of, trace_of

from headlight.views.inside.scaling import describe_head, describe_random
from transformer.experiments.attention import measure_random_products


def softmax_by_hand(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def jacobian(weights):
    return float(np.abs(np.diag(weights) - np.outer(weights, weights)).sum())


def blocks():
    """Stages, head and queries of real blocks, and of one with certain and one with even weights."""
    texts = ("en-de", "I love my teacher."), ("en-de", "a"), ("reverse", "a b c d")
    real = [
        (stages_of(*text, kind, layer), head, labels(trace_of(*text), kind)[0])
        for text, kind, layer, head in product(texts, KINDS, (0, 1), (0, 3))
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
    assert saturated and unmoved


def test_random_products_grow_and_the_median_row_gains_while_the_mean_loses():
    spread = measure_random_products(34, (1, 8, 512))
    finding, ratio = describe_random(spread), spread.gradient_scaled[-1] / spread.gradient[-1] / 512**0.5
    expected = {
        "high": 512,
        "low": 1,
        "root": 512**0.5,
        "either": spread.largest[0],
        "deviation": spread.products[-1],
        "undivided": spread.largest[-1],
        "divided": spread.largest_scaled[-1],
        "median": spread.typical_ratio[-1],
        "mean": ratio,
    }
    assert {name: finding[name] for name in expected} == pytest.approx(expected, rel=1e-5)
    assert ratio < 1 < spread.typical_ratio[-1]
