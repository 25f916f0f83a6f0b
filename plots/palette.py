"""What all figures share: one colour scale, one way to write a token, one look."""

import html

import numpy as np
import plotly.graph_objects as go

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# From all but transparent to a middle blue: on a light page and on a dark one alike, more colour is more weight, and
# the page's own text colour stays readable on every cell. One hue, so that no colour vision is excluded.
WEIGHT_SCALE = [[0.0, "rgba(31, 119, 224, 0.03)"], [1.0, "rgba(31, 119, 224, 0.72)"]]

KIND_NAMES = {
    "encoder": "Encoder self-attention",
    "decoder": "Masked decoder self-attention",
    "cross": "Cross-attention",
}


def token_label(token: str) -> str:
    """A token for a tick or a hover: escaped, for Plotly reads a little HTML, and a visitor's text is not ours."""
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
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 head", "8 heads"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def signed(value: float, digits: int = 4) -> str:
    """A number with a true minus sign, and without one before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.") else text.replace("-", "−")


def tiny(value: float) -> str:
    """An error as people write it: 6·10⁻⁸; 0 for none at all."""
    if not value:
        return "0"
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def scientific(value: float, digits: int = 3) -> str:
    """A small number with so many digits: 6.99·10⁻⁴; 0 for none at all."""
    if not value:
        return "0"
    number, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{number}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def short_weight(value: float) -> str:
    """Two decimals without the leading zero, as statistics tables have it: .07, and 1 for 1.00."""
    text = f"{value:.2f}"
    return text.lstrip("0") if value < 0.995 else "1"


# Zero is the page itself, light or dark; the farther from zero, the more colour. Two hues that every colour vision
# tells apart.
def diverging_scale(strength: float) -> list[list]:
    """A Plotly colour scale whose ends are this opaque: 0.95 for cells alone, less where numbers stand on them."""
    return [
        [0.0, f"rgba(31, 119, 224, {strength})"],
        [0.5, "rgba(31, 119, 224, 0.02)"],
        [0.5, "rgba(232, 113, 10, 0.02)"],
        [1.0, f"rgba(232, 113, 10, {strength})"],
    ]


DIVERGING_SCALE = diverging_scale(0.95)


def diverging_heatmap(z: np.ndarray, limit: float, name: str, hover: str, y: list[str] | None = None) -> go.Heatmap:
    """z [rows, columns] from -limit to limit, the scale labelled `name`; `hover` is a Plotly template."""
    return go.Heatmap(
        z=z.astype(np.float32),
        y=y,
        zmin=-limit,
        zmax=limit,
        colorscale=DIVERGING_SCALE,
        hovertemplate=f"{hover}<extra></extra>",
        hoverongaps=False,
        colorbar={
            "title": {"text": name, "side": "top"},
            "orientation": "h",
            "thickness": 10,
            "lenmode": "pixels",
            "len": 220,
            "y": 0,
            "yanchor": "top",
            "ypad": 14,
            "outlinewidth": 0,
        },
    )


def integer_axis(count: int, name: str) -> dict:
    """An axis over 0 to count - 1 that has no tick between two whole numbers."""
    return {
        "title": {"text": name, "standoff": 8},
        "range": [-0.5, count - 0.5],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "dtick": 1 if count <= 12 else None,
    }


def rows_axis(count: int, name: str) -> dict:
    """The same for rows, the first of them on top."""
    return {**integer_axis(count, name), "range": [count - 0.5, -0.5]}
