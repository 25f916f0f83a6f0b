"""Hidden units of a feed-forward: the strongest of one token, and those that fire most across the sentence."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from plots.palette import WEIGHT_SCALE, token_label

SHOWN = 24  # units that are drawn


def units_figure(units: np.ndarray) -> go.Figure:
    """One token's strongest units: [d_ff], after ReLU."""
    order = np.argsort(-units, kind="stable")[: min(SHOWN, int((units > 0).sum()))]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(order))), y=units[order], marker={"color": "#1f77e0", "opacity": 0.75},
            customdata=order + 1, hovertemplate="unit %{customdata}: %{y:.4f}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(
        title="hidden unit", tickvals=list(range(len(order))), ticktext=[str(unit + 1) for unit in order]
    )
    figure.update_yaxes(title="after ReLU")
    figure.update_layout(height=300, margin={"l": 10, "r": 10, "t": 10, "b": 60})
    return figure


def sentence_figure(units: np.ndarray, tokens: Sequence[str]) -> go.Figure:
    """The units that fire most across the sentence, tokens by units: [tokens, d_ff]; 0 stays blank."""
    order = np.argsort(-units.sum(axis=0), kind="stable")[:SHOWN]
    values = units[:, order]
    figure = go.Figure(
        go.Heatmap(
            z=np.where(values > 0, values, np.nan).astype(np.float32), colorscale=WEIGHT_SCALE, zmin=0,
            zmax=float(values.max()) or 1.0, xgap=2, ygap=2, hoverongaps=False,
            customdata=[[[token_label(token), int(unit) + 1] for unit in order] for token in tokens],
            hovertemplate="%{customdata[0]}, unit %{customdata[1]}: %{z:.4f}<extra></extra>",
            colorbar={"thickness": 12},
        )
    )  # fmt: skip
    figure.update_xaxes(
        title="hidden unit", tickvals=list(range(len(order))), ticktext=[str(unit + 1) for unit in order]
    )
    figure.update_yaxes(
        tickvals=list(range(len(tokens))), ticktext=[token_label(token) for token in tokens], autorange="reversed"
    )
    figure.update_layout(height=110 + 26 * len(tokens), margin={"l": 10, "r": 10, "t": 10, "b": 60})
    return figure


def _name_units(figure: go.Figure, order: np.ndarray) -> None:
    names = [str(unit + 1) for unit in order]
    figure.update_xaxes(title="hidden unit", tickvals=list(range(len(order))), ticktext=names)


def describe_units(units: np.ndarray, token: int, tokens: Sequence[str]) -> str:
    """How many units a token leaves alive, how many the sentence never uses, and which fire for every token."""
    active = units > 0
    d_ff = units.shape[1]
    always, never = np.flatnonzero(active.all(axis=0)), int((~active.any(axis=0)).sum())
    common = ", ".join(str(unit + 1) for unit in always[:5]) + (", …" if len(always) > 5 else "")
    everywhere = f"{len(always)} fire for every token ({common})" if len(always) else "none fires for every token"
    return (
        f"ReLU silences {1 - active[token].mean():.0%} of the {d_ff:,} units for “{tokens[token]}”: "
        f"{int(active[token].sum())} stay. Over the whole sentence {1 - active.mean():.0%} are silent on average; "
        f"{everywhere}, and {never} fire for none."
    )
