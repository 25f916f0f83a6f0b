"""Laws of the sentences on one attention block and on the architecture: numbers counted again from the arrays."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.claims import PERCENT, as_percent, as_printed, number
from support.streams import labels, loaded, some_blocks, stages_of, trace_of

from headlight.views.inside.architecture_content import share_words
from headlight.views.inside.scaling_content import describe_head, describe_random
from headlight.views.inside.steps_content import View, describe_step
from headlight.views.inside.toy import MASKED_ROW
from transformer.experiments.attention import ToyShape, fully_masked_row, measure_random_products, toy_numbers
from transformer.interpret.parameters import blocks_of

_QUERY, _KEY = r"“([^”]*)”(?: \(query (\d+)\))?", r"“([^”]*)”(?: \(key (\d+)\))?"
_NUMBER = r"(−?[\d.]+)"


@cache
def cases():
    """Stages and view of some heads of some sentences, and of made-up numbers: one token, one head, nothing but 0."""
    found = []
    for name, text, kind, layer in some_blocks():
        stages = stages_of(name, text, kind, layer)
        for head in range(0, stages.weights.shape[1], 3):
            found.append((stages, View(kind, layer, head, 0, *labels(trace_of(name, text), kind))))
    for tokens, d_model, heads, mask in (
        (1, 4, 1, "none"),
        (2, 4, 4, "causal"),
        (3, 8, 2, "none"),
        (6, 8, 4, "causal"),
    ):
        names = tuple(f"token {number + 1}" for number in range(tokens))
        for norm in ("post", "pre"):
            numbers = toy_numbers(ToyShape(2, tokens, d_model, heads, norm), 1, mask)
            view = View("encoder", 0, heads - 1, 1, names, names, toy=True)
            found += [(numbers.stages(), view), (replace(numbers, x=0 * numbers.x).stages(), view)]
    return found


def said(step, form):
    """For each case stages, view and what the sentence of a step says, by its form."""
    for stages, view in cases():
        text = describe_step(step, stages, view)
        match = re.fullmatch(form, text)
        assert match, text
        yield stages, view, match


def row_of(tokens, token, number):
    """The row that a sentence names: by its token alone only where no other reads the same."""
    assert (number is None) == (list(tokens).count(token) == 1), (token, number)
    row = int(number) - 1 if number else list(tokens).index(token)
    assert tokens[row] == token
    return row


def lengths(array):
    return [sum(float(value) ** 2 for value in row) ** 0.5 for row in array]


def test_the_largest_and_the_smallest_norm_of_the_input():
    form = rf"The largest norm is that of {_QUERY} \({_NUMBER}\), the smallest that of {_QUERY} \({_NUMBER}\)\."
    for stages, view, found in said("input", form):
        norms = lengths(stages.residual[view.sentence])
        high, low = (row_of(view.queries, found[at], found[at + 1]) for at in (1, 4))
        assert norms[high] == max(norms) and norms[low] == min(norms)
        assert as_printed(found[3], norms[high]) and as_printed(found[6], norms[low])


def test_mean_norms_of_the_heads_columns():
    form = rf"Mean norms in head (\d+): {_NUMBER} of a query, {_NUMBER} of a key, {_NUMBER} of a value\."
    for stages, view, found in said("split", form):
        assert int(found[1]) == view.head + 1
        width = stages.query.shape[-1] // stages.weights.shape[1]
        for text, part in zip(found.groups()[1:], (stages.query, stages.key, stages.value), strict=True):
            own = lengths(part[view.sentence][:, view.head * width : (view.head + 1) * width])
            assert as_printed(text, sum(own) / len(own))


def test_the_largest_and_the_smallest_product():
    pair = rf"query {_QUERY} and key {_KEY} \({_NUMBER}\)"
    for stages, view, found in said(
        "products", rf"The largest product is that of {pair}, the smallest that of {pair}\."
    ):
        products = stages.products[view.sentence, view.head].astype(np.float64)
        for at, extreme in ((1, max), (6, min)):
            row = row_of(view.queries, found[at], found[at + 1])
            column = row_of(view.keys, found[at + 2], found[at + 3])
            assert products[row, column] == extreme(products.flatten().tolist())
            assert as_printed(found[at + 4], products[row, column])


def test_the_standard_deviation_before_and_after_the_division():
    form = (
        rf"√(\d+) = {_NUMBER}: the standard deviation is {_NUMBER} for this head's products, {_NUMBER} for its scores\."
    )
    for stages, view, found in said("scale", form):
        width = stages.query.shape[-1] // stages.weights.shape[1]
        products = stages.products[view.sentence, view.head].astype(np.float64)
        spread = (((products - products.mean()) ** 2).mean()) ** 0.5
        assert int(found[1]) == width and as_printed(found[2], width**0.5)
        assert as_printed(found[3], spread) and as_printed(found[4], spread / width**0.5)


def test_how_many_cells_are_masked():
    form = r"None of the (\d+) cells is masked\.|Masked: (\d+) of (\d+) cells; their scores were computed, and are .*\."
    for stages, view, found in said("mask", form):
        cells = [bool(cell) for row in stages.unmasked[view.sentence] for cell in row]
        assert int(found[1] or found[3]) == len(cells) and int(found[2] or 0) == cells.count(False)
        assert (found[2] is None) == all(cells), "what is not masked is not discarded"
        assert len(cells) == len(view.queries) * len(view.keys)


def test_the_rows_of_lowest_and_highest_entropy():
    form = (
        rf"No row has more than one unmasked key\.|Of the rows with more than one unmasked key, {_QUERY} has the "
        rf"lowest entropy \({_NUMBER} on {_KEY}\), {_QUERY} the highest: as if spread evenly over {_NUMBER} keys\."
    )
    for stages, view, found in said("softmax", form):
        weights = stages.weights[view.sentence, view.head].astype(np.float64)
        rows = [row for row, free in enumerate(stages.unmasked[view.sentence]) if free.sum() > 1]
        assert bool(rows) == bool(found[1])
        if rows:
            nats = {row: -sum(w * np.log(w) for w in weights[row] if w > 0) for row in rows}
            low, high = (row_of(view.queries, found[at], found[at + 1]) for at in (1, 6))
            key = row_of(view.keys, found[4], found[5])
            assert nats[low] <= min(nats.values()) + 1e-9 and nats[high] >= max(nats.values()) - 1e-9
            assert weights[low, key] == weights[low].max() and as_printed(found[3], weights[low, key])
            assert as_printed(found[8], np.exp(nats[high]))


def test_the_heads_share_of_the_squared_norm_of_o():
    form = rf"Head (\d+) of (\d+) holds ({PERCENT}) of the squared norm of O; an equal share would be ({PERCENT})\."
    for stages, view, found in said("concatenate", form):
        heads, whole = stages.weights.shape[1], stages.concatenated[view.sentence].astype(np.float64)
        width = whole.shape[1] // heads
        own, total = (
            sum(float(value) ** 2 for row in part for value in row)
            for part in (whole[:, view.head * width : (view.head + 1) * width], whole)
        )
        assert (int(found[1]), int(found[2])) == (view.head + 1, heads)
        assert as_percent(found[3], own / total if total else 0) and as_percent(found[4], 1 / heads)


@pytest.mark.parametrize(
    ("step", "form", "fields", "means"),
    [
        (
            "residual",
            rf"Mean norms: {_NUMBER} of the input, {_NUMBER} of what is added, {_NUMBER} of their sum\.",
            ("residual", "output", "total"),
            (np.mean,),
        ),
        *(
            (step, rf"Norms from {_NUMBER} to {_NUMBER} become norms from {_NUMBER} to {_NUMBER}\.", fields, (min, max))
            for step, fields in (("norm_first", ("residual", "x")), ("norm_last", ("total", "result")))
        ),
    ],
)
def test_norms_before_and_after_the_sum_and_layernorm(step, form, fields, means):
    for stages, view, found in said(step, form):
        norms = [lengths(getattr(stages, field)[view.sentence]) for field in fields]
        assert all(map(as_printed, found.groups(), [mean(each) for each in norms for mean in means]))


def softmax_by_hand(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def jacobian(weights):
    return float(np.abs(np.diag(weights) - np.outer(weights, weights)).sum())


def test_what_the_division_does_to_a_head():
    real = [case for case in cases() if not case[1].toy]
    first = real[0][0]
    certain = (first.scores == first.scores.max(axis=-1, keepdims=True)).astype(np.float32)
    decided = replace(first, weights=certain, products=1e5 * first.products, scores=1e5 * first.scores)
    even = np.broadcast_to(first.unmasked[:, None] / first.unmasked.sum(axis=-1)[:, None, :, None], certain.shape)
    narrow = replace(first, weights=even.astype(np.float32), products=0 * first.products, scores=0 * first.scores)
    saturated = unmoved = 0
    for stages, view in (*real, (decided, real[0][1]), (narrow, real[0][1])):
        finding = describe_head(stages, view.head, view.queries)
        products, free = stages.products[0, view.head].astype(np.float64), stages.unmasked[0]
        width = stages.query.shape[-1] // stages.weights.shape[1]
        without = [softmax_by_hand(row[open_]) for row, open_ in zip(products, free, strict=True)]
        divided = [softmax_by_hand(row[open_] / width**0.5) for row, open_ in zip(products, free, strict=True)]
        means = [float(np.mean([row.max() for row in rows])) for rows in (without, divided)]
        moved = re.fullmatch(
            rf"Without the division a row's largest weight would average {_NUMBER}, not {_NUMBER}\.", finding.headline
        )
        assert bool(moved) == (means[0] - means[1] >= 0.005), "what moves by less than is printed is not said to move"
        if moved:
            assert all(map(as_printed, moved.groups(), means)) and moved[1] != moved[2]
            row = re.match(rf"The row of {_QUERY} changes most, from {_NUMBER} to {_NUMBER}\. ", finding.more)
            change = [one.max() - other.max() for one, other in zip(without, divided, strict=True)]
            most = row_of(view.queries, row[1], row[2])
            assert change[most] >= max(change) - 1e-5
            assert as_printed(row[3], divided[most].max()) and as_printed(row[4], without[most].max())
        else:
            assert as_printed(re.search(rf"weight: {_NUMBER} on average\.$", finding.headline)[1], means[1])
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
        rf"At d_k 512 the largest weight averages {_NUMBER} undivided, {_NUMBER} divided\. The 10 keys' products have "
        rf"a standard deviation of {_NUMBER} \(√512 = 22\.6\); at d_k 1 the largest weight is {_NUMBER} either way\. "
        r"With the division the gradient with respect to q·k is ([\d.,]+) times as large by the rows' median, and "
        r"([\d.,]+) times by their mean\.",
        str(describe_random(spread)),
    ).groups()
    truth = (spread.largest[-1], spread.largest_scaled[-1], spread.products[-1], spread.largest_scaled[0])
    ratio = spread.gradient_scaled[-1] / spread.gradient[-1] / 512**0.5
    assert all(map(as_printed, found, (*truth, spread.typical_ratio[-1], ratio)))
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
