"""Public figures: each is typed, described and drawn, with the model's numbers; invalid options are refused."""

import json
import tomllib
from base64 import b64decode
from math import isnan

import numpy as np
import orjson
import plotly.graph_objects as go
import pytest
from plotly.io import to_json
from support.figures import OF_OTHER_MODELS, draw_every_figure
from support.source_files import ROOT

import headlight as hl
from headlight.plots.layout import Figure
from transformer.evaluation import Confidence


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace("I love my teacher.")


def as_read(figure: dict) -> object:
    """Return a figure as Plotly's JavaScript reads it: packed arrays are lists."""

    def unpack(part: dict) -> object:
        if part.keys() >= {"dtype", "bdata"}:
            numbers = np.frombuffer(b64decode(part["bdata"]), part["dtype"]).tolist()
            return [None if isnan(number) else number for number in numbers]
        return part

    return json.loads(to_json(figure, validate=False), object_hook=unpack)


def expect_as_checked(figure: Figure) -> None:
    """Expect the figure, which is sent without Plotly's checks, to be equal to the checked one."""
    sent = figure.to_dict()
    assert as_read(sent) == as_read(go.Figure(figure._content).to_dict())
    orjson.dumps(sent, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)  # others are converted one by one


@pytest.mark.parametrize("theme", ["page", "paper"])
def test_each_figure_is_drawn(theme, shipped):
    figures = draw_every_figure(shipped, theme)
    assert figures.keys() | OF_OTHER_MODELS == set(hl.plots.__all__)
    for name, figure in figures.items():
        assert (type(figure) is go.Figure) == (theme == "paper"), name
        if theme == "page":
            expect_as_checked(figure)
        assert len(figure.data) > 0 and all({"x", "y", "z"} & set(each.to_plotly_json()) for each in figure.data), name


def test_a_map_of_content_sums_to_one_and_names_the_share_that_was_left_out(trace):
    figure = hl.plots.head(trace, "cross", layer=2, head=4, content_only=True)
    np.testing.assert_allclose(figure.data[0].z.sum(axis=-1), 1, atol=1e-5)
    left_out = trace.content_only().removed["cross"][2, 4].mean()
    assert f"{100 * left_out:.0f} % left out" in figure.data[0].colorbar.title.text


def test_the_histogram_counts_right_and_wrong_tokens_apart():
    measured = Confidence(best=np.array([0.1, 0.9, 0.95]), right=np.array([False, True, False]), reference=np.ones(3))
    assert [sum(bars.y) for bars in hl.plots.confidence_histogram(measured).data] == [1, 2]


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
