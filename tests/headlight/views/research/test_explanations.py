"""Explanations of a token, through Streamlit's test runner: contributions, attribution and contrast."""

import numpy as np
import pytest
from support.pages import numbers, open_page, page_text, specs
from support.recorded import leave_one_out
from support.traces import loaded, stages_of, trace_of

from headlight.plots.numbers import signed
from headlight.plots.tokens import shown_token
from headlight.views.research.attribution import most_doubtful_step
from transformer.interpret.attention_block import block_parameters
from transformer.interpret.attribution import (
    gradient_times_input,
    rank_correlation,
    shares,
    summed_value_norms,
)
from transformer.interpret.rollout import alti, roll_out

TEXT = "I love my teacher."


def open_view(view: str, **query: str):
    return open_page("pages/research.py", **{"research": view, "text": TEXT, **query})


def alti_of(name: str, text: str) -> np.ndarray:
    trace = trace_of(name, text)
    return alti(loaded(name).model, trace.source_ids, trace.decoder_input_ids).across[-1]


def test_bars_of_contributions_have_the_numbers_of_the_engine():
    figure, *_ = specs(open_view("contributions"))
    width, across = len(trace_of("en-de", TEXT).source_tokens), alti_of("en-de", TEXT)
    source, prefix, mean, *_ = figure["data"]
    assert (source["name"], prefix["name"]) == ("source", "prefix")
    np.testing.assert_allclose(numbers(source["y"]), across[:, :width].sum(axis=1), atol=1e-5)
    np.testing.assert_allclose(numbers(prefix["y"]), across[:, width:].sum(axis=1), atol=1e-5)
    np.testing.assert_allclose(numbers(prefix["base"]), numbers(source["y"]), atol=1e-5)
    assert mean["y"] == pytest.approx([across[:, :width].sum(axis=1).mean()] * 2)


def test_the_address_chooses_the_token_whose_contributions_are_shown():
    app, trace = open_view("contributions", step="2"), trace_of("en-de", TEXT)
    row, width = alti_of("en-de", TEXT)[1], len(trace.source_tokens)

    def chips(side: str, step: int) -> str:
        label = f'aria-label="Contributions of the {side} to “{shown_token(trace.target_tokens[step])}”'
        (body,) = [each.proto.body for each in app.get("html") if label in each.proto.body]
        return body

    source, prefix = chips("source", 1), chips("prefix", 1)
    assert f"{row[1] * 100:.0f} %" in source and source.count("<li") == width
    assert prefix.count("<li") == 2 and all(f"{share * 100:.0f} %" in prefix for share in row[width : width + 2])
    app.select_slider(key="step").set_value(3).run()
    assert app.query_params["step"] == "4" and chips("source", 3)


@pytest.mark.parametrize("address", ["attribution", "rollout"])
def test_attribution_opens_at_the_least_sure_token_also_by_the_address_of_rollout(address):
    app = open_view(address)
    assert app.select_slider(key="step").value == most_doubtful_step(trace_of("en-de", TEXT))
    assert any(trace["xaxis"] == "x5" for trace in specs(app)[0]["data"])


def test_bars_of_attribution_have_the_numbers_of_the_engine():
    text = "Tom lives in Boston with his three sisters."
    app, trace, model = open_view("attribution", text=text, step="3"), trace_of("en-de", text), loaded("en-de").model
    lengths = []
    for layer in range(len(trace.cross)):
        stages = stages_of("en-de", text, "cross", layer)
        lengths.append(shares(summed_value_norms(stages, block_parameters(model, "cross", layer)))[0, 2])
    gradient, left_out = (measure(model, *trace.before(2)) for measure in (gradient_times_input, leave_one_out))
    rolled = roll_out(trace.encoder, trace.decoder, trace.cross).across[-1][2, : len(trace.source_tokens)]
    weights = trace.cross[:, :, 2].mean(axis=(0, 1)), np.mean(lengths, axis=0), rolled
    expected = *weights, gradient.source, left_out.source
    (figure,) = specs(app)
    for panel, values in zip(figure["data"], expected, strict=True):
        np.testing.assert_allclose(numbers(panel["x"]), values, atol=2e-4)
    (table,) = (each.proto.body for each in app.get("html") if "Rank correlation" in each.proto.body)
    assert signed(rank_correlation(abs(expected[0]), abs(expected[4])), 2) in table
    assert f"log P ({signed(np.log(trace.target_probabilities[2]), 3)})" in page_text(app)


def test_bars_of_contrast_have_the_numbers_of_the_engine_for_the_candidate_of_the_address():
    trace, model = trace_of("en-de", TEXT), loaded("en-de").model
    width, inputs = len(trace.source_tokens), (model, *trace.before(1), int(trace.candidate_ids[1][4]))
    (figure,) = specs(open_view("contrast", step="2", against=trace.candidate_tokens[1][4]))
    for bars, attribution in zip(figure["data"], (gradient_times_input(*inputs), leave_one_out(*inputs)), strict=True):
        np.testing.assert_allclose(numbers(bars["x"])[1 : 1 + width], attribution.source, atol=2e-4)
        np.testing.assert_allclose(numbers(bars["x"])[2 + width :], attribution.prefix, atol=2e-4)


def test_a_choice_of_step_and_candidate_goes_into_the_address():
    app, trace = open_view("contrast"), trace_of("en-de", TEXT)
    step, others = most_doubtful_step(trace), trace.candidate_probabilities.copy()
    others[trace.candidate_ids == np.array(trace.target_ids)[:, None]] = 0
    assert trace.target_tokens[step] not in app.selectbox(key="against").options
    assert step == others.max(axis=1).argmax() == app.select_slider(key="step").value
    assert app.selectbox(key="against").value == trace.candidate_tokens[step][1]
    third = trace.candidate_tokens[step][2]
    app.selectbox(key="against").set_value(third).run()
    assert app.query_params["against"] == third and f"and not “{shown_token(third)}”" in page_text(app).replace("*", "")
    other = 0 if step else 1
    app.select_slider(key="step").set_value(other).run()
    assert app.query_params["step"] == str(other + 1)
