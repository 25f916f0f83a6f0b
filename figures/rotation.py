"""One pair of a positional encoding as the hand of a clock: the next positions are turns by one fixed angle."""

import numpy as np
import plotly.graph_objects as go

from transformer.positions import Encoding

from .positions import MODEL_COLOUR, SETTINGS_COLOUR

_ARC_RADIUS = 0.55


def rotation_figure(encoding: Encoding, pair: int, position: int, offset: int) -> go.Figure:
    """The unit circle: sine to the right, cosine upwards, PE(position) and PE(position + offset) as arrows.

    Position 0 points straight up and later ones follow clockwise. Full turns of the angle between both are left out of
    its arc. Raises IndexError for a pair or a position that the encoding has not.
    """
    points = encoding.pairs[:, pair]  # length (sine, cosine)
    angle = encoding.frequencies[pair]
    start, swept = position * angle, (offset * angle) % (2 * np.pi)
    circle, arc = np.linspace(0, 2 * np.pi, 91), np.linspace(start, start + swept, 61)
    figure = go.Figure()
    figure.add_scatter(
        x=np.sin(circle), y=np.cos(circle), mode="lines", line={"color": "rgba(128, 128, 128, 0.5)", "width": 1},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=points[:, 0].astype(np.float32), y=points[:, 1].astype(np.float32), mode="markers",
        marker={"color": "rgba(128, 128, 128, 0.55)", "size": 5}, customdata=np.arange(len(points), dtype=np.int16),
        name="other positions", hovertemplate="position %{customdata}<br>sine %{x:.4f}, cosine %{y:.4f}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=_ARC_RADIUS * np.sin(arc), y=_ARC_RADIUS * np.cos(arc), mode="lines+markers",
        line={"color": "#8a8a8a", "width": 3, "dash": "dot"},
        marker={"symbol": "arrow", "angleref": "previous", "size": [0] * 60 + [12], "color": "#8a8a8a", "opacity": 1},
        name=f"{offset} steps: {np.degrees(offset * angle):,.1f}°", hoverinfo="skip",
    )  # fmt: skip
    for place, colour, dash in ((position, SETTINGS_COLOUR, "solid"), (position + offset, MODEL_COLOUR, "dash")):
        figure.add_trace(_arrow(points[place], place, colour, dash))
    figure.update_xaxes(**_axis(f"dimension {2 * pair}: sine"), constrain="domain")
    figure.update_yaxes(**_axis(f"dimension {2 * pair + 1}: cosine"), scaleanchor="x", constrain="domain")
    return figure.update_layout(
        height=430,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )


def _arrow(point: np.ndarray, place: int, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=[0, point[0]],
        y=[0, point[1]],
        mode="lines+markers",
        line={"color": colour, "width": 3, "dash": dash},
        marker={"symbol": "arrow", "angleref": "previous", "size": [0, 16], "color": colour, "opacity": 1},
        name=f"PE({place})",
        hovertemplate=f"PE({place})<br>sine %{{x:.4f}}, cosine %{{y:.4f}}<extra></extra>",
    )


def _axis(name: str) -> dict:
    return {
        "title": {"text": name},
        "range": [-1.15, 1.15],
        "tickvals": [-1, 0, 1],
        "showgrid": False,
        "zeroline": True,
        "zerolinecolor": "rgba(128, 128, 128, 0.35)",
        "automargin": True,
    }
