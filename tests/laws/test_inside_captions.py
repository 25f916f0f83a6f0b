"""Laws of the captions on one attention block: each number and claim, counted again from the block's own arrays."""

import re

import numpy as np
import pytest
from support.claims import PERCENT, as_percent, as_printed
from support.streams import labels, some_blocks, stages_of, trace_of

from headlight.views.inside.scaling_text import describe_head, describe_random
from headlight.views.inside.steps_findings import Findings
from headlight.views.inside.steps_text import View
from transformer.experiments.dot_product_scaling import measure_random_products
from transformer.experiments.toy_attention import ToyShape, toy_numbers


def _cases():
    for name, text, kind, layer in some_blocks():
        stages = stages_of(name, text, kind, layer)
        queries, keys = labels(trace_of(name, text), kind)
        for head in range(0, stages.weights.shape[1], 3):
            yield stages, View(kind, layer, head, 0, queries, keys)
    for tokens, d_model, heads, mask in (
        (1, 4, 1, "none"),
        (2, 4, 4, "causal"),
        (3, 8, 2, "none"),
        (6, 8, 4, "causal"),
    ):
        tokens_ = tuple(f"token {number + 1}" for number in range(tokens))
        for norm in ("post", "pre"):
            stages = toy_numbers(ToyShape(2, tokens, d_model, heads, norm), 1, mask).stages()
            yield stages, View("encoder", 0, heads - 1, 1, tokens_, tokens_, toy=True)


def _seen(step: str):
    for stages, view in _cases():
        yield stages, view, Findings(stages, view).see(step)


def _row(tokens, token: str, noun: str, number: str | None) -> int:
    """The row that a caption names: by its token alone only where no other reads the same."""
    assert (number is None) == (list(tokens).count(token) == 1), (token, noun, number)
    row = int(number) - 1 if number else list(tokens).index(token)
    assert tokens[row] == token
    return row


_QUERY, _KEY = r"“([^”]*)”(?: \(query (\d+)\))?", r"“([^”]*)”(?: \(key (\d+)\))?"


def _lengths(array: np.ndarray) -> list[float]:
    return [sum(float(value) ** 2 for value in row) ** 0.5 for row in array]


def test_the_largest_and_the_smallest_norm_of_the_input():
    for stages, view, said in _seen("input"):
        lengths = _lengths(stages.residual[view.sentence])
        alike = re.fullmatch(r"The norm(?: of every vector)? rounds to ([\d.]+)\.", said)
        if alike:
            assert all(as_printed(alike[1], length) for length in lengths)
            assert ("every" in said) == (len(lengths) > 1)
            continue
        found = re.fullmatch(
            rf"The largest norm is that of {_QUERY} \(([\d.]+)\), the smallest .* {_QUERY} \(([\d.]+)\)\.", said
        )
        high, low = (_row(view.queries, found[at], "query", found[at + 1]) for at in (1, 4))
        assert lengths[high] == max(lengths) and lengths[low] == min(lengths) and found[3] != found[6]
        assert as_printed(found[3], lengths[high]) and as_printed(found[6], lengths[low])


def test_mean_norms_of_the_heads_columns():
    for stages, view, said in _seen("split"):
        head, *printed = re.fullmatch(
            r"In head (\d+) the mean norm of a query is ([\d.]+), of a key ([\d.]+), of a value ([\d.]+)\.", said
        ).groups()
        assert int(head) == view.head + 1
        width = stages.query.shape[-1] // stages.weights.shape[1]
        for text, part in zip(printed, (stages.query, stages.key, stages.value), strict=True):
            lengths = _lengths(part[view.sentence][:, view.head * width : (view.head + 1) * width])
            assert as_printed(text, sum(lengths) / len(lengths))


def test_the_largest_and_the_smallest_product():
    for stages, view, said in _seen("products"):
        products = stages.products[view.sentence, view.head].astype(np.float64)
        if products.max() == products.min():
            assert as_printed(re.search(r"is (−?[\d.]+)\.$", said)[1], products[0, 0])
            continue
        pair = rf"query {_QUERY} and key {_KEY}"
        found = re.fullmatch(
            rf"The largest product is that of {pair}: (−?[\d.]+)\. The smallest: {pair}, (−?[\d.]+)\.", said
        )
        for at, extreme in ((1, max), (6, min)):
            row = _row(view.queries, found[at], "query", found[at + 1])
            column = _row(view.keys, found[at + 2], "key", found[at + 3])
            assert products[row, column] == extreme(products.flatten().tolist())
            assert as_printed(found[at + 4], products[row, column])


