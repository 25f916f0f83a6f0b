"""Figures and sentences of positional encoding: what is drawn, how it is labelled, which way it runs."""

import math

import numpy as np
import pytest
from headlight.views.positions.sum_text import describe_repetition, describe_sum, try_dimensions
from support.small import small_model

from headlight.plots.palette import diverging
from headlight.views.positions import text as captions
from headlight.views.positions.figures import (
    MOST_NUMBERS,
    PART_NAMES,
    curves_figure,
    distance_figure,
    embedding_sum_figure,
    matrix_figure,
    norms_figure,
    products_figure,
    rotation_figure,
    wavelengths_figure,
)
from transformer.interpret.positions import (
    Encoding,
    distance_law,
    dot_products,
    embedding_sum,
    encoding,
    model_encoding,
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


def test_the_matrix_runs_from_the_first_position_on_top_and_is_blue_below_zero(settings):
    figure = matrix_figure(settings)
    heatmap = figure.data[0]
    np.testing.assert_array_equal(heatmap.z, settings.table)
    assert (heatmap.zmin, heatmap.zmax) == (-1, 1)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first position must be on top"
    assert (figure.layout.yaxis.title.text, figure.layout.xaxis.title.text) == ("position", "dimension")
    assert heatmap.z.dtype == np.float32
    colours = diverging(1.0).colours
    assert colours[0][1].startswith("rgba(31, 119, 224") and colours[-1][1].startswith("rgba(232, 113")


def test_dot_products_are_square_and_their_scale_is_even_around_zero(settings):
    products = dot_products(settings)
    figure = products_figure(products)
    np.testing.assert_allclose(figure.data[0].z, products, rtol=1e-6)
    assert figure.data[0].zmax == -figure.data[0].zmin == pytest.approx(D_MODEL / 2)
    assert figure.layout.yaxis.scaleanchor == "x"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_the_curve_over_distance_begins_at_one_for_both(settings, model):
    figure = distance_figure(distance_law(dot_products(settings)), distance_law(dot_products(model)))
    ours, models = figure.data
    assert (len(ours.y), len(models.y)) == (LENGTH, 20)
    assert ours.y[0] == models.y[0] == 1
    frequencies = [100.0 ** (-2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    assert ours.y[4] == pytest.approx(np.mean([math.cos(4 * frequency) for frequency in frequencies]), abs=1e-6)
    assert ours.line.dash != models.line.dash


def test_wavelengths_stand_on_a_log_axis_and_are_hollow_above_their_length(settings, model):
    figure = wavelengths_figure(settings, model)
    assert figure.layout.yaxis.type == "log"
    marks, line, models_marks, models_line = figure.data
    expected = [2 * math.pi * 100 ** (2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    np.testing.assert_allclose(marks.y, expected, rtol=1e-6)
    assert [symbol == "circle-open" for symbol in marks.marker.symbol] == [value > LENGTH - 1 for value in expected]
    assert {"circle", "circle-open"} == set(marks.marker.symbol)
    assert (set(line.y), set(models_line.y)) == ({LENGTH - 1}, {19})
    assert len(models_marks.y) == 12


def test_the_hands_of_the_clock_point_at_both_positions_and_the_arc_joins_them(settings):
    figure = rotation_figure(settings, pair=2, position=3, offset=4)
    _, dots, arc, first, second = figure.data
    np.testing.assert_allclose(np.stack([dots.x, dots.y], axis=1), settings.pairs[:, 2], atol=1e-7)
    for hand, position in ((first, 3), (second, 7)):
        assert hand.name == f"PE({position})"
        np.testing.assert_allclose([hand.x[1], hand.y[1]], settings.pairs[position, 2])
    radius = math.hypot(arc.x[0], arc.y[0])
    np.testing.assert_allclose([arc.x[0], arc.y[0]], radius * settings.pairs[3, 2], atol=1e-6)
    np.testing.assert_allclose([arc.x[-1], arc.y[-1]], radius * settings.pairs[7, 2], atol=1e-6)
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
    assert (
        list(figure.layout.yaxis.ticktext)
        == ["&lt;b&gt;x&lt;/b&gt;", "b", "&lt;b&gt;x&lt;/b&gt;", "c", "&lt;/s&gt;"] * 3
    )
    assert list(figure.layout.yaxis.tickvals) == [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17]
    assert figure.data[0].y[3] == "embedding of “&lt;b&gt;x&lt;/b&gt;” at position 2"
    assert not any("<b>x" in name for name in figure.data[0].y)
    norms = norms_figure(summed)
    assert norms.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert norms.data[0].customdata[2] == "“&lt;b&gt;x&lt;/b&gt;” at position 2"


def test_bars_are_the_three_norms_and_the_number_is_the_cosine(summed):
    *bars, numbers = norms_figure(summed).data
    assert [bar.name for bar in bars] == ["embedding", "position", "sum"]
    for bar, values in zip(bars, summed.norms, strict=True):
        np.testing.assert_allclose(bar.y, values, rtol=1e-6)
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
    norms = norms_figure(long)
    assert norms.data[-1].mode == "none"
    assert len(norms.layout.xaxis.ticktext) < tokens


def test_missing_dimensions_are_named(settings):
    assert captions.missing_dimensions(settings, [0, 13]) == ""
    assert "dimension 14." in captions.missing_dimensions(settings, [14, 3])
    assert "dimensions 14, 99." in captions.missing_dimensions(settings, [99, 14, 3])
    assert "from 0 to 13" in captions.missing_dimensions(settings, [14])


def test_the_captions_of_the_curves_hold_their_wavelengths(settings, model):
    text = captions.describe_curves(settings, model, [2, 9])
    assert f"Dimension 2 repeats every {2 * math.pi * 100 ** (2 / D_MODEL):.1f} positions" in text
    assert f"dimension 9 every {2 * math.pi * 100 ** (8 / D_MODEL):.1f}" in text
    assert f"in this model, dimension 9 every {2 * math.pi * 10000 ** (8 / 24):.0f}" in text
    other = captions.try_curves(settings, [2, 9])
    assert "base 10,000" in other and f"every {2 * math.pi * 10000 ** (8 / D_MODEL):,.0f}" in other


def test_a_single_pair_is_not_told_to_change_its_base(model):
    one = encoding(LENGTH, 2, 100.0)
    for text in (
        captions.try_curves(one, [0, 1]),
        captions.try_matrix(one),
        captions.try_products(one),
        captions.try_wavelengths(one),
    ):
        assert text == captions.ONE_PAIR
    assert "dimension 13" in captions.try_curves(encoding(LENGTH, D_MODEL, 100.0), [0, 1])


def test_the_caption_of_the_matrix_counts_still_columns(settings, model):
    def still(table):
        return sum(max(column) - min(column) < captions.STILL for column in table.T.tolist())

    text = captions.describe_matrix(settings, model)
    assert f"{still(settings.table)} of 14 columns" in text and f"{still(model.table)} of 24" in text
    slow = encoding(LENGTH, D_MODEL, 10000.0)
    assert still(slow.table) > 0
    assert f"then {still(slow.table)} of 14" in captions.try_matrix(settings)


def test_the_caption_of_the_products_says_how_exact_the_law_is_and_where_half_is_lost(settings, model):
    law = distance_law(dot_products(settings))
    text = captions.describe_products(law, distance_law(dot_products(model)))
    assert "·10⁻⁷" in text or "·10⁻⁶" in text
    assert "= 7;" in text
    half = next(k for k, value in enumerate(law.means) if value < law.means[0] / 2)
    assert f"at distance {half} more than half of that is lost" in text
    short = distance_law(dot_products(settings.first(2)))
    assert "half of that remains" in captions.describe_products(short, short)


def test_the_caption_of_the_wavelengths_counts_turning_pairs(settings, model):
    turning = sum(2 * math.pi * 100 ** (2 * i / D_MODEL) <= LENGTH - 1 for i in range(7))
    text = captions.describe_wavelengths(settings, model)
    assert f"{turning} of 7 pairs rotate" in text
    assert f"{math.degrees(29 / 100 ** (12 / D_MODEL)):,.2f}°" in text
    slow = sum(2 * math.pi * 10000 ** (2 * i / D_MODEL) <= LENGTH for i in range(7))
    assert f"then {slow} of 7" in captions.try_wavelengths(settings) and slow != turning


def test_the_caption_of_the_rotation_holds_the_angle_with_its_whole_turns(settings, model):
    text = captions.describe_rotation(settings, model, pair=0, offset=15)
    assert f"{math.degrees(15):.1f}° (2 full rotations and {math.degrees(15) - 720:.1f}°)" in text
    assert "·10⁻⁸" in text
    assert "no two positions that far apart" in captions.describe_rotation(settings, model, pair=0, offset=20)


def test_the_rotation_is_written_out_with_its_numbers(settings):
    formula = captions.rotation_formula(settings, pair=2, position=3, offset=4)
    angle = 100 ** (-4 / D_MODEL)
    for value in (math.cos(4 * angle), math.sin(4 * angle), math.sin(3 * angle), math.cos(3 * angle)):
        assert f"{value:.4f}" in formula
    assert formula.count(f"{math.sin(7 * angle):.4f}") >= 2, "the product and PE(7) are the same"
    for name in ("R(4)", "PE(3)", "PE(7)"):
        assert name in formula


def test_the_captions_of_the_sum_hold_its_numbers(summed):
    text = describe_sum(summed)
    assert f"{math.sqrt(12):.2f}" in text
    assert f"cosine {summed.cosines.min():.2f}" in text and f"({summed.cosines.max():.2f})" in text
    repeated = describe_repetition(summed)
    assert "positions 0 and 2" in repeated and "distance 0.00" in repeated
    distance = np.linalg.norm(summed.positions[0] - summed.positions[2])
    assert f"{distance:.2f} apart" in repeated
    assert "of the 24 position columns" in try_dimensions(summed)


def test_a_sentence_without_repetition_has_no_sentence_about_it():
    once = embedding_sum(small_model(), [9, 3], ("a", "</s>"))
    assert describe_repetition(once) == ""
