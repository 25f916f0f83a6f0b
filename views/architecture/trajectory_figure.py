"""A token's trajectory through a stack: norms above, cosines below."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from plots.layout import laid_out
from plots.palette import BLUE, GREEN, ORANGE
from transformer.interpret.residual import Trajectory

from .text import sublayer_names


def trajectory_figure(trajectory: Trajectory) -> go.Figure:
    """Two panels over the same sub-layers: norms of the vector and of what is added; cosines with two earlier ones."""
    names, places = sublayer_names(trajectory), list(range(len(trajectory.points)))
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08, row_heights=[0.55, 0.45])
    added = {"name": "norm of what is added", "marker": {"color": ORANGE, "opacity": 0.6}, "customdata": names}
    hover = "%{customdata}: adds a vector of norm %{y:.2f}<extra></extra>"
    figure.add_bar(x=places, y=trajectory.changes, hovertemplate=hover, row=1, col=1, **added)
    for values, name, colour, dash, row in (
        (trajectory.norms, "norm of the vector", BLUE, "solid", 1),
        (trajectory.similarities, "cosine with its embedding", GREEN, "solid", 2),
        (trajectory.turns, "cosine with the vector before", BLUE, "dot", 2),
    ):
        hover = f"%{{customdata}}: {name} %{{y:.{row + 1}f}}<extra></extra>"
        line = go.Scatter(x=places, y=values, name=name, mode="lines+markers", customdata=names, hovertemplate=hover)
        figure.add_trace(line.update(line={"color": colour, "dash": dash}), row=row, col=1)
    lowest = min(-0.1, float(np.min(trajectory.similarities)) - 0.05)
    figure.update_xaxes(tickvals=places, ticktext=names, tickangle=-40, row=2, col=1)
    figure.update_yaxes(title="norm", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="cosine", range=[lowest, 1.05], row=2, col=1)
    return laid_out(figure, 560, bottom=120)