def test_the_standard_deviation_before_and_after_the_division():
    for stages, view, said in _seen("scale"):
        width = stages.query.shape[-1] // stages.weights.shape[1]
        products = stages.products[view.sentence, view.head].astype(np.float64)
        if width == 1:
            assert said == "√1 = 1, so the division changes nothing here."
            assert np.array_equal(products, stages.scores[view.sentence, view.head])
            continue
        number, root = re.match(r"√(\d+) = (\d+\.\d+)", said).groups()
        assert int(number) == width and as_printed(root, width**0.5)
        if "are equal" in said:
            assert np.ptp(products) < 1e-5
            continue
        before, after = re.search(r"is ([\d.]+) for this head's products, ([\d.]+) for its scores\.$", said).groups()
        spread = (((products - products.mean()) ** 2).mean()) ** 0.5
        assert as_printed(before, spread) and as_printed(after, spread / width**0.5)


def test_how_many_cells_are_masked():
    for stages, view, said in _seen("mask"):
        cells = [bool(cell) for row in stages.unmasked[view.sentence] for cell in row]
        masked = cells.count(False)
        if not masked:
            assert said.startswith("The one cell is not" if len(cells) == 1 else f"None of the {len(cells)} cells is")
            continue
        verb, scores = ("is", "Its score was") if masked == 1 else ("are", "Their scores were")
        assert said.startswith(f"{masked} of {len(cells)} cells {verb} masked. {scores} computed")


def test_the_rows_of_lowest_and_highest_entropy():
    for stages, view, said in _seen("softmax"):
        weights = stages.weights[view.sentence, view.head].astype(np.float64)
        free = [int(row.sum()) for row in stages.unmasked[view.sentence]]
        rows = [row for row, count in enumerate(free) if count > 1]
        if not rows:
            assert said == "Each row has a single unmasked cell, whose weight is 1."
            continue
        if len(rows) == 1:
            found = re.fullmatch(rf"Only the row of {_QUERY} has .* weight, ([\d.]+), goes to {_KEY}\.", said)
            assert _row(view.queries, found[1], "query", found[2]) == rows[0]
            key = _row(view.keys, found[4], "key", found[5])
            assert weights[rows[0], key] == weights[rows[0]].max() and as_printed(found[3], weights[rows[0], key])
            continue
        assert said.startswith("Of the rows with more than one unmasked key, ") == (len(rows) < len(free))
        found = re.search(
            rf"{_QUERY} has the lowest entropy: a weight of ([\d.]+) goes to {_KEY}\. {_QUERY} has the highest, .* "
            r"over ([\d.]+) keys\.$",
            said,
        )
        bits = {row: -sum(w * np.log(w) for w in weights[row] if w > 0) for row in rows}
        low, high = (_row(view.queries, found[at], "query", found[at + 1]) for at in (1, 6))
        key = _row(view.keys, found[4], "key", found[5])
        assert bits[low] <= min(bits.values()) + 1e-9 and bits[high] >= max(bits.values()) - 1e-9
        assert weights[low, key] == weights[low].max() and as_printed(found[3], weights[low, key])
        assert as_printed(found[8], np.exp(bits[high]))


def test_the_heads_share_of_the_squared_norm_of_o():
    for stages, view, said in _seen("concatenate"):
        heads, whole = stages.weights.shape[1], stages.concatenated[view.sentence].astype(np.float64)
        number, of, share, equal = re.fullmatch(
            rf"Head (\d+) of (\d+) holds ({PERCENT}) of the squared norm of O; an equal share would be ({PERCENT})\.",
            said,
        ).groups()
        width = whole.shape[1] // heads
        own = sum(float(value) ** 2 for row in whole for value in row[view.head * width : (view.head + 1) * width])
        assert (int(number), int(of)) == (view.head + 1, heads)
        assert as_percent(share, own / sum(float(value) ** 2 for row in whole for value in row))
        assert as_percent(equal, 1 / heads)


def test_the_norm_of_what_is_added_beside_the_inputs():
    for stages, view, said in _seen("residual"):
        before, added = (_lengths(part[view.sentence]) for part in (stages.residual, stages.output))
        shares = [one / other for one, other in zip(added, before, strict=True)]
        mean = re.match(r"The norm of what is added is ([\d.]+) times that of the input", said)[1]
        assert as_printed(mean, sum(shares) / len(shares))
        most = re.search(rf"on average; most for {_QUERY}: ([\d.]+)\.$", said)
        assert bool(most) == (len(shares) > 1)
        if most:
            row = _row(view.queries, most[1], "query", most[2])
            assert shares[row] >= max(shares) * (1 - 1e-9) and as_printed(most[3], shares[row])


