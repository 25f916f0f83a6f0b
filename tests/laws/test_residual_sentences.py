"""Laws of the findings on the hidden units of a feed-forward, counted again."""

import numpy as np
import pytest
from support.texts import SENTENCES
from support.traces import loaded, trace_of

from headlight.views.research.feed_forward import describe_gates, describe_units
from transformer.interpret.residual import record_hidden_units


def check_units(units: np.ndarray, token: int, activation: str) -> None:
    finding = describe_units(units, token, ["word"] * len(units), activation)
    columns = [[float(row[unit]) for row in units] for unit in range(units.shape[1])]
    active = sum(column[token] > 0 for column in columns)
    assert (finding["units"], finding["width"]) == (active, len(columns))
    assert finding.name == ("few_units" if active < 0.1 * len(columns) else "units")
    assert ("lowest" in finding) == (activation != "ReLU")
    assert activation == "ReLU" or finding["lowest"] == min(column[token] for column in columns)
    always, never = sum(min(column) > 0 for column in columns), sum(max(column) <= 0 for column in columns)
    assert (finding["always"], finding["never"]) == (always, never)


def test_the_number_of_active_hidden_units():
    for at, text in enumerate(SENTENCES[:36:7]):
        trace, model = trace_of("en-de", text), loaded("en-de").model
        for stack, tokens in (("encoder", trace.source_tokens), ("decoder", trace.decoder_input_tokens)):
            units = record_hidden_units(model, trace.source_ids, trace.decoder_input_ids, stack, at % 3)
            check_units(units, at % len(tokens), "ReLU")
    for made in ([[0.0, 1.0, 0.0], [0.0, 2.0, 3.0]], [[0.0, 1.0, 0.0]], [[0.0, 0.0]] * 2, [[1.0] * 7, [2.0] * 7]):
        check_units(np.array(made), 0, "ReLU")
        check_units(np.array(made) - 0.125, 0, "SiLU")


def test_the_gates_that_are_open_and_the_factors_of_the_strongest_unit():
    gates, values = np.random.default_rng(3).normal(size=(2, 4, 30))
    finding = describe_gates((gates, values), 2, ["word"] * 4, "GELU")
    products = [gate * value for gate, value in zip(gates[2], values[2], strict=True)]
    at = finding["unit"] - 1
    assert abs(products[at]) == max(map(abs, products)) and finding["product"] == products[at]
    assert (finding["gate"], finding["value"]) == (gates[2, at], values[2, at])
    assert (finding["open"], finding["width"]) == (pytest.approx(sum(gates[2] > 0) / 30), 30)
