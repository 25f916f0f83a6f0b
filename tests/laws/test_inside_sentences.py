"""Laws of the sentences on one attention block and on the architecture: numbers counted again from the arrays."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.captions import PERCENT, as_percent, as_printed, number
from support.traces import labels, loaded, some_blocks, stages_of, trace_of

from headlight.views.inside.architecture_content import share_words
from headlight.views.inside.scaling import describe_head, describe_random
from headlight.views.inside.toy import MASKED_ROW
from transformer.experiments.attention import fully_masked_row, measure_random_products
from transformer.interpret.parameters import blocks_of

_QUERY = r"“([^”]*)”(?: \(query (\d+)\))?"
_NUMBER = r"(−?[\d.]+)"


def row_of(tokens, token, number):
    """The row that a sentence names: by its token alone only where no other reads the same."""
    assert (number is None) == (list(tokens).count(token) == 1), (token, number)
    row = int(number) - 1 if number else list(tokens).index(token)
    assert tokens[row] == token
    return row


def softmax_by_hand(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def jacobian(weights):
    return float(np.abs(np.diag(weights) - np.outer(weights, weights)).sum())


def test_what_the_division_does_to_a_head():
    real = [
        (stages, head, labels(trace_of(name, text), kind)[0])
        for name, text, kind, layer in some_blocks()
        for stages in [stages_of(name, text, kind, layer)]
        for head in range(0, stages.weights.shape[1], 3)
    ]
    first, *place = real[0]
    certain = (first.scores == first.scores.max(axis=-1, keepdims=True)).astype(np.float32)
    decided = replace(first, weights=certain, products=1e5 * first.products, scores=1e5 * first.scores)
    even = np.broadcast_to(first.unmasked[:, None] / first.unmasked.sum(axis=-1)[:, None, :, None], certain.shape)
    narrow = replace(first, weights=even.astype(np.float32), products=0 * first.products, scores=0 * first.scores)
    saturated = unmoved = 0
    for stages, head, queries in (*real, (decided, *place), (narrow, *place)):
        finding = describe_head(stages, head, queries)
        products, free = stages.products[0, head].astype(np.float64), stages.unmasked[0]
        width = stages.query.shape[-1] // stages.weights.shape[1]
        without = [softmax_by_hand(row[open_]) for row, open_ in zip(products, free, strict=True)]
        divided = [softmax_by_hand(row[open_] / width**0.5) for row, open_ in zip(products, free, strict=True)]
        means = [float(np.mean([row.max() for row in rows])) for rows in (without, divided)]
        moved = re.fullmatch(rf"Undivided, one word would get ({PERCENT}), not ({PERCENT})\.", finding.headline)
        assert bool(moved) == (means[0] - means[1] >= 0.01), "what moves by less than is printed is not said to move"
        if moved:
            assert all(map(as_percent, moved.groups(), means)) and moved[1] != moved[2]
            changes = rf"The row of {_QUERY} changes most, from ({PERCENT}) to ({PERCENT})\. "
            row = re.search(changes, finding.more)
            change = [one.max() - other.max() for one, other in zip(without, divided, strict=True)]
            most = row_of(queries, row[1], row[2])
            assert change[most] >= max(change) - 1e-5
            assert as_percent(row[3], divided[most].max()) and as_percent(row[4], without[most].max())
        else:
            assert as_percent(re.search(rf"weight: ({PERCENT}) on average\.$", finding.headline)[1], means[1])
            unmoved += 1
        spreads = re.search(rf"products have a standard deviation of {_NUMBER}, the scores {_NUMBER}\. ", finding.more)
        assert as_printed(spreads[1], products[free].std()) and as_printed(
            spreads[2], products[free].std() / width**0.5
        )
        steep = sum(map(jacobian, divided))
        ends = re.search(rf"entries\) would be ({PERCENT}) of what it is\.$", finding.more)
        assert bool(ends) == (steep > 1e-6) and (ends or finding.more.endswith("so softmax passes no gradient."))
        saturated += not ends
        ratio = sum(map(jacobian, without)) / steep * width**0.5 if ends else 0
        assert not ends or any(as_percent(ends[1], ratio * near) for near in (1, 1.001, 0.999))
    assert saturated == 1 and unmoved >= 2


@pytest.mark.parametrize("seed", range(1, 100, 33))
def test_random_products_grow_and_the_median_row_gains_while_the_mean_loses(seed):
    spread = measure_random_products(seed, (1, 8, 512))
    found = re.fullmatch(
        rf"At d_k 512 one key gets ({PERCENT}) undivided, ({PERCENT}) divided\. The 10 keys' products have a standard "
        rf"deviation of {_NUMBER} \(√512 = 22\.6\); at d_k 1 the largest weight is ({PERCENT}) either way\. "
        r"With the division the gradient with respect to q·k is ([\d.,]+) times as large by the rows' median, and "
        r"([\d.,]+) times by their mean\.",
        str(describe_random(spread)),
    ).groups()
    undivided, divided, products, either, *ratios = found
    ratio = spread.gradient_scaled[-1] / spread.gradient[-1] / 512**0.5
    assert all(map(as_printed, (products, *ratios), (spread.products[-1], spread.typical_ratio[-1], ratio)))
    shares = (spread.largest[-1], spread.largest_scaled[-1], spread.largest_scaled[0])
    assert all(map(as_percent, (undivided, divided, either), shares))
    assert np.isclose(spread.largest[0], spread.largest_scaled[0]) and ratio < 1 < spread.typical_ratio[-1]


def test_a_row_without_an_unmasked_key_is_told_as_the_three_ways_compute_it():
    for scores in ([3.0, -1.0], [0.5, 2.0, -7.0, 0.0]):
        row = fully_masked_row(scores)
        assert all(map(np.isnan, row.with_infinity)) and not any(row.fused)
        assert np.allclose(row.with_large_number, 1 / len(scores)), "and not softmax of the scores"
    assert "−1e9 reads every masked key with the same weight; the fused kernel gives 0" in MASKED_ROW.more


@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_shares_of_the_parameters_are_counted_from_the_models_own(name):
    model = loaded(name).model
    total = sum(parameter.numel() for parameter in model.parameters())
    listed = 0
    for block in blocks_of(model):
        said = share_words(block, total)
        if not said or said.startswith("shared with"):
            continue
        count, share = re.fullmatch(rf"([\d,]+) · ({PERCENT})", said).groups()
        listed += number(count)
        assert as_percent(share, number(count) / total)
        if block.kind == "feed_forward":
            layer = getattr(model, block.stack)[block.layer].feed_forward
            assert number(count) == sum(parameter.numel() for parameter in layer.parameters())
    assert listed == total
