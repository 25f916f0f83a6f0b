"""Figures: what is drawn, how it is labelled, which way it runs."""

import dataclasses
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import headlight.plots as plots
from headlight.plots.heatmap import Cells, Heatmap, heatmap_figure, map_title, weight_texts
from headlight.plots.names import head_name
from headlight.plots.numbers import format_probability, percent
from headlight.plots.palette import (
    PAGE_TEXT,
    THEMES_FAINTEST,
    THEMES_STRONGEST,
    WEIGHT_SCALE,
    Scale,
    diverging,
    label_color,
)
from transformer.interpret.trace import attention_map

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace("red dog", target="rot Hund Haus")


def hostile(trace):
    """The same trace with a token that would like to be HTML."""
    return dataclasses.replace(trace, source_tokens=("<b>x</b>", *trace.source_tokens[1:]))


def test_the_map_shows_the_traces_numbers_from_zero_to_one(trace):
    heatmap = plots.head(trace, "cross", layer=0, head=1).data[0]
    np.testing.assert_array_equal(heatmap.z, trace.cross[0, 1])
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)


def contrast(one, other):
    """As WCAG 2 defines it, of colours from 0 to 1."""

    def luminance(colour):
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
PAGES = {"light": ((1, 1, 1), (0, 0, 0)), "dark": ((0.055, 0.067, 0.09), (1, 1, 1))}  # and their own digits


def parts(colour, theme):
    """Red, green, blue and opacity from 0 to 1, of one of the theme's colours what Streamlit puts in its place."""
    first, *_, last = THEMES[theme]["chartSequentialColors"]
    colour = {THEMES_FAINTEST: first, THEMES_STRONGEST: last}.get(colour, colour)
    if colour.startswith("#"):
        return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] + [1])
    return np.array([float(part) for part in re.findall(r"[\d.]+", colour)]) / [255, 255, 255, 1]


@pytest.mark.parametrize("theme", PAGES)
def test_weights_stand_out_from_either_page_and_digits_from_every_cell(theme):
    page, own = PAGES[theme]
    shares = [share for share, _ in WEIGHT_SCALE]
    colours = np.array([parts(colour, theme) for _, colour in WEIGHT_SCALE])
    before = 1
    for weight in np.linspace(0, 1, 201):
        *colour, opaque = (np.interp(weight, shares, part) for part in colours.T)
        cell = opaque * np.array(colour) + (1 - opaque) * np.array(page)
        assert contrast(cell, page) > before, "more weight stands out more"
        ink = label_color(weight)
        assert contrast(cell, own if ink is None else parts(ink, theme)[:3]) >= 4.5, weight
        before = contrast(cell, page)
    assert before >= 7
    assert len(THEMES[theme]["chartSequentialColors"]) == 10, "with fewer or more Streamlit takes its own"
    assert label_color(float("nan")) is None


def test_digits_on_strong_cells_have_a_colour_of_their_own_and_all_others_the_pages():
    weights = np.array([[0.1, 0.6, 0.3], [0.31, 0.69, 0.0], [1.0, float("nan"), 0.0]])
    cells = Cells(weights, None, Scale(WEIGHT_SCALE, 0, 0.8), left=1)
    texts = [["", *line] for line in weight_texts(weights)]
    digits = heatmap_figure(Heatmap((cells,), ("a", "b", "c"), ("w", "x", "y", "z"), "", "", 460, texts), "page").data[
        1
    ]
    inks = {(y, x): ink for y, x, ink in zip(digits.y, digits.x, digits.textfont.color, strict=True)}
    assert {at for at, ink in inks.items() if ink == THEMES_FAINTEST} == {(0, 2), (1, 2), (2, 1)}
    assert {ink for ink in inks.values() if ink != THEMES_FAINTEST} == {PAGE_TEXT}
    differences = dataclasses.replace(cells, scale=diverging(0.8))
    plain = Heatmap((differences,), ("a", "b", "c"), ("w", "x", "y", "z"), "", "", 460, texts)
    assert heatmap_figure(plain, "page").data[1].textfont.color is None


