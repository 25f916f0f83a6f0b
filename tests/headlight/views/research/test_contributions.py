"""Contributions: figures hold the engine's numbers, the address chooses the token, and nothing breaks the page."""

import re

import numpy as np
import pytest
from support.pages import numbers, open_page, page_text, shows_only_text, specs
from support.traces import loaded, stream_of, trace_of

import headlight.plots as plots
from headlight.views.research.contributions import describe_shares
from transformer.interpret.rollout import SourceShares, alti, measured_mixing, roll_out
from transformer.interpret.what_if.logit_attribution import LogitAttribution

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
        own = across[:, :width] if part == "source" else across[:, width:]
        assert bars["name"].startswith(part)
        np.testing.assert_allclose(numbers(bars["y"]), own.sum(axis=1), atol=1e-5)
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
    assert chips(app, "Contributions of the prefix to “liebe”").count("<li") == 2
    app.select_slider(key="step_slider").set_value(3).run()
    assert app.query_params["step"] == "4"
    assert "Contributions of the source to “Lehrer”" in chips(app, "Contributions of the source")


def test_it_begins_with_the_word_of_the_lowest_share():
    shares = SourceShares(("▁a", "b", ".", "</s>"), np.array([0.8, 0.6, 0.2, 0.1]), np.full(4, 0.5))
    assert (shares.least, shares.least_word) == (3, 1)
    no_word = SourceShares((".", "</s>"), np.array([0.3, 0.5]), np.full(2, 0.5))
    assert no_word.least_word == 0


@pytest.mark.parametrize("text, value", [("a", "9" * 3000), ("\x00 <script>alert(1)</script> [l](http://x.y)", "<b>")])
def test_tiny_and_hostile_sentences_and_addresses_are_text_and_nothing_else(text, value):
    app = open_page(PAGE, research=VIEW, text=text, step=value)
    assert not app.error and len(drawn(app)) == 6
    assert shows_only_text(app)


def test_tokens_are_escaped_in_the_figure_and_without_pairs_there_is_no_second_line():
    evil = SourceShares(("<b>x</b>", "y"), np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    figure = plots.source_or_prefix(evil, 1)
    assert "&lt;b&gt;x" in figure.layout.xaxis.ticktext[0] and "<b>x" not in figure.data[0].hovertext[0]
    assert len(figure.data) == 5 and figure.layout.shapes[0].x0 == pytest.approx(0.53)
    assert "over sentence pairs" not in str(describe_shares(evil))


def test_a_low_share_is_called_a_sign_and_no_proof():
    text = page_text(open_page(PAGE, research=VIEW))
    assert "known sign of hallucination" in text and "no proof" in text and "explain" not in text


def parts(**changes) -> LogitAttribution:
    """Of a decoder with 2 layers of 3 heads; they sum to 3.5."""
    given = {
        "decoder": np.array([[0.0, 0.25, 0.0], [0.0, 0.0, -0.5]]),
        "cross": np.array([[0.0, 0.0, 0.0], [1.25, 0.0, 0.25]]),
        "feed_forward": np.array([0.5, 2.0]),
        "embedding": 0.75,
        "position": 0.0,
        "biases": -1.0,
        "logit": 3.5,
    }
    return LogitAttribution(**{**given, **changes})


def test_the_bars_are_the_kinds_and_the_map_has_every_head():
    (bars,) = plots.logit_kinds(parts()).data
    assert list(bars.x) == [0.75, 0.0, -0.25, 1.5, 2.5, -1.0] and bars.text[2] == "−0.25"
    assert bars.marker.color[2] == bars.marker.color[5] != bars.marker.color[0] == bars.marker.color[4]
    cells, digits = plots.logit_parts(parts()).data
    nan = np.nan
    expected = [[0, 0.25, 0, nan, 0, 0, 0, nan, 0.5], [0, 0, -0.5, nan, 1.25, 0, 0.25, nan, 2]]
    np.testing.assert_array_equal(cells.z, np.array(expected, dtype=np.float32))
    assert (cells.zmin, cells.zmax) == (-2, 2) and len(digits.text) == 14 and "−.50" in digits.text
    assert "cross-attention head 1<br>adds <b>1.2500" in cells.hovertext[1][4]
    axis = plots.logit_parts(parts()).layout.xaxis
    assert dict(zip(axis.tickvals, axis.ticktext, strict=True))[8] == "feed-<br>forward"


def test_the_parts_of_the_logit_add_up():
    app = open_page(PAGE, research=VIEW, text=TEXT, step="3")
    _, bars, cells = specs(app)
    said = re.search(r"All parts sum to (\S+); the run's logit of “meinen” is (\S+)\. ", page_text(app))
    assert said[1] == said[2] == f"{numbers(bars['data'][0]['x']).sum():.2f}"
    assert numbers(cells["data"][0]["z"]).shape == (3, 19)
