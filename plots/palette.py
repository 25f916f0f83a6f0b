"""The colours of all figures, and the scales that they make."""

from dataclasses import dataclass

# Blue and orange in the first place: every colour vision tells them apart, on a light page and on a dark one.
BLUE, ORANGE, GREEN, GREY = "#1f77e0", "#c2570a", "#00795a", "#8a8a8a"
BRIGHT_ORANGE = "#e8710a"
# Okabe and Ito's colours, those that stand out from white and from black alike, each with a symbol of its own.
SERIES_COLOURS = (BLUE, BRIGHT_ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#a5673f", GREY, "#b8a000")
SERIES_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
FAINT_GREY, MIDDLE_GREY = "rgba(128, 128, 128, 0.25)", "rgba(128, 128, 128, 0.5)"

# From all but transparent to a full blue: on a light page and on a dark one alike, more colour is more weight. One hue,
# so that no colour vision is excluded. Up to 0.5 it is the ramp of browser/lib/canvas.js. Beyond, that one knows if the
# page is dark and goes further; a figure does not, so its last blue stands out from both pages, 4 : 1 and more. Of
# black and white, which both can be read on it, ui/page.css takes the theme's for digits on the cells.
WEIGHT_SCALE = [[0.0, "rgba(31, 119, 224, 0.03)"], [0.5, "rgba(31, 119, 224, 0.72)"], [1.0, "rgba(29, 115, 219, 1)"]]


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
