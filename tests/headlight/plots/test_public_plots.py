"""Public figures: each is typed, described and drawn, with the model's numbers; invalid options are refused."""

import tomllib

import numpy as np
import plotly.graph_objects as go
import pytest
from support.figures import OF_OTHER_MODELS, draw_every_figure
from support.source_files import ROOT

import headlight as hl


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace("I love my teacher.")


@pytest.mark.parametrize("theme", ["page", "paper"])
def test_each_figure_is_drawn(theme, shipped):
    figures = draw_every_figure(shipped, theme)
    assert figures.keys() | OF_OTHER_MODELS == set(hl.plots.__all__)
    for name, figure in figures.items():
        assert (type(figure) is go.Figure) == (theme == "paper"), name
        assert len(figure.data) > 0 and all({"x", "y", "z"} & set(each.to_plotly_json()) for each in figure.data), name


def test_a_map_of_content_sums_to_one_and_names_the_share_that_was_left_out(trace):
    figure = hl.plots.head(trace, "cross", layer=2, head=4, content_only=True)
    np.testing.assert_allclose(figure.data[0].z.sum(axis=-1), 1, atol=1e-5)
    left_out = trace.content_only().removed["cross"][2, 4].mean()
    assert f"{100 * left_out:.0f} % left out" in figure.data[0].colorbar.title.text


def test_log_probabilities_add_up_to_those_of_the_trace(trace):
    sums = hl.plots.log_probabilities(trace, trace).data[0].y
    assert sums[-1] == pytest.approx(np.log(trace.target_probabilities).sum(), rel=1e-5)


def test_a_figure_has_the_light_themes_colours_where_the_browser_would_put_them(trace):
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]["light"]
    first, *_, last = theme["chartSequentialColors"]
    cells, digits = hl.plots.head(trace, layer=2, head=5).data
    assert cells.colorscale[-1] == (1.0, last)
    inks = dict(zip(zip(digits.y, digits.x, strict=True), digits.textfont.color, strict=True))
    assert {inks[cell] for cell in zip(*np.nonzero(trace.cross[2, 5] >= 0.7), strict=True)} == {first}
    assert set(inks.values()) == {first, "#000000"}


@pytest.mark.parametrize(
    "options, words",
    [
        ({"layer": 3}, "layer must be in 0 to 2, got 3"),
        ({"head": 8}, "head must be in 0 to 7, got 8"),
        ({"kind": "self"}, "attention kind must be one of encoder, decoder, cross, got 'self'"),
        ({"rows": "all"}, "row label must be one of fed, predicted, both, got 'all'"),
    ],
)
def test_a_head_that_the_trace_does_not_have_is_refused(options, words, trace):
    with pytest.raises(ValueError, match=words):
        hl.plots.head(trace, **options)
