"""Figures of positional encoding: what is drawn, how it is labelled, which way it runs."""

import math

import numpy as np
import pytest
from support.small import small_model

from headlight.plots.palette import diverging
from headlight.plots.positional_encoding import (
    MOST_NUMBERS,
    copies_figure,
    cosines_figure,
    curves_figure,
    distance_figure,
    distances_figure,
    embedding_norms_figure,
    embedding_sum_figure,
    products_figure,
    rotation_figure,
    table_figure,
    wavelengths_figure,
)
from headlight.plots.text import PART_NAMES
from transformer.interpret.positions import (
    Encoding,
    distance_law,
    dot_products,
    embedding_sum,
    encoding,
    model_encoding,
    repetitions,
    shared_tokens,
)

LENGTH, D_MODEL = 30, 14


@pytest.fixture(scope="module")
def settings() -> Encoding:
    return encoding(LENGTH, D_MODEL, 100.0)


@pytest.fixture(scope="module")
def model() -> Encoding:
    return model_encoding(small_model())


@pytest.fixture(scope="module")
def summed():
    return embedding_sum(small_model(), [9, 17, 9, 5, 3], ("<b>x</b>", "b", "<b>x</b>", "c", "</s>"))


def test_each_dimension_is_a_curve_and_a_pair_shares_its_colour_not_its_dash(settings):
    figure = curves_figure(settings, [9, 2, 3, 8])
    assert [trace.name for trace in figure.data] == ["2 (sin)", "3 (cos)", "8 (sin)", "9 (cos)"]
    for trace, dimension in zip(figure.data, (2, 3, 8, 9), strict=True):
        np.testing.assert_array_equal(trace.y, settings.table[:, dimension])
        np.testing.assert_array_equal(trace.x, np.arange(LENGTH))
        assert f"dimension {dimension}" in trace.hovertemplate
    colours = [trace.line.color for trace in figure.data]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert [trace.line.dash for trace in figure.data] == ["solid", "dash"] * 2
    assert figure.data[0].marker.symbol != figure.data[2].marker.symbol
    assert figure.layout.xaxis.title.text == "position"


def test_a_dimension_that_is_not_there_is_left_out_and_the_others_keep_their_colours(settings):
    whole = curves_figure(encoding(LENGTH, 64, 100.0), [2, 8, 40])
    part = curves_figure(settings, [2, 8, 40])
    assert [trace.name for trace in part.data] == ["2 (sin)", "8 (sin)"]
    assert [trace.line.color for trace in part.data] == [trace.line.color for trace in whole.data[:2]]
    assert len(curves_figure(settings, []).data) == 0


def test_the_matrix_runs_from_the_first_position_on_top_and_is_brown_below_zero(settings):
    figure = table_figure(settings.table, limit=1.0)
    heatmap = figure.data[0]
    np.testing.assert_array_equal(heatmap.z, settings.table)
    assert (heatmap.zmin, heatmap.zmax) == (-1, 1)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first position must be on top"
    assert (figure.layout.yaxis.title.text, figure.layout.xaxis.title.text) == ("position", "dimension")
    assert heatmap.z.dtype == np.float32
    colours = diverging(1.0).colours
    assert colours[0][1].startswith("rgba(150, 96, 47") and colours[-1][1].startswith("rgba(0, 133, 122")


