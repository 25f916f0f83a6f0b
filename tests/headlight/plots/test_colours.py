"""One meaning a colour: orange is what the visitor has changed, and every colour stands in the palettes alone."""

import colorsys
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from support.figures import draw_every_figure
from support.source_files import ROOT

from headlight.plots import palette

HEADLIGHT = ROOT / "headlight"
# The last one's page is for phones, and so small that it has nothing of the app's.
PALETTES = {"plots/palette.py", "components/lib/colours.css", "components/lib/colours.js", "classroom/student.css"}
# A colour written out. What Plotly writes into `style` and a selector asks for is no colour of ours.
LITERAL = re.compile(r"(?<![&\w])#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b|(?:rgb|hsl)a?\(\s*\d", re.IGNORECASE)
NAMED = re.compile(r"[\"'](?:gr[ae]y|orange|red|blue|green|black|white)[\"']")
ASKED_FOR = re.compile(r"\[style\*=\"[^\"]*\"\]")
# What the visitor hides, forces, switches off, edits or takes away, and what becomes another by that.
MAY_BE_ORANGE = {
    "plots/masks.py": "weights and probabilities without the mask",
    "plots/what_if.py": "candidates under interventions, a translation of the visitor's own",
    "components/token_lines/lines.css": "hidden words, and output tokens that changed",
    "components/decoding_player/player.css": "forced tokens",
    "components/head_switches/switches.css": "heads that are off",
    "components/translation_table/table.css": "tokens of a translation under a change",
    "components/weight_bars/bars.css": "weights drawn by hand",
    "components/lib/heatmap.js": "cells that an edit of the small example has changed",
}
CHANGED_BY_THE_VISITOR = {
    "without_causal_mask",
    "next_tokens",
    "candidates",
    "log_probabilities",
}


def sources():
    for path in sorted(HEADLIGHT.rglob("*")):
        name = path.relative_to(HEADLIGHT).as_posix()
        if path.suffix in {".py", ".css", ".js", ".html"} and "node_modules" not in name and name not in PALETTES:
            yield name, ASKED_FOR.sub("", path.read_text(encoding="utf-8"))


def test_colours_are_written_in_the_palettes_alone():
    found = {name: LITERAL.findall(text) + NAMED.findall(text) for name, text in sources()}
    assert len(found) > 100
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_orange_is_named_only_where_the_visitor_changes_something():
    assert {name for name, text in sources() if re.search(r"\bCHANGED\w*\b|--changed\b", text)} == set(MAY_BE_ORANGE)


def test_style_sheets_and_canvases_have_the_colours_of_the_figures():
    css = (HEADLIGHT / "components/lib/colours.css").read_text(encoding="utf-8")
    code = (HEADLIGHT / "components/lib/colours.js").read_text(encoding="utf-8")
    parts = dict(re.findall(r"--([\w-]+): ([\d, ]+);", css))

    def rgb(colour):
        return ", ".join(re.findall(r"\d+", palette.see_through(colour, 1) if colour[0] == "#" else colour)[:3])

    for name, colour in (
        ("weight", "BLUE"),
        ("probability", "PROBABILITY"),
        ("positive", "POSITIVE"),
        ("negative", "NEGATIVE"),
        ("changed", "CHANGED"),
    ):
        assert parts[name] == rgb(getattr(palette, colour))
    assert parts["prefix"] == rgb(palette.OLIVE)
    for name in ("weight", "probability", "positive", "negative", "changed"):
        assert re.search(rf"{name.upper()} = \[([\d, ]+)\]", code)[1] == parts[name]
    scale = palette.diverging(1.0).colours
    assert [rgb(scale[at][1]) for at in (0, 1, 2, 3)] == [parts["negative"]] * 2 + [parts["positive"]] * 2


def shares_of(colour: str) -> tuple[float, ...]:
    """Red, green and blue from 0 to 1."""
    if colour[0] == "#":
        return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(int(part) / 255 for part in re.findall(r"\d+", colour)[:3])


def is_orange(colour: str) -> bool:
    hue, lightness, saturation = colorsys.rgb_to_hls(*shares_of(colour))
    return 10 <= 360 * hue <= 45 and saturation > 0.6 and 0.3 < lightness < 0.7


def colours_in(figure: go.Figure) -> set[str]:
    return set(re.findall(r"#[0-9a-f]{6}\b|rgba?\([^)]*\)", json.dumps(figure.to_dict(), default=str), re.IGNORECASE))


@pytest.fixture(scope="module")
def drawn(shipped) -> dict[str, go.Figure]:
    return draw_every_figure(shipped)


def test_no_figure_is_orange_but_for_what_the_visitor_changed(drawn):
    assert is_orange(palette.CHANGED) and not any(map(is_orange, (*palette.SERIES_COLOURS, palette.NEGATIVE)))
    assert len(drawn) > 25
    orange = {name for name, figure in drawn.items() if any(map(is_orange, colours_in(figure)))}
    assert orange == CHANGED_BY_THE_VISITOR


# Machado, Oliveira and Fernandes 2009, table 1: what those without one kind of cone see, of linear red, green and blue.
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])  # of linear sRGB


def linear(colour: str) -> np.ndarray:
    parts = np.array(shares_of(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    x, y, z = np.cbrt(np.maximum(XYZ @ np.clip(light, 0, 1) / XYZ.sum(axis=1), 0.009))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
def test_signs_are_told_apart_by_every_colour_vision(eyes):
    one, other = (lab(np.array(SEEN[eyes]) @ linear(each)) for each in (palette.POSITIVE, palette.NEGATIVE))
    assert np.linalg.norm(one - other) > 25, "about ten times what is just noticed"


@pytest.mark.parametrize("page", ["#ffffff", "#161614"])
def test_lines_and_signs_stand_out_from_a_light_page_and_a_dark_one(page):
    def luminance(colour: str) -> float:
        return float(XYZ[1] @ linear(colour))

    for colour in (
        palette.BLUE,
        palette.PROBABILITY,
        palette.OLIVE,
        palette.CHANGED,
        palette.POSITIVE,
        palette.NEGATIVE,
    ):
        low, high = sorted((luminance(colour), luminance(page)))
        assert (high + 0.05) / (low + 0.05) >= 3, f"WCAG 1.4.11: {colour} on {page}"
