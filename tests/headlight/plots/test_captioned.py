"""A figure's caption, and the labels for which its axes have no room, travel with it and are not drawn."""

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import Cells, Heatmap, heatmap_figure
from headlight.plots.layout import captioned, figure_of, scatter

CAPTION = "A caption </script> <b>& more</b>."


def test_a_caption_is_added_to_a_figure_that_was_looked_into_and_to_one_that_was_not():
    looked_into = figure_of([scatter([1, 2], [3, 4], "lines")], 200, theme="page")
    assert len(looked_into.data) == 1
    for figure in (
        figure_of([scatter([1, 2], [3, 4], "lines")], 200, theme="page"),
        looked_into,
        go.Figure(looked_into),
    ):
        found = go.Figure(captioned(figure, CAPTION))
        assert found.layout.meta == {"caption": CAPTION}
        assert found.data == looked_into.data
        assert found.update_layout(meta=None) == go.Figure(looked_into), "nothing else is changed"
    assert looked_into.layout.meta is None


def test_a_map_has_all_its_labels_to_the_letter_for_who_takes_its_numbers():
    keys, queries = tuple(f"key {number}" for number in range(60)), tuple(f"query {number}" for number in range(50))
    crowded = Heatmap((Cells(np.zeros((50, 60)), None),), queries, keys, "query", "key", room=300, extra="leaked")
    figure = captioned(heatmap_figure(crowded, "page"), CAPTION)
    assert len(figure.layout.xaxis.ticktext) < len(keys)
    meta = go.Figure(figure).layout.meta
    assert tuple(meta["rows"]) == queries and tuple(meta["columns"]) == (*keys, "", "leaked")
    assert meta["caption"] == CAPTION
    roomy = Heatmap((Cells(np.zeros((2, 3)), None),), queries[:2], keys[:3], "query", "key", room=300)
    assert heatmap_figure(roomy, "page").layout.meta == {"rows": queries[:2], "columns": keys[:3]}
