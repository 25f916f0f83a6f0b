"""The colours of all figures, and the scales that they make."""

from dataclasses import dataclass

# Blue and orange in the first place: every colour vision tells them apart, on a light page and on a dark one.
BLUE, ORANGE, GREEN, GREY = "#1f77e0", "#c2570a", "#00795a", "#8a8a8a"
BRIGHT_ORANGE = "#e8710a"
# Okabe and Ito's colours, those that stand out from white and from black alike, each with a symbol of its own.
SERIES_COLOURS = (BLUE, BRIGHT_ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#a5673f", GREY, "#b8a000")
SETTINGS_COLOUR, MODEL_COLOUR = SERIES_COLOURS[:2]  # of what a reader has set, and of the loaded model beside it
SERIES_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
FOR, AGAINST = "rgba(232, 113, 10, 0.8)", "rgba(31, 119, 224, 0.75)"  # of bars and cells with a sign
FAINT_GREY, MIDDLE_GREY = "rgba(128, 128, 128, 0.25)", "rgba(128, 128, 128, 0.5)"

# A reader may switch between light and dark at any time: in the place of these two the browser puts the first and the
# last of the ten colours that .streamlit/config.toml names for its theme.
THEMES_FAINTEST, THEMES_STRONGEST = "#000011", "#000020"

# From all but transparent over a full blue to what stands out most from the page, dark on a light one and light on a
# dark one: more colour is more weight. One hue, so that no colour vision is excluded. It is the ramp of
# headlight/components/lib/canvas.js.
WEIGHT_SCALE = [[0.0, "rgba(31, 119, 224, 0.03)"], [0.5, "rgba(31, 119, 224, 0.72)"], [1.0, THEMES_STRONGEST]]
# Digits on its cells: up to this share the page's own black or white, which page.css knows; then black on either
# page; from the second share on the other of the two.
PAGE_TEXT = "#808080"  # stands for it where each digit needs a colour
_OWN_UP_TO, _OTHER_FROM = 0.65, 0.7
_LIGHT = {THEMES_FAINTEST: "#ffffff", THEMES_STRONGEST: "#08306b", PAGE_TEXT: "#000000"}


def label_color(share: float) -> str | None:
    """The colour of digits on a cell of this share of WEIGHT_SCALE, 4.5 : 1 and more; None is the page's own."""
    if not share > _OWN_UP_TO:  # nor is NaN, a blank cell
        return None
    return THEMES_FAINTEST if share >= _OTHER_FROM else "#000000"


def light_colors(value: object) -> object:
    """Return a figure's dict, or a part of it, with the light theme's colours in the place of those above."""
    if isinstance(value, dict):
        return {key: light_colors(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(light_colors, value))
    return _LIGHT.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Scale:
    """Plotly's colours from the value `low` to the value `high`; `ticks` of its colour bar, None for Plotly's own."""

    colours: list
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[float, ...] | None = (0.0, 0.5, 1.0)
    tick_format: str = ""


WEIGHTS = Scale(WEIGHT_SCALE)


def diverging(limit: float, opacity: float = 0.95) -> Scale:
    """From -limit, blue, to limit, orange, which are the ends of the colour bar; zero is the page, light or dark.

    The ends have this opacity, less than usual where numbers stand on the cells.
    """
    colours = [
        [0.0, f"rgba(31, 119, 224, {opacity})"],
        [0.5, "rgba(31, 119, 224, 0.02)"],
        [0.5, "rgba(232, 113, 10, 0.02)"],
        [1.0, f"rgba(232, 113, 10, {opacity})"],
    ]
    return Scale(colours, -limit, limit, (-limit, 0.0, limit), ".1f")
