"""A presented figure: letters, margins and height grow, what it shows does not change."""

import numpy as np
import pytest

from headlight.plots.heatmap import Cells, Heatmap, heatmap_figure
from headlight.plots.layout import captioned, enlarged, figure_of, scatter


def test_labels_titles_legend_notes_and_height_grow_alike_and_the_numbers_stay():
    x, y = {"title": "step", "tickfont": {"size": 13}}, {"title": {"text": "rank", "font": {"size": 14}}}
    figure = figure_of(
        [scatter([1, 2], [3, 4], "lines")], 200, theme="page", x=x, y=y, top=20, annotations=[{"text": "here"}]
    )
    for given in (figure, captioned(figure, "A caption.")):
        larger = enlarged(given, 1.5)
        layout = larger.layout
        assert (layout.height, layout.margin.t, layout.margin.b) == (300, 30, 60)
        assert (layout.xaxis.tickfont.size, layout.xaxis.title.font.size) == (19.5, 19.5)
        assert (layout.yaxis.tickfont.size, layout.yaxis.title.font.size) == (19.5, 21)
        assert (layout.legend.font.size, layout.annotations[0].font.size) == (19.5, 19.5)
        assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("step", "rank")
        assert larger.data[0].x == (1, 2) and larger.data[0].y == (3, 4)


def test_letters_around_square_cells_grow_less_and_their_colour_bar_makes_room_for_its_numbers():
    cells = Cells(np.zeros((3, 2)), None, bar="weight")
    figure = heatmap_figure(Heatmap((cells,), ("a", "b", "c"), ("d", "e"), "query", "key", room=300), "page")
    larger, before = enlarged(figure, 1.5), figure.data[0].colorbar
    assert larger.layout.xaxis.tickfont.size == pytest.approx(1.1 * 13)
    assert larger.data[0].colorbar.tickfont.size == pytest.approx(1.1 * before.tickfont.size)
    assert larger.data[0].colorbar.len == 1.5 * before.len
    assert np.array_equal(larger.data[0].z, figure.data[0].z)