def test_dot_products_are_square_and_their_scale_is_even_around_zero(settings):
    products = dot_products(settings)
    figure = products_figure(products)
    np.testing.assert_allclose(figure.data[0].z, products, rtol=1e-5)
    assert figure.data[0].zmax == -figure.data[0].zmin == pytest.approx(D_MODEL / 2)
    assert figure.layout.yaxis.scaleanchor == "x"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_the_curve_over_distance_begins_at_one_for_both(settings, model):
    figure = distance_figure(distance_law(dot_products(settings)), distance_law(dot_products(model)))
    ours, models = figure.data
    assert (len(ours.y), len(models.y)) == (LENGTH, 20)
    assert ours.y[0] == models.y[0] == 1
    frequencies = [100.0 ** (-2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    assert ours.y[4] == pytest.approx(np.mean([math.cos(4 * frequency) for frequency in frequencies]), abs=1e-5)
    assert ours.line.dash != models.line.dash


def test_wavelengths_stand_on_a_log_axis_and_are_hollow_above_their_length(settings, model):
    figure = wavelengths_figure(settings, model)
    assert figure.layout.yaxis.type == "log"
    marks, line, models_marks, models_line = figure.data
    expected = [2 * math.pi * 100 ** (2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    np.testing.assert_allclose(marks.y, expected, rtol=1e-5)
    assert [symbol == "circle-open" for symbol in marks.marker.symbol] == [value > LENGTH - 1 for value in expected]
    assert {"circle", "circle-open"} == set(marks.marker.symbol)
    assert (set(line.y), set(models_line.y)) == ({LENGTH - 1}, {19})
    assert len(models_marks.y) == 12


def test_the_hands_of_the_clock_point_at_both_positions_and_the_arc_joins_them(settings):
    figure = rotation_figure(settings, pair=2, position=3, offset=4)
    _, dots, arc, first, second = figure.data
    np.testing.assert_allclose(np.stack([dots.x, dots.y], axis=1), settings.pairs[:, 2], atol=1e-6)
    for hand, position in ((first, 3), (second, 7)):
        assert hand.name == f"PE({position})"
        np.testing.assert_allclose([hand.x[1], hand.y[1]], settings.pairs[position, 2])
    radius = math.hypot(arc.x[0], arc.y[0])
    np.testing.assert_allclose([arc.x[0], arc.y[0]], radius * settings.pairs[3, 2], atol=1e-5)
    np.testing.assert_allclose([arc.x[-1], arc.y[-1]], radius * settings.pairs[7, 2], atol=1e-5)
    assert f"{math.degrees(4 * settings.frequencies[2]):.1f}°" in arc.name
    assert figure.layout.yaxis.scaleanchor == "x", "a circle must be round"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == (
        "dimension 4: sine",
        "dimension 5: cosine",
    )


def test_the_three_parts_stand_one_above_the_other_on_one_scale(summed):
    figure = embedding_sum_figure(summed, dimensions=9)
    heatmap, headings = figure.data
    z = np.asarray(heatmap.z)
    gap, tokens = 1, 5
    assert z.shape == (3 * (gap + tokens), 9)
    for place, part in enumerate((summed.embeddings, summed.positions, summed.total)):
        start = place * (gap + tokens)
        assert np.isnan(z[start]).all(), "a heading's row is blank"
        np.testing.assert_array_equal(z[start + gap : start + gap + tokens], part[:, :9])
    assert heatmap.zmax == -heatmap.zmin
    assert list(headings.text) == [f"<b>{name}</b>" for name in PART_NAMES]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert len(set(heatmap.y)) == len(z), "equal names would fall into one row"


def test_tokens_are_escaped_and_equal_tokens_keep_their_rows(summed):
    figure = embedding_sum_figure(summed, dimensions=9)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt;", "b", "&lt;b&gt;x&lt;/b&gt;", "c", "⟨end⟩"] * 3
    assert list(figure.layout.yaxis.tickvals) == [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17]
    assert figure.data[0].y[3] == "embedding of “&lt;b&gt;x&lt;/b&gt;” at position 2"
    assert not any("<b>x" in name for name in figure.data[0].y)
    norms = embedding_norms_figure(summed)
    assert norms.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert norms.data[0].customdata[2] == "“&lt;b&gt;x&lt;/b&gt;” at position 2"


def test_a_token_at_two_places_has_a_row_for_each_and_its_distances(summed):
    (copy,) = repetitions(summed)
    figure = copies_figure(summed, summed, [copy], 9)
    z = np.asarray(figure.data[0].z)
    for block, part in enumerate((summed.embeddings, summed.positions, summed.total)):
        np.testing.assert_array_equal(z[3 * block + 1 : 3 * block + 3], part[[0, 2], :9])
    assert list(figure.layout.yaxis.ticktext[:2]) == [f"&lt;b&gt;x&lt;/b&gt;, position {place}" for place in (0, 2)]
    other = embedding_sum(small_model(), [5, 9, 3], ("c", "<b>x</b>", "</s>"))
    (first, second, last) = shared_tokens(summed, other)
    names = copies_figure(summed, other, [first], 9).data[0].y
    assert names[2] == "embedding of “&lt;b&gt;x&lt;/b&gt;” at position 1 of sentence 2"
    lines, without, with_them = distances_figure([first, second, last]).data
    apart = [math.dist(summed.total[one], other.total[two]) for one, two in ((0, 1), (3, 0), (4, 2))]
    np.testing.assert_allclose(with_them.x, apart, atol=1e-5)
    np.testing.assert_allclose(without.x, 0, atol=1e-5)
    np.testing.assert_allclose(np.asarray(lines.x)[[0, 1]], [0, apart[0]], atol=1e-5)


def test_bars_are_the_three_norms_and_the_number_is_the_cosine(summed):
    *bars, numbers = embedding_norms_figure(summed).data
    assert [bar.name for bar in bars] == ["embedding", "position", "sum"]
    for bar, values in zip(bars, summed.norms, strict=True):
        np.testing.assert_allclose(bar.y, values, rtol=1e-5)
    assert list(numbers.text) == [f"{cosine:.2f}" for cosine in summed.cosines]
    assert numbers.mode == "text"


def test_a_long_sentence_has_fewer_labels_and_no_numbers():
    tokens = MOST_NUMBERS * 4
    long = embedding_sum(small_model(max_length=tokens), [5] * tokens, ("x",) * tokens)
    figure = embedding_sum_figure(long, 24)
    assert figure.layout.height < 3000
    assert tokens < len(figure.layout.yaxis.tickvals) < 3 * tokens
    headings = np.isnan(np.asarray(figure.data[0].z)).all(axis=1).sum()
    assert headings * figure.layout.height / len(figure.data[0].y) > 3 * 18, "a heading must fit into its blank rows"
    norms = embedding_norms_figure(long)
    assert norms.data[-1].mode == "none"
    assert len(norms.layout.xaxis.ticktext) < tokens


def test_a_learned_table_is_drawn_as_it_is_and_by_the_cosines_of_its_rows():
    rows = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, -2.0], [6.0, 8.0]])
    (table,), (cosines,) = table_figure(rows).data, cosines_figure(rows).data
    np.testing.assert_array_equal(table.z, rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(cosines.z, unit @ unit.T, atol=1e-5)
    assert (table.zmin, table.zmax, cosines.zmin, cosines.zmax) == (-8, 8, -1, 1)
