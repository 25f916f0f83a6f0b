"""Small maps that stand side by side: square cells, queries as rows, keys as columns, closed cells blank in a grid."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from transformer.interpret.mask_ablation import MaskedHead
from transformer.interpret.trace import AttentionMap

from .palette import KIND_NAMES, WEIGHT_SCALE, head_name, sentence_case, short_weight, token_label

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


SMALLEST_MAP_CELL_WITH_VALUE = 26  # pixels; in smaller ones the numbers no longer fit, hovering still shows them
SMALLEST_LABEL = 8  # pixels; of tokens closer than this, every second or third is labelled

ROW_NAMES = {"fed": "decoder row: token it was fed", "predicted": "decoder row: token it predicts"}


def attention_map_figure(chosen: AttentionMap) -> go.Figure:
    """A heatmap of weights from 0 to 1 with values, hover in words; masked cells stay blank."""
    rows, columns = chosen.weights.shape
    figure = go.Figure(
        go.Heatmap(
            z=chosen.weights.astype(np.float32),
            zmin=0,
            zmax=1,
            colorscale=WEIGHT_SCALE,
            hovertext=_hover_texts(chosen),
            hoverinfo="text",
            hoverongaps=False,
            xgap=1,
            ygap=1,
            colorbar={
                "title": {"text": "weight"},
                "thickness": 10,
                "lenmode": "pixels",
                "len": 180,
                "y": 1,
                "yanchor": "top",
                "tickvals": [0, 0.25, 0.5, 0.75, 1],
            },
        )
    )
    cell = min(48, max(7, 900 // max(rows, columns)))
    if cell >= SMALLEST_MAP_CELL_WITH_VALUE:
        figure.add_trace(_values(chosen.weights, size=min(12, cell // 3 + 1)))
    label_size = min(13, max(SMALLEST_LABEL, cell - 3))
    every = -(-SMALLEST_LABEL // cell)
    key_name = "key: target token fed" if chosen.kind == "decoder" else "key: source token"
    row_name = "query: source token" if chosen.kind == "encoder" else ROW_NAMES[chosen.row_label]
    figure.update_xaxes(
        **_map_axis(chosen.keys, label_size, every), side="top", tickangle=-60, range=[-0.5, columns - 0.5],
        constrain="domain", title={"text": key_name, "standoff": 8},
    )  # fmt: skip
    figure.update_yaxes(
        **_map_axis(chosen.queries, label_size, every), range=[rows - 0.5, -0.5], scaleanchor="x", constrain="domain",
        constraintoward="top", title={"text": row_name, "standoff": 8},
    )  # fmt: skip
    letter = 0.6 * label_size
    widest_key, widest_query = (max(map(len, tokens), default=1) * letter for tokens in (chosen.keys, chosen.queries))
    figure.update_layout(
        title=None,
        width=round(columns * cell + widest_query + 160),
        height=round(rows * cell + widest_key + 80),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
    return figure


def map_title(chosen: AttentionMap) -> str:
    """What the map is, averages named as such: "Cross-attention: layer 3, head 2"."""
    return f"{KIND_NAMES[chosen.kind]}: {head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads)}"


def _map_axis(tokens: tuple[str, ...], size: int, every: int) -> dict:
    # Ticks by number: as categories, equal tokens would fall into one.
    return {
        "tickvals": list(range(0, len(tokens), every)),
        "ticktext": [token_label(token) for token in tokens[::every]],
        "tickfont": {"size": size},
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _values(weights: np.ndarray, size: int) -> go.Scatter:
    """The weights as text in the page's own colour, two decimals, nothing where the mask is."""
    rows, columns = np.nonzero(~np.isnan(weights))
    return go.Scatter(
        x=columns,
        y=rows,
        mode="text",
        text=[short_weight(value) for value in weights[rows, columns]],
        textfont={"size": size},
        hoverinfo="skip",
        showlegend=False,
    )


def _hover_texts(chosen: AttentionMap) -> list[list[str]]:
    name = sentence_case(head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads))
    texts = []
    for row, weights in enumerate(chosen.weights):
        texts.append(
            [
                f"{name}<br>{row_words(chosen, row)}<br>reads “{token_label(key)}” with weight <b>{weight:.4f}</b>"
                for key, weight in zip(chosen.keys, weights, strict=True)
            ]
        )
    return texts


def row_words(chosen: AttentionMap | MaskedHead, row: int) -> str:
    """A row in words: the source token, or what the decoder was fed and what it predicts."""
    if chosen.predicted is None:
        return f"“{token_label(chosen.fed[row])}”"
    fed, predicted = token_label(chosen.fed[row]), token_label(chosen.predicted[row])
    return f"fed “{fed}”, predicting “{predicted}”,"


ROOM_OF_A_THIRD = 300  # pixels, three maps side by side at a desk; a phone has more for one

_OPEN = [[0.0, "rgba(31, 119, 224, 0.55)"], [1.0, "rgba(31, 119, 224, 0.55)"]]


def mask_figure(
    open_cells: np.ndarray, tokens: tuple[str, ...], closed_by: dict[str, np.ndarray], room: int = ROOM_OF_A_THIRD
) -> go.Figure:
    """open_cells: [target, target], True = may attend, among the tokens that the decoder was fed.

    closed_by: why a cell is closed, in words for the hover, with the cells of which that is true. room: pixels for
    its width.
    """
    labels = Labels(tokens, tokens, "query: target token fed", "key: target token fed", room)
    names = [token_label(token) for token in tokens]
    hover = [
        [_hover(names, row, key, open_cells[row, key], closed_by) for key in range(len(tokens))]
        for row in range(len(tokens))
    ]
    z = np.where(open_cells, 1.0, BLANK)
    return cells_figure([cells_heatmap(z, _OPEN, (0, 1), hover)], labels)


def _hover(names: list[str], row: int, key: int, is_open: bool, closed_by: dict[str, np.ndarray]) -> str:
    who = f"Token {row + 1} “{names[row]}”"
    whom = f"token {key + 1} “{names[key]}”"
    if is_open:
        return f"{who}<br>may read {whom}"
    reasons = " and ".join(reason for reason, cells in closed_by.items() if cells[row, key])
    return f"{who}<br>may not read {whom}:<br>{reasons}"
