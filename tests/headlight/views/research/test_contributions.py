"""Contributions: figures hold the engine's numbers, the address chooses the token, and nothing breaks the page."""

import numpy as np
import pytest
from support.pages import numbers, open_page, specs
from support.traces import loaded, stream_of, trace_of

from transformer.interpret.rollout import alti, measured_mixing, roll_out

PAGE, VIEW = "pages/research.py", "contributions"
TEXT = "I love my teacher."


def drawn(app) -> list[dict]:
    return specs(app)[0]["data"]


def chips(app, label: str) -> str:
    (body,) = [each.proto.body for each in app.get("html") if f'aria-label="{label}' in each.proto.body]
    return body


def test_every_bar_is_what_the_engine_computes():
    app = open_page(PAGE, research=VIEW, text=TEXT)
    trace, model = trace_of("en-de", TEXT), loaded("en-de").model
    by_alti = alti(model, trace.source_ids, trace.decoder_input_ids).across[-1]
    maps = trace.encoder, trace.decoder, trace.cross
    by_rollout = roll_out(*maps, measured_mixing(stream_of("en-de", TEXT))).across[-1]
    width = len(trace.source_tokens)
    shown = drawn(app)
    for bars, across, part in zip(
        shown, (by_alti, by_alti, by_rollout, by_rollout), ("source", "prefix") * 2, strict=False
    ):
        shares = across[:, :width] if part == "source" else across[:, width:]
        assert bars["name"].startswith(part)
        np.testing.assert_allclose(numbers(bars["y"]), shares.sum(axis=1), atol=1e-5)
    np.testing.assert_allclose(numbers(shown[1]["base"]), numbers(shown[0]["y"]), atol=1e-5)
    assert shown[4]["y"] == pytest.approx([by_alti[:, :width].sum(axis=1).mean()] * 2)
    assert 0.3 < shown[5]["y"][0] < 0.95, "what is usual over the checkpoint's pairs"


def test_the_address_chooses_the_token_whose_contributions_are_shown():
    app = open_page(PAGE, research=VIEW, text=TEXT, step="2")
    assert app.select_slider(key="step_slider").value == 1
    trace = trace_of("en-de", TEXT)
    row = alti(loaded("en-de").model, trace.source_ids, trace.decoder_input_ids).across[-1][1]
    source = chips(app, "Contributions of the source to “liebe”")
    assert f"{row[1] * 100:.0f} %" in source and source.count("<li") == len(trace.source_tokens)
    prefix, width = chips(app, "Contributions of the prefix to “liebe”"), len(trace.source_tokens)
    assert prefix.count("<li") == 2 and all(f"{share * 100:.0f} %" in prefix for share in row[width : width + 2])
    app.select_slider(key="step_slider").set_value(3).run()
    assert app.query_params["step"] == "4"
    assert "Contributions of the source to “Lehrer”" in chips(app, "Contributions of the source")
