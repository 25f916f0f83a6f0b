"""Rollout through Streamlit's test runner: the numbers of its maps."""

import numpy as np
import pytest
from support.pages import numbers, open_page, specs
from support.traces import loaded, stream_of, trace_of

from headlight.views.research.rollout import ALTI, HALVES, KINDS, MEASURED
from transformer.interpret.rollout import alti, measured_mixing, roll_out

TEXT = "headlight"


@pytest.mark.parametrize("mixing", [HALVES, MEASURED, ALTI])
@pytest.mark.parametrize("side", list(KINDS))
def test_the_figures_hold_the_numbers_of_the_engine(side, mixing):
    trace, kind = trace_of("reverse", TEXT), KINDS[side]
    if mixing == ALTI:
        rollout = alti(loaded("reverse").model, trace.source_ids, trace.decoder_input_ids)
    else:
        measured = measured_mixing(stream_of("reverse", TEXT)) if mixing == MEASURED else None
        rollout = roll_out(trace.encoder, trace.decoder, trace.cross, measured)
    query = {"rollout": side, "residual": mixing, "up_to": "2"}
    raw, rolled = specs(open_page("pages/research.py", research="rollout", checkpoint="reverse", text=TEXT, **query))
    shares = rollout.across[1][:, : len(trace.source_tokens)] if kind == "cross" else getattr(rollout, kind)[1]
    weights = trace.attention(kind)[1].mean(axis=0)
    if kind == "decoder":
        later = ~np.tri(len(weights), dtype=bool)
        shares, weights = (np.where(later, np.nan, part) for part in (shares, weights))
    np.testing.assert_allclose(numbers(raw["data"][0]["z"]), weights, atol=1e-5)
    np.testing.assert_allclose(numbers(rolled["data"][0]["z"]), shares, atol=1e-5)
