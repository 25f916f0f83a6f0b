"""The parts of a logit: by kind as bars, and by layer as a map of heads and feed-forwards."""

import numpy as np
import plotly.graph_objects as go

from headlight.plots.heatmap import BLANK, Cells
from headlight.plots.layout import SMALLEST_LABEL, digits_in_cells, figure_of, row_bars, token_rows
from headlight.plots.palette import FAINT_GREY, diverging
from headlight.plots.text import signed
from transformer.interpret.what_if.logit_attribution import LogitAttribution

from .early_layers_text import part_names, part_sums

_ORANGE, _BLUE = "rgba(232, 113, 10, 0.8)", "rgba(31, 119, 224, 0.75)"
_HEIGHT, _ROW, _ABOVE = 225, 24, 60  # pixels
_MOST_WITH_DIGITS = 20  # columns


def kinds_figure(found: LogitAttribution) -> go.Figure:
    """A bar for each kind of part, orange to the right for what it adds, blue to the left for what it takes."""
    sums, names = part_sums(found), part_names()
    texts = [signed(value, 2) for value in sums.tolist()]
    hover = [f"{name}<br>adds <b>{signed(value)}</b>" for name, value in zip(names, sums.tolist(), strict=True)]
    bars = row_bars(sums.astype(np.float32), hover, _ORANGE, texts=texts)
    bars["marker"] = {"color": np.where(sums < 0, _BLUE, _ORANGE).tolist()}
    bars |= {"textposition": "outside", "cliponaxis": False, "width": 0.72}
    room = 0.25 * float(sums.max() - min(sums.min(), 0)) or 1.0
    ends = [min(float(sums.min()), 0) - (room if sums.min() < 0 else 0), max(float(sums.max()), 0) + room]
    x = {"range": ends, "zeroline": True, "zerolinecolor": "rgb(128, 128, 128)", "gridcolor": FAINT_GREY, "nticks": 5}
    y = token_rows(names) | {"tickfont": {"size": SMALLEST_LABEL}}
    return figure_of([bars], _HEIGHT, x=x, y=y, top=5, bottom=25, showlegend=False)


def layers_figure(found: LogitAttribution) -> go.Figure:
    """Layers by self-attention heads, cross-attention heads and the feed-forward, coloured by what each adds."""
    layers, heads = found.decoder.shape
    gap = np.full((layers, 1), BLANK)
    values = np.hstack([found.decoder, gap, found.cross, gap, found.feed_forward[:, None]])
    names = [f"self-attention head {head + 1}" for head in range(heads)]
    names += ["", *(f"cross-attention head {head + 1}" for head in range(heads)), "", "feed-forward"]
    hover = [
        [f"layer {layer + 1}, {name}<br>adds <b>{signed(value)}</b>" for name, value in zip(names, row, strict=True)]
        for layer, row in enumerate(np.nan_to_num(values).tolist())
    ]
    scale = diverging(float(np.nanmax(np.abs(values))) or 1.0, 0.72)
    traces = [Cells(values, hover, scale).trace(gap=2)]
    if len(names) <= _MOST_WITH_DIGITS:
        traces.append(digits_in_cells(values))
    places = [*range(heads), *range(heads + 1, 2 * heads + 1)]
    labels = [str(number + 1) for number in (*range(heads), *range(heads))]
    middle = (heads - 1) / 2  # a second line of labels names the groups
    places += [middle, middle + heads + 1, 2 * heads + 2]
    labels += ["self-attention, head<br> ", "cross-attention, head<br> ", "feed-<br>forward"]
    x = {"tickvals": places, "ticktext": labels, "tickangle": 0, "side": "top", "showgrid": False, "zeroline": False}
    x |= {"tickfont": {"size": SMALLEST_LABEL}, "automargin": True}
    y = token_rows([f"layer {layer + 1}" for layer in range(layers)]) | {"tickfont": {"size": SMALLEST_LABEL}}
    height = max(_HEIGHT, _ROW * layers + _ABOVE)
    return figure_of(traces, height, x=x, y=y, top=10, bottom=10, legend=None, showlegend=False)