@pytest.mark.parametrize("theme", PAGES)
def test_the_ramp_is_that_of_the_maps_in_the_browser(theme):
    source = (ROOT / "headlight" / "components" / "lib" / "colours.js").read_text()
    none, half = (re.search(rf"{name} = \[\.\.\.WEIGHT, ([\d.]+)\]", source)[1] for name in ("NONE", "HALF"))
    blue = re.search(r"const WEIGHT = \[([\d, ]+)\]", source)[1]
    assert WEIGHT_SCALE[:2] == [[0.0, f"rgba({blue}, {none})"], [0.5, f"rgba({blue}, {half})"]]
    full = re.search(rf"{theme}: \[NONE, HALF, \[([\d, ]+)\]", source)[1]
    np.testing.assert_allclose(parts(WEIGHT_SCALE[2][1], theme), parts(f"rgba({full})", theme))


def test_rows_run_from_top_to_bottom_and_keys_stand_on_top_with_integer_ticks(trace):
    figure = plots.head(trace, "cross", layer=0, head=1)
    top, bottom = figure.layout.yaxis.range[1], figure.layout.yaxis.range[0]
    assert bottom > top, "the first row must be on top"
    assert figure.layout.xaxis.side == "top"
    assert list(figure.layout.xaxis.tickvals) == list(range(len(trace.source_tokens)))
    assert figure.layout.yaxis.scaleanchor == "x", "cells must be square"
    assert "output" in figure.layout.yaxis.title.text


def test_equal_tokens_keep_their_own_ticks(translator):
    twice = translator.trace("red red red", target="rot")
    figure = plots.head(twice, "encoder", layer=0, head=0)
    assert len(figure.layout.xaxis.tickvals) == len(twice.source_tokens)


def test_masked_cells_are_blank_and_carry_no_text(trace):
    figure = plots.head(trace, "decoder", layer=0, head=0)
    rows = len(trace.decoder_input_tokens)
    assert np.isnan(figure.data[0].z).sum() == rows * (rows - 1) / 2
    assert figure.data[0].hoverongaps is False
    assert len(figure.data[1].text) == rows * (rows + 1) / 2


def test_hover_names_layer_head_and_both_tokens_of_a_decoder_row(trace):
    text = plots.head(trace, "cross", layer=1, head=2).data[0].hovertext[1][0]
    for words in ("Layer 2, head 3", trace.decoder_input_tokens[1], trace.target_tokens[1], trace.source_tokens[0]):
        assert words in text
    assert f"{format_probability(trace.cross[1, 2, 1, 0])}" in text


def test_tokens_are_escaped_in_ticks_and_hover(trace):
    figure = plots.head(hostile(trace), "cross", layer=0, head=0)
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert "<b>x</b>" not in figure.data[0].hovertext[0][0]


def test_averages_are_called_averages(trace):
    layers, heads = trace.cross.shape[:2]
    assert map_title(attention_map(trace, "cross")).endswith(f"average over all {layers} layers and {heads} heads")
    assert f"average over the {heads} heads of layer 1" in map_title(attention_map(trace, "cross", 0))


def test_a_long_sentence_has_hover_but_neither_numbers_nor_all_labels(trace):
    tokens, weights = ("x",) * 128, np.full((1, 1, 128, 128), 1 / 128, dtype=np.float32)
    figure = plots.head(dataclasses.replace(trace, source_tokens=tokens, encoder=weights), "encoder", layer=0, head=0)
    assert figure.data[0].hovertext[127][127]
    assert len(figure.data) == 1, "no numbers in cells too small for them"
    assert 10 < len(figure.layout.xaxis.tickvals) < 128, "labels must not overlap"


def test_one_head_is_not_called_heads():
    assert head_name(None, None, 1, 1) == "average over all 1 layer and 1 head"


@pytest.mark.parametrize("share, words", [(0.004, "under 1 %"), (0.92, "92 %"), (0.999, "over 99 %"), (1.0, "100 %")])
def test_percentages_never_round_to_all_or_nothing(share, words):
    assert percent(share) == words