@pytest.mark.parametrize(("step", "fields"), [("norm_first", ("residual", "x")), ("norm_last", ("total", "result"))])
def test_from_which_norms_to_which_layernorm_goes(step, fields):
    for stages, view, said in _seen(step):
        printed = re.fullmatch(
            r"Norms from ([\d.]+) to ([\d.]+) become norms from ([\d.]+) to ([\d.]+)\.", said
        ).groups()
        for (low, high), field in zip((printed[:2], printed[2:]), fields, strict=True):
            lengths = _lengths(getattr(stages, field)[view.sentence])
            assert as_printed(low, min(lengths)) and as_printed(high, max(lengths))


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def _jacobian(weights: np.ndarray) -> float:
    return float(np.abs(np.diag(weights) - np.outer(weights, weights)).sum())


def test_what_the_division_does_to_a_head():
    for stages, view in _cases():
        if view.toy:
            continue
        said = describe_head(stages, view.head, view.queries)
        products, open_ = stages.products[0, view.head].astype(np.float64), stages.unmasked[0]
        width = stages.query.shape[-1] // stages.weights.shape[1]
        rows = [row for row in range(len(products)) if open_[row].sum() > 1]
        if not rows:
            assert said == "Every row has a single unmasked key, so the division changes nothing here."
            continue
        unmasked = products[open_]
        spread, after = re.search(r"standard deviation of ([\d.]+), the scores ([\d.]+)\.", said).groups()
        assert as_printed(spread, unmasked.std()) and as_printed(after, unmasked.std() / width**0.5)
        without = {row: _softmax(products[row][open_[row]]) for row in rows}
        divided = {row: _softmax(products[row][open_[row]] / width**0.5) for row in rows}
        assert ("of a row with more than one unmasked key would be" in said) == (len(rows) < len(products))
        means = re.search(r"would be ([\d.]+) on average instead of ([\d.]+);", said).groups()
        for text, parts in zip(means, (without, divided), strict=True):
            assert as_printed(text, np.mean([part.max() for part in parts.values()]))
        token, number, low, high = re.search(
            rf"the row of {_QUERY} changes most, from ([\d.]+) to ([\d.]+)\.", said
        ).groups()
        most = _row(view.queries, token, "query", number)
        change = {row: without[row].max() - divided[row].max() for row in rows}
        assert change[most] >= max(change.values()) - 1e-5
        assert as_printed(low, divided[most].max()) and as_printed(high, without[most].max())
        ratio = sum(map(_jacobian, without.values())) / sum(map(_jacobian, divided.values()))
        one, other = re.search(rf"would be ({PERCENT}) of what it is; .* 1/√{width}, ({PERCENT})\.$", said).groups()
        for text, share in ((one, ratio), (other, ratio * width**0.5)):
            assert as_percent(text, share) or as_percent(text, share * 1.001) or as_percent(text, share * 0.999)


def test_a_saturated_head_is_said_to_pass_no_gradient():
    stages = toy_numbers(ToyShape(1, 2, 4, 1), 1).stages()
    certain = type(stages)(**{**vars(stages), "weights": np.array([[[[1.0, 0.0], [0.0, 1.0]]]])})
    said = describe_head(certain, 0, ("a", "b"))
    assert said.endswith("so softmax passes no gradient.") and "nan" not in said


@pytest.mark.parametrize("seed", range(1, 100, 16))
def test_random_products_grow_and_the_median_row_gains_while_the_mean_loses(seed):
    spread = measure_random_products(seed, (1, 8, 512))
    said = describe_random(spread)
    assert "At d_k 512 random" in said and "√512 = 22.6" in said and "one of 10 keys" in said
    numbers = re.search(
        r"deviation of ([\d.]+) .* keys gets ([\d.]+) of .* divided, ([\d.]+)\. At d_k 1 it is ([\d.]+) either way\.",
        said,
    ).groups()
    truth = (spread.products[-1], spread.largest[-1], spread.largest_scaled[-1], spread.largest_scaled[0])
    assert all(map(as_printed, numbers, truth)) and np.isclose(spread.largest[0], spread.largest_scaled[0])
    mean, median = re.search(r"([\d.,]+) times as large .* averaged, and ([\d.,]+) times where medians", said).groups()
    assert float(mean) < 1 < float(median.replace(",", ""))
    assert abs(float(mean) - spread.gradient_scaled[-1] / spread.gradient[-1] / 512**0.5) < 0.006
    assert abs(float(median.replace(",", "")) / spread.typical_ratio[-1] - 1) < 0.06
