"""What all figures share: one palette, one colour scale, one way to write tokens, names and numbers."""

import html
from dataclasses import dataclass

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

KIND_NAMES = {
    "encoder": "Encoder self-attention",
    "decoder": "Masked decoder self-attention",
    "cross": "Cross-attention",
}

# Blue and orange in the first place: every colour vision tells them apart, on a light page and on a dark one.
BLUE, ORANGE, GREEN, GREY = "#1f77e0", "#c2570a", "#00795a", "#8a8a8a"
BRIGHT_ORANGE = "#e8710a"
# Okabe and Ito's colours, those that stand out from white and from black alike, each with a symbol of its own.
SERIES_COLOURS = (BLUE, BRIGHT_ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#a5673f", GREY, "#b8a000")
SERIES_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
FAINT_GREY, MIDDLE_GREY = "rgba(128, 128, 128, 0.25)", "rgba(128, 128, 128, 0.5)"

# From all but transparent to a middle blue: on a light page and on a dark one alike, more colour is more weight, and
# the page's own text colour stays readable on every cell. One hue, so that no colour vision is excluded.
WEIGHT_SCALE = [[0.0, "rgba(31, 119, 224, 0.03)"], [1.0, "rgba(31, 119, 224, 0.72)"]]


def diverging_scale(opacity: float) -> list[list]:
    """A Plotly colour scale around 0 whose ends have this opacity: 0.95, less where numbers stand on the cells.

    Zero is the page itself, light or dark; blue is below, orange above.
    """
    return [
        [0.0, f"rgba(31, 119, 224, {opacity})"],
        [0.5, "rgba(31, 119, 224, 0.02)"],
        [0.5, "rgba(232, 113, 10, 0.02)"],
        [1.0, f"rgba(232, 113, 10, {opacity})"],
    ]


DIVERGING_SCALE = diverging_scale(0.95)


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
    """From -limit to limit, which are the ends of the colour bar."""
    return Scale(diverging_scale(opacity), -limit, limit, (-limit, 0.0, limit), ".1f")


def token_label(token: str) -> str:
    """A token for a tick or a hover text: escaped, since Plotly renders HTML and the token may be a user's text."""
    return html.escape(token, quote=False)


def head_name(layer: int | None, head: int | None, layers: int, heads: int) -> str:
    """A head counted from 1, or what an average goes over, such as "average over the 8 heads of layer 2"."""
    if layer is not None and head is not None:
        return f"layer {layer + 1}, head {head + 1}"
    if layer is not None:
        return f"average over the {counted(heads, 'head')} of layer {layer + 1}"
    if head is not None:
        return f"average over head {head + 1} of all {counted(layers, 'layer')}"
    return f"average over all {counted(layers, 'layer')} and {counted(heads, 'head')}"


def sentence_case(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 head", "8 heads", "8,000 tokens"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def signed(value: float, digits: int = 4) -> str:
    """A number with a true minus sign, and without one before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.") else text.replace("-", "−")


def scientific(value: float, digits: int = 3) -> str:
    """A small number with so many significant digits: 6.99·10⁻⁴; 0 for exactly 0."""
    if not value:
        return "0"
    number, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{number}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def tiny(value: float) -> str:
    """A numerical error with one digit: 6·10⁻⁸; 0 for exactly 0."""
    return scientific(value, digits=1)


def short_weight(value: float) -> str:
    """Two decimals without the leading zero, as statistics tables have it: .07, and 1 for 1.00."""
    return f"{value:.2f}".lstrip("0") if value < 0.995 else "1"
