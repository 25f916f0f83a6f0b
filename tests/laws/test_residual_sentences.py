"""Laws of the findings on the residual stream: sub-layers and hidden units, counted again."""

import numpy as np
import pytest
from support.texts import SENTENCES
from support.traces import loaded, stream_of, trace_of

from headlight.views.research.feed_forward import describe_gates, describe_units
from headlight.views.research.trajectory import describe_trajectory
from transformer.interpret.residual import record_hidden_units, trajectory

CASES = [*(("en-de", text) for text in SENTENCES[:36:7]), ("reverse", "a b c d"), ("reverse", "x")]


def cosine(one, other) -> float:
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(one @ other / (one @ one) ** 0.5 / (other @ other) ** 0.5)


def norm(vector) -> float:
    return sum(float(value) ** 2 for value in vector) ** 0.5


@pytest.mark.parametrize(("name", "text"), CASES)
def test_the_sub_layers_that_turn_and_add_most(name, text):
    trace, stream = trace_of(name, text), stream_of(name, text)
    for side, tokens in ((stream.encoder, trace.source_tokens), (stream.decoder, trace.decoder_input_tokens)):
        for token in range(0, len(tokens), max(1, len(tokens) // 4)):
            path = trajectory(side, token)
            finding = describe_trajectory(path, tokens[token])
            sublayers = [(each.layer, each.before[token], each.after[token]) for each in side.sublayers]
            turns = [cosine(before, after) for _, before, after in sublayers]
            norms = [norm(each.change[token]) for each in side.sublayers]
            inside = [at for at, (_, layer) in enumerate(path.points) if layer is not None]
            turned, adding = inside.index(finding["turned"]), inside.index(finding["adding_at"])
            assert (finding["cosine"], turns[turned]) == pytest.approx([min(turns)] * 2, abs=1e-5)
            numbers = finding["added"], norms[adding], finding["norm"]
            assert numbers == pytest.approx((max(norms), max(norms), norm(sublayers[adding][1])), rel=1e-4)
            for named, at in ((finding["turning"], turned), (finding["adding"], adding)):
                assert f"layer {sublayers[at][0] + 1} " in named.lower()
            end = cosine(side.end[token], side.embedded[token])
            assert (finding["last"], finding["share"]) == pytest.approx((end, end * end), abs=1e-5)


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
