"""Heatmaps of values around zero: blue below, nothing at zero, orange above."""

import numpy as np
import plotly.graph_objects as go


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
