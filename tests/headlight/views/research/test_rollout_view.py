"""Rollout through Streamlit's own test runner: the numbers of its maps, its address, invalid input."""

import dataclasses
import json
from urllib.parse import unquote

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.figures import drawn_text
from support.pages import ROOT, numbers, open_page, page_text, shows_only_text

import headlight.plots as plots
from headlight.plots.numbers import format_probability
from headlight.views.research.rollout import ALTI, HALVES, KINDS, MEASURED, METHODS
from transformer import Translator
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import Rollout, alti, measured_mixing, roll_out, share_map
from transformer.interpret.trace import Trace, attention_map

PAGE = "pages/research.py"
FIRST = "I love my teacher."
TEXTS = {"en-de": FIRST, "reverse": "headlight"}


def open_rollout(**query: str) -> AppTest:
    return open_page(PAGE, research="rollout", **query)


def charts(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


@pytest.fixture(scope="module", params=list(TEXTS))
def example(request) -> tuple[str, Trace, Rollout, Rollout, Rollout]:
    """A checkpoint, its trace, both rollouts, and ALTI+."""
    translator = Translator.load(ROOT / "checkpoints" / request.param, "cpu")
    trace = translator.trace(TEXTS[request.param])
    maps = trace.encoder, trace.decoder, trace.cross
    mixing = measured_mixing(record_residual_stream(translator.model, trace.source_ids, trace.decoder_input_ids))
    contributed = alti(translator.model, trace.source_ids, trace.decoder_input_ids)
    return request.param, trace, roll_out(*maps), roll_out(*maps, mixing), contributed


@pytest.mark.parametrize("mixing", [HALVES, MEASURED, ALTI])
@pytest.mark.parametrize("side", list(KINDS))
def test_the_figures_hold_what_the_engine_computes(example, side, mixing):
    name, trace, *rollouts = example
    rollout = rollouts[list(METHODS).index(mixing)]
    app = open_rollout(checkpoint=name, text=TEXTS[name], rollout=side, residual=mixing, up_to="2")
    raw, rolled = charts(app)
    kind = KINDS[side]
    shares = rollout.across[1][:, : len(trace.source_tokens)] if kind == "cross" else getattr(rollout, kind)[1]
    weights = trace.attention(kind)[1].mean(axis=0)
    if kind == "decoder":
        later = ~np.tri(len(weights), dtype=bool)
        shares, weights = (np.where(later, np.nan, part) for part in (shares, weights))
    np.testing.assert_allclose(numbers(raw["data"][0]["z"]), weights, atol=1e-5)
    np.testing.assert_allclose(numbers(rolled["data"][0]["z"]), shares, atol=1e-5)


def test_the_url_restores_side_mixing_and_layer():
    query = {"rollout": "decoder", "residual": MEASURED, "up_to": "1"}
    app = open_rollout(**query)
    for key, value in query.items():
        assert app.segmented_control(key=key).value == value
    assert "Rollout up to layer 1" in page_text(app)


@pytest.mark.parametrize("value", ["evil", "0", "99", "<b>"])
def test_garbage_in_the_url_falls_back(value):
    app = open_rollout(rollout=value, residual=value, up_to=value)
    assert not app.error and len(charts(app)) == 2
    assert "Rollout up to layer 3: shares of source tokens" in page_text(app)


@pytest.mark.parametrize(
    "text", ["a", "<script>alert(1)</script> **b** [l](http://x.y) $x^2$ :red[no]", " ".join(["dog ."] * 30)]
)
@pytest.mark.parametrize("side", list(KINDS))
def test_hostile_tiny_and_long_sentences_are_text_and_nothing_else(text, side):
    app = open_rollout(text=text, rollout=side)
    raw, rolled = charts(app)
    assert len(raw["data"]) == len(rolled["data"]) == 1 or len(text) < 60, "sixty tokens have no numbers in the cells"
    assert shows_only_text(app)
    assert "<script" not in unquote("".join(chart.proto.spec for chart in app.get("plotly_chart")))


# The figures by themselves


def test_blank_cells_scale_and_hover(example):
    _, trace, halves, *_ = example
    rolled = share_map(halves, trace, "decoder", 1)
    figure = plots.shares(rolled)
    heatmap = figure.data[0]
    assert np.isnan(heatmap.z[0, 1:]).all() and not np.isnan(np.diagonal(heatmap.z)).any()
    assert heatmap.zmin == 0 and heatmap.zmax == np.nanmax(rolled.weights)
    assert (
        f"share of “{trace.decoder_input_tokens[1]}”: <b>{format_probability(rolled.weights[1, 1])}</b>"
        in heatmap.hovertext[1][1]
    )
    assert "attends to" in plots.shares(attention_map(trace, "decoder", 1), "weight").data[0].hovertext[1][0]


def test_token_text_is_escaped(example):
    _, trace, halves, *_ = example
    evil = "<b>x</b>"
    spoilt = dataclasses.replace(
        trace,
        decoder_input_tokens=(evil, *trace.decoder_input_tokens[1:]),
        target_tokens=(evil, *trace.target_tokens[1:]),
        source_tokens=(evil, *trace.source_tokens[1:]),
    )
    for kind in KINDS.values():
        text = drawn_text(plots.shares(share_map(halves, spoilt, kind, 0)))
        assert "&lt;b&gt;x&lt;/b&gt;" in text and evil not in text
