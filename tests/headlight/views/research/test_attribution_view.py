"""Attribution through Streamlit's test runner: four measures, their correlations, and runs of the model."""

import numpy as np
import pytest
from support.pages import numbers, open_page, page_text, specs
from support.traces import loaded

from headlight.app.results import measures
from headlight.plots.contributions import MEASURES
from headlight.plots.numbers import signed
from headlight.views.research.attribution import correlation_rows, correlations
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.attribution import (
    gradient_times_input,
    leave_one_out,
    rank_correlation,
    shares,
    summed_value_norms,
)


def open_view(**query: str):
    return open_page("pages/research.py", research="attribution", **query)


def test_every_bar_is_the_engines_and_the_url_restores_the_step():
    text = "Tom lives in Boston with his three sisters."
    app, translator = open_view(text=text, step="3"), loaded("en-de")
    trace, model = translator.trace(text), translator.model
    lengths = []
    for layer in range(len(trace.cross)):
        stages = record_stages(model, trace.source_ids, trace.decoder_input_ids, "cross", layer)
        lengths.append(shares(summed_value_norms(stages, block_parameters(model, "cross", layer)))[0, 2])
    inputs = trace.before(2)
    gradient, left_out = gradient_times_input(model, *inputs), leave_one_out(model, *inputs)
    expected = trace.cross[:, :, 2].mean(axis=(0, 1)), np.mean(lengths, axis=0), gradient.source, left_out.source
    (figure,) = specs(app)
    for panel, values in zip(figure["data"], expected, strict=True):
        np.testing.assert_allclose(numbers(panel["x"]), values, atol=2e-4)
    (table,) = (each.proto.body for each in app.get("html") if "Rank correlation" in each.proto.body)
    assert signed(rank_correlation(abs(expected[0]), abs(expected[3])), 2) in table
    assert f"log P ({signed(np.log(trace.target_probabilities[2]), 3)})" in page_text(app)
    assert app.select_slider(key="step_slider").value == 2


def test_the_model_runs_once_per_step_and_part_of_the_tokens(monkeypatch):
    inputs, occlude = [], measures.occlude

    def counting(model, source, fed, predicted, positions, *against):
        inputs.append((len(fed), positions))
        return occlude(model, source, fed, predicted, positions, *against)

    monkeypatch.setattr(measures, "occlude", counting)
    text = " ".join(["The old dog was too tired."] * 5)
    open_view(text=text, step="2")
    assert len(inputs) > 2 and len(inputs) == len(set(inputs))
    open_view(text=text, step="3")
    assert {fed for fed, _ in inputs} == {2, 3}


def test_the_table_has_each_pair_once():
    values = ([0.1, 0.5, 0.3, 0.1], [0.2, 0.4, 0.3, 0.1], [0.1, -0.9, 0.2, 0.0], [2.0, -0.1, 0.5, 0.3])
    correlated = correlations(dict(zip(MEASURES, map(np.array, values), strict=True)))
    assert correlated[2, 0] == pytest.approx(rank_correlation(np.array([1, 4, 3, 1.0]), np.array([2, 4, 3, 1.0])))
    rows = correlation_rows(correlated)
    assert [name for name, _ in rows] == list(MEASURES[1:])
    assert [sum(map(bool, cells)) for _, cells in rows] == [1, 2, 3]
    assert all("–" in cells for _, cells in correlation_rows(np.full((4, 4), np.nan)))
