"""Rollout through Streamlit's own test runner: the numbers of its maps, its address, invalid input."""

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, numbers, open_page

from headlight.views.research.rollout import ALTI, HALVES, KINDS, MEASURED, METHODS
from transformer import Translator
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import Rollout, alti, measured_mixing, roll_out
from transformer.interpret.trace import Trace

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


# The figures by themselves
