"""Colours and colour scales of all figures."""

from dataclasses import dataclass

# One meaning per colour, here and in headlight/components/lib/colours.css and colours.js: the blue ramp below is a
# weight, violet a probability, a ring of ink the selection, teal and brown are values with a sign, and orange is a
# change by the visitor (hidden, forced, switched off, edited), and nothing else.
CHANGED = "#e8710a"
CHANGED_FAINT, CHANGED_STRONG = "rgba(232, 113, 10, 0.03)", "rgba(232, 113, 10, 0.8)"  # the ends of a scale
POSITIVE, NEGATIVE = "rgba(0, 133, 122, 0.85)", "rgba(150, 96, 47, 0.85)"  # of bars with a sign
PROBABILITY = "#8250c4"
INK = "#010203"  # stands for the page's own text colour, which page.css knows

# Blue and olive in the first place: every colour vision tells them apart, on a light page and on a dark one.
BLUE, OLIVE, GREY = "#1f77e0", "#8f7d00", "#8a8a8a"
# Okabe and Ito's colours but for orange, those that stand out from white and from black alike.
SERIES_COLOURS = (BLUE, OLIVE, "#009e73", "#cc79a7", "#56b4e9", "#a5673f", GREY, "#8c6bb1")
GROUND_GREY, FAINT_GREY, LINE_GREY, MIDDLE_GREY = (f"rgba(128, 128, 128, {share})" for share in (0.12, 0.25, 0.4, 0.55))
SOLID_GREY = "rgb(128, 128, 128)"


def see_through(colour: str, opacity: float) -> str:
    """Return one of the colours above, "#rrggbb", with an opacity."""
    return f"rgba({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))}, {opacity})"


# A reader may switch between light and dark at any time: in the place of these two the browser puts the first and the
# last of the ten colours that .streamlit/config.toml names for its theme.
THEMES_FAINTEST, THEMES_STRONGEST = "#000011", "#000020"

# From all but transparent over a full blue to the greatest contrast with the page, dark on a light one and light on a
# dark one: more colour is more weight. One hue, so that no colour vision is excluded. It is the ramp of
# headlight/components/lib/canvas.js.
WEIGHT_SCALE = [[0.0, "rgba(31, 119, 224, 0.03)"], [0.5, "rgba(31, 119, 224, 0.72)"], [1.0, THEMES_STRONGEST]]
# Digits on its cells: up to this share the page's own black or white, which page.css knows; then black on either
# page; from the second share on the other of the two.
PAGE_TEXT = "#808080"  # stands for it where each digit needs a colour
_OWN_UP_TO, _OTHER_FROM = 0.65, 0.7
_LIGHT = {THEMES_FAINTEST: "#ffffff", THEMES_STRONGEST: "#08306b", PAGE_TEXT: "#000000", INK: "#000000"}
BLACK = "#000000"


def label_color(share: float) -> str | None:
    """Return the colour of digits on a cell of this share of WEIGHT_SCALE, 4.5 : 1 and more; None: the page's own."""
    if not share > _OWN_UP_TO:  # nor is NaN, a blank cell
        return None
    return THEMES_FAINTEST if share >= _OTHER_FROM else BLACK


def light_colors(value: object) -> object:
    """Return a figure's dict, or a part of it, with the light theme's colours in the place of those above."""
    if isinstance(value, dict):
        return {key: light_colors(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(light_colors, value))
    return _LIGHT.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Scale:
    """Plotly's colours from the value `low` to the value `high`; `ticks` of its colour bar, in percent or decimals."""

    colours: list
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[float, ...] = (0.0, 0.5, 1.0)
    is_percent: bool = True


WEIGHTS = Scale(WEIGHT_SCALE)


def diverging(limit: float, opacity: float = 0.95) -> Scale:
    """Return a scale from -limit, brown, to limit, teal; zero is the page, light or dark.

    The ends have this opacity, less than usual where numbers stand on the cells.
    """
    colours = [
        [0.0, f"rgba(150, 96, 47, {opacity})"],
        [0.5, "rgba(150, 96, 47, 0.02)"],
        [0.5, "rgba(0, 133, 122, 0.02)"],
        [1.0, f"rgba(0, 133, 122, {opacity})"],
    ]
    return Scale(colours, -limit, limit, (-limit, 0.0, limit), is_percent=False)
