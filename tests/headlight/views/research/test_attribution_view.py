"""Attribution through Streamlit's own test runner: four measures, their ranks, and invalid input."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, numbers, open_page, page_text

from headlight.app.results import measures
from headlight.plots.contributions import GRADIENT, LEFT_OUT, MEASURES, NORMED, RAW
from headlight.plots.numbers import signed
from headlight.views.research.attribution import correlation_rows, correlations
from transformer import Translator
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.attribution import (
    gradient_times_input,
    leave_one_out,
    rank_correlation,
    shares,
    summed_value_norms,
)

PAGE = "pages/research.py"
TEXTS = {"en-de": "Tom lives in Boston with his three sisters.", "reverse": "headlight"}


def open_view(**query: str) -> AppTest:
    return open_page(PAGE, research="attribution", **query)


def panels(app: AppTest) -> list[dict]:
    (chart,) = app.get("plotly_chart")
    return json.loads(chart.proto.spec)["data"]


def table(app: AppTest) -> str:
    (body,) = [element.proto.body for element in app.get("html") if "Rank correlation" in element.proto.body]
    return body


@pytest.mark.parametrize("checkpoint", TEXTS)
def test_every_bar_is_the_engines_and_the_url_restores_the_step(checkpoint):
    app = open_view(checkpoint=checkpoint, text=TEXTS[checkpoint], step="3")
    translator = Translator.load(ROOT / "checkpoints" / checkpoint, "cpu")
    trace, model = translator.trace(TEXTS[checkpoint]), translator.model
    lengths = [
        shares(
            summed_value_norms(
                record_stages(model, trace.source_ids, trace.decoder_input_ids, "cross", each),
                block_parameters(model, "cross", each),
            )
        )[0, 2]
        for each in range(len(trace.cross))
    ]
    inputs = model, trace.source_ids, trace.decoder_input_ids[:3], trace.target_ids[2]
    gradient, left_out = gradient_times_input(*inputs), leave_one_out(*inputs)
    expected = (
        trace.cross[:, :, 2].mean(axis=(0, 1)),
        np.mean(lengths, axis=0),
        gradient.source,
        left_out.source,
    )
    for panel, values in zip(panels(app), expected, strict=True):
        np.testing.assert_allclose(numbers(panel["x"]), values, atol=2e-4)
    assert signed(rank_correlation(abs(expected[0]), abs(expected[3])), 2) in table(app)
    text = page_text(app)
    assert f"log P ({signed(np.log(trace.target_probabilities[2]), 3)})" in text
    assert app.select_slider(key="step_slider").value == 2
    assert "explain" not in text.lower() and "explanation" not in text.lower() and "because of" not in text.lower()


def test_leaving_out_is_done_once_a_step_and_in_parts(monkeypatch):
    inputs = []
    occlude = measures.occlude

    def counting(model, source, fed, predicted, positions, *against):
        inputs.append((len(fed), positions))
        return occlude(model, source, fed, predicted, positions, *against)

    monkeypatch.setattr(measures, "occlude", counting)
    text = " ".join(["The old dog was too tired."] * 9)
    open_view(text=text, step="2")
    assert len(inputs) > 3 and len(inputs) == len(set(inputs))
    open_view(text=text, step="3")
    assert {fed for fed, _ in inputs} == {2, 3}


# The figure and the table by themselves


def some_values() -> dict[str, np.ndarray]:
    values = ([0.1, 0.5, 0.3, 0.1], [0.2, 0.4, 0.3, 0.1], [0.1, -0.9, 0.2, 0.0], [2.0, -0.1, 0.5, 0.3])
    return {name: np.array(each) for name, each in zip((RAW, NORMED, GRADIENT, LEFT_OUT), values, strict=True)}


def test_the_table_has_each_pair_once():
    correlated = correlations(some_values())
    assert correlated[2, 0] == pytest.approx(rank_correlation(np.array([1, 4, 3, 1.0]), np.array([2, 4, 3, 1.0])))
    rows = correlation_rows(correlated)
    assert [name for name, _ in rows] == list(MEASURES[1:])
    assert [sum(map(bool, cells)) for _, cells in rows] == [1, 2, 3]
    assert all("–" in cells for _, cells in correlation_rows(np.full((4, 4), np.nan)))
