"""Heatmaps: cells, labels, directions, and colours whose digits are legible; labels and captions for downloads."""

import dataclasses

import numpy as np
import plotly.graph_objects as go
import pytest

import headlight.plots as plots
from headlight.plots.heatmap import Cells, Heatmap, heatmap_figure
from headlight.plots.layout import captioned
from headlight.plots.numbers import format_probability
from transformer.interpret.trace import attention_map


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace("red dog", target="rot Hund Haus")


@pytest.mark.parametrize(("kind", "layer", "head"), [("decoder", 1, 2), ("encoder", 1, None)])
def test_a_map_has_the_traces_numbers_and_tokens(trace, kind, layer, head):
    figure, shown = plots.head(trace, kind, layer=layer, head=head), attention_map(trace, kind, layer, head)
    cells, digits = figure.data
    np.testing.assert_array_equal(cells.z, shown.weights.astype(np.float32))
    assert (cells.zmin, cells.zmax) == (0, 1) and cells.hoverongaps is False
    assert len(digits.text) == np.isfinite(shown.weights).sum(), "masked cells carry no digits"
    x, y = figure.layout.xaxis, figure.layout.yaxis
    assert y.range[0] > y.range[1], "the first row must be on top"
    assert x.side == "top" and y.scaleanchor == "x", "cells must be square"
    assert list(x.tickvals) == list(range(len(shown.keys))) and list(y.tickvals) == list(range(len(shown.fed)))
    text = cells.hovertext[1][1]
    for words in (shown.fed[1], shown.keys[1], format_probability(shown.weights[1, 1]), f"ayer {layer + 1}"):
        assert words in text
    assert shown.predicted is None or shown.predicted[1] in text


def test_tokens_are_escaped_in_ticks_and_hover(trace):
    hostile = dataclasses.replace(trace, source_tokens=("<b>x</b>", *trace.source_tokens[1:]))
    figure = plots.head(hostile, "cross", layer=0, head=0)
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert "<b>x</b>" not in figure.data[0].hovertext[0][0]


def test_a_long_sentence_has_hover_but_neither_numbers_nor_all_labels(trace):
    tokens, weights = ("x",) * 128, np.full((1, 1, 128, 128), 1 / 128, dtype=np.float32)
    figure = plots.head(dataclasses.replace(trace, source_tokens=tokens, encoder=weights), "encoder", layer=0, head=0)
    assert len(figure.data) == 1 and figure.data[0].hovertext[127][127]
    assert 10 < len(figure.layout.xaxis.tickvals) < 128, "labels must not overlap"


def test_a_map_carries_all_its_labels_for_downloads():
    keys, queries = tuple(f"key {number}" for number in range(60)), tuple(f"query {number}" for number in range(50))
    crowded = Heatmap((Cells(np.zeros((50, 60)), None),), queries, keys, "query", "key", room=300, extra="leaked")
    figure = captioned(heatmap_figure(crowded, "page"), "A caption </script>.")
    assert len(figure.layout.xaxis.ticktext) < len(keys)
    meta = go.Figure(figure).layout.meta
    assert tuple(meta["rows"]) == queries and tuple(meta["columns"]) == (*keys, "", "leaked")
    assert meta["caption"] == "A caption </script>."
    roomy = Heatmap((Cells(np.zeros((2, 3)), None),), queries[:2], keys[:3], "query", "key", room=300)
    assert heatmap_figure(roomy, "page").layout.meta == {"rows": queries[:2], "columns": keys[:3]}
