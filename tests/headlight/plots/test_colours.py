"""One meaning per colour, all colours in the palettes, and contrast on light and dark pages."""

import colorsys
import json
import re
import tomllib

import numpy as np
import plotly.graph_objects as go
import pytest
from support.figures import draw_every_figure
from support.source_files import ROOT

from headlight.plots import palette

HEADLIGHT = ROOT / "headlight"
# The last page is for phones, and too small for the app's style sheets.
PALETTES = {"plots/palette.py", "components/lib/colours.css", "components/lib/colours.js", "classroom/student.css"}
# A colour written out; colours that Plotly writes into `style`, and selectors match, are left out.
LITERAL = re.compile(r"(?<![&\w])#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b|(?:rgb|hsl)a?\(\s*\d", re.IGNORECASE)
NAMED = re.compile(r"[\"'](?:gr[ae]y|orange|red|blue|green|black|white)[\"']")
SELECTED = re.compile(r"\[style\*=\"[^\"]*\"\]")
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
CHANGED_BY_THE_VISITOR = {"without_causal_mask", "next_tokens", "log_probabilities"}


def sources():
    for path in sorted(HEADLIGHT.rglob("*")):
        name = path.relative_to(HEADLIGHT).as_posix()
        if path.suffix in {".py", ".css", ".js", ".html"} and "node_modules" not in name and name not in PALETTES:
            yield name, SELECTED.sub("", path.read_text(encoding="utf-8"))


def test_colours_are_written_in_the_palettes_alone():
    literals = {name: LITERAL.findall(text) + NAMED.findall(text) for name, text in sources()}
    assert len(literals) > 100
    assert {name: colours for name, colours in literals.items() if colours} == {}


def test_style_sheets_and_canvases_have_the_colours_of_the_figures():
    css = (HEADLIGHT / "components/lib/colours.css").read_text(encoding="utf-8")
    code = (HEADLIGHT / "components/lib/colours.js").read_text(encoding="utf-8")
    parts = dict(re.findall(r"--([\w-]+): ([\d, ]+);", css))

    def rgb(colour):
        return ", ".join(re.findall(r"\d+", palette.see_through(colour, 1) if colour[0] == "#" else colour)[:3])

    none, half = (re.search(rf"{name} = \[\.\.\.WEIGHT, ([\d.]+)\]", code)[1] for name in ("NONE", "HALF"))
    for share, opacity, (at, colour) in zip((0.0, 0.5), (none, half), palette.WEIGHT_SCALE, strict=False):
        assert (at, colour) == (share, f"rgba({parts['weight']}, {opacity})")
    for theme in PAGES:
        full = re.search(rf"{theme}: \[NONE, HALF, \[([\d, ]+)\]", code)[1]
        np.testing.assert_allclose(shares_of(palette.THEMES_STRONGEST, theme), shares_of(f"rgba({full})"))
    names = {"weight": "BLUE", "probability": "PROBABILITY", "positive": "POSITIVE", "negative": "NEGATIVE"}
    for name, colour in (names | {"changed": "CHANGED"}).items():
        assert parts[name] == rgb(getattr(palette, colour))
        assert re.search(rf"{name.upper()} = \[([\d, ]+)\]", code)[1] == parts[name]
    assert parts["prefix"] == rgb(palette.OLIVE)
    scale = palette.diverging(1.0).colours
    assert [rgb(scale[at][1]) for at in (0, 1, 2, 3)] == [parts["negative"]] * 2 + [parts["positive"]] * 2


def shares_of(colour: str, theme: str = "light") -> np.ndarray:
    """Return red, green, blue and opacity from 0 to 1; a colour of the theme is replaced as Streamlit does."""
    first, *_, last = THEMES[theme]["chartSequentialColors"]
    colour = {palette.THEMES_FAINTEST: first, palette.THEMES_STRONGEST: last}.get(colour, colour)
    if colour[0] == "#":
        colour = palette.see_through(colour, 1)
    return (np.array([*re.findall(r"[\d.]+", colour), "1"][:4], dtype=float)) / [255, 255, 255, 1]


def is_orange(colour: str) -> bool:
    hue, lightness, saturation = colorsys.rgb_to_hls(*shares_of(colour)[:3])
    return 10 <= 360 * hue <= 45 and saturation > 0.6 and 0.3 < lightness < 0.7


def colours_in(figure: go.Figure) -> set[str]:
    return set(re.findall(r"#[0-9a-f]{6}\b|rgba?\([^)]*\)", json.dumps(figure.to_dict(), default=str), re.IGNORECASE))


def test_no_figure_is_orange_but_for_changes_by_the_visitor(shipped):
    drawn = draw_every_figure(shipped)
    assert is_orange(palette.CHANGED) and not any(map(is_orange, (*palette.SERIES_COLOURS, palette.NEGATIVE)))
    assert len(drawn) > 24
    orange = {name for name, figure in drawn.items() if any(map(is_orange, colours_in(figure)))}
    assert orange == CHANGED_BY_THE_VISITOR


XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])  # of linear sRGB
PAGES = {"light": ("#ffffff", "#000000"), "dark": ("#0e1117", "#ffffff")}  # ground and text


def linear(values: np.ndarray) -> np.ndarray:
    """Return linear red, green and blue of sRGB."""
    values = values[:3]
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """Compute the contrast of two colours (WCAG 2.2)."""
    low, high = sorted(float(XYZ[1] @ linear(each)) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", PAGES)
def test_lines_and_signs_stand_out_from_a_light_page_and_a_dark_one(theme):
    for name in ("BLUE", "PROBABILITY", "OLIVE", "CHANGED", "POSITIVE", "NEGATIVE"):
        assert contrast(shares_of(getattr(palette, name)), shares_of(PAGES[theme][0])) >= 3, "WCAG 1.4.11"


@pytest.mark.parametrize("theme", PAGES)
def test_weights_stand_out_from_either_page_and_digits_from_every_cell(theme):
    page, text = map(shares_of, PAGES[theme])
    shares = [share for share, _ in palette.WEIGHT_SCALE]
    colours = np.array([shares_of(colour, theme) for _, colour in palette.WEIGHT_SCALE])
    before = 1
    for weight in np.linspace(0, 1, 201):
        *colour, opaque = (np.interp(weight, shares, part) for part in colours.T)
        cell = opaque * np.array(colour) + (1 - opaque) * page[:3]
        ink, above = palette.label_color(weight), contrast(cell, page)
        assert above > before, "more weight stands out more"
        assert contrast(cell, text if ink is None else shares_of(ink, theme)) >= 4.5, weight
        before = above
    assert before >= 7 and palette.label_color(float("nan")) is None
    assert len(THEMES[theme]["chartSequentialColors"]) == 10, "with fewer or more Streamlit takes its own"
