"""Small maps that stand side by side: square cells, queries as rows, keys as columns, closed cells blank in a grid."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from .style import token_label

SMALLEST_CELL_WITH_VALUE = 18  # pixels; in smaller ones the numbers no longer fit, hovering still shows them
SMALLEST_CELL_WITH_GRID = 10
LARGEST_CELL = 36
MANY_KEYS = 25  # from here on labels are small
LABEL_SIZES = (8, 12)
BLANK = float("nan")
EXTRA_COLUMNS = 2  # a gap, and a column beside the keys

_GRID = {"color": "rgba(128, 128, 128, 0.45)", "width": 1}
_FRAME = {"color": "rgb(128, 128, 128)", "width": 2.5}


@dataclass(frozen=True)
class Labels:
    """What stands beside the rows and above the columns, tokens as they are; `room` is the width in pixels."""

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    row_name: str
    key_name: str
    room: int

    @property
    def cell(self) -> float:
        """The side of a cell in pixels, with the row labels at a readable size beside them."""
        size = 10 if len(self.keys) < MANY_KEYS else LABEL_SIZES[0]
        letters = 0.62 * size * max(map(len, self.queries))
        return min(LARGEST_CELL, max(4.0, (self.room - letters - 45) / len(self.keys)))


def cells_figure(
    heatmaps: list[go.Heatmap], labels: Labels, texts: list[list[str]] | None = None, extra: str = "", frames: str = ""
) -> go.Figure:
    """Heatmaps over one another in one grid, with `texts` in the cells where they fit.

    `extra` names a column of its own to the right of the keys, one cell away; `frames` is an SVG path around cells
    that stand out.
    """
    rows, columns = len(labels.queries), len(labels.keys)
    width = columns + (EXTRA_COLUMNS if extra else 0)
    cell = labels.cell * columns / width
    bars = any(heatmap.showscale for heatmap in heatmaps)
    size = round(min(LABEL_SIZES[1], max(LABEL_SIZES[0], cell - 4)))
    above = 0.55 * size * max(map(len, (*labels.keys, extra))) + 40
    gap = 1 if cell >= SMALLEST_CELL_WITH_GRID else 0
    for heatmap in heatmaps:
        heatmap.xgap = heatmap.ygap = gap
    grid = {"type": "path", "path": _grid_path(rows, columns, gap > 0), "layer": "below", "line": _GRID}
    # All at once: plotly takes several times as long to change a figure as to make it.
    layout = {
        "xaxis": {
            **_axis(labels.keys, size, cell, extra), "side": "top", "tickangle": -60, "range": [-0.5, width - 0.5],
            "constrain": "domain", "constraintoward": "left", "title": {"text": labels.key_name, "standoff": 6},
        },
        "yaxis": {
            **_axis(labels.queries, size, cell), "range": [rows - 0.5, -0.5], "scaleanchor": "x",
            "constrain": "domain", "constraintoward": "top", "title": {"text": labels.row_name, "standoff": 6},
        },
        "shapes": [grid, {"type": "path", "path": frames, "line": _FRAME}] if frames else [grid],
        "height": round(rows * cell + above + (60 if bars else 10)),
        "margin": {"l": 5, "r": 5, "t": 5, "b": 60 if bars else 5},
        "hovermode": "closest",
        "showlegend": False,
    }  # fmt: skip
    numbers = [_numbers(texts, cell)] if texts and cell >= SMALLEST_CELL_WITH_VALUE else []
    return go.Figure([*heatmaps, *numbers], layout)


def cells_heatmap(
    z: np.ndarray,
    scale: list,
    limits: tuple[float, float],
    hover: list[list[str]],
    *,
    bar: dict | None = None,
    left: float = 0,
    gaps: bool = True,
) -> go.Heatmap:
    """One layer of cells, its first column at `left`; NaN is blank, and with `gaps` it has its hover too."""
    return go.Heatmap(
        z=z.astype(np.float32),
        x0=left,
        dx=1,
        zmin=limits[0],
        zmax=limits[1],
        colorscale=scale,
        showscale=bar is not None,
        colorbar=bar,
        hovertext=hover,
        hoverinfo="text",
        hoverongaps=gaps,
    )


def colour_bar(title: str, ticks: list[float], place: float = 0.0, length: int = 130) -> dict:
    """A small colour bar below the cells; `place` is its left end as a share of the width."""
    return {
        "title": {"text": title, "side": "bottom", "font": {"size": 11}},
        "orientation": "h",
        "thickness": 8,
        "lenmode": "pixels",
        "len": length,
        "x": place,
        "xanchor": "left",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "tickvals": ticks,
        "tickfont": {"size": 10},
    }


def _numbers(texts: list[list[str]], cell: float) -> go.Scatter:
    """Texts in the middle of their cells, in the page's own colour."""
    filled = [(row, column, text) for row, line in enumerate(texts) for column, text in enumerate(line) if text]
    return go.Scatter(
        x=[column for _, column, _ in filled],
        y=[row for row, _, _ in filled],
        mode="text",
        text=[text for _, _, text in filled],
        textfont={"size": 11 if cell >= 26 else 9},
        hoverinfo="skip",
    )


def _axis(tokens: tuple[str, ...], size: int, cell: float, extra: str = "") -> dict:
    # Ticks by number: as categories, equal tokens would fall into one.
    every = -(-LABEL_SIZES[0] // max(1, int(cell)))
    places = list(range(0, len(tokens), every))
    return {
        "tickvals": places + ([len(tokens) + 1] if extra else []),
        "ticktext": [token_label(tokens[place]) for place in places] + ([token_label(extra)] if extra else []),
        "tickfont": {"size": size},
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _grid_path(rows: int, columns: int, inner: bool) -> str:
    """The lines around all cells, or around the whole where cells are too small for lines between them."""
    across = range(rows + 1) if inner else (0, rows)
    down = range(columns + 1) if inner else (0, columns)
    lines = [f"M-0.5,{row - 0.5}L{columns - 0.5},{row - 0.5}" for row in across]
    lines += [f"M{column - 0.5},-0.5L{column - 0.5},{rows - 0.5}" for column in down]
    return "".join(lines)
