"""One head, step by step: its scores, its scores after the mask, its weights; and its weights without the mask."""

import numpy as np
import plotly.graph_objects as go

from plots.heatmap import (
    BLANK,
    EXTRA_COLUMNS,
    ROOM_OF_A_THIRD,
    ROW_NAMES,
    Labels,
    cells_figure,
    cells_heatmap,
    colour_bar,
    row_words,
)
from plots.palette import WEIGHT_SCALE, diverging_scale, head_name, sentence_case, short_weight, signed, token_label
from transformer.interpret.mask_ablation import MaskedHead, MaskedPass

ROOM_OF_A_HALF = 460  # pixels, two maps side by side at a desk

SCORE_SCALE = diverging_scale(0.72)  # as transparent as the scale of weights: numbers stand on it
LEAK_SCALE = [[0.0, "rgba(232, 113, 10, 0.03)"], [1.0, "rgba(232, 113, 10, 0.8)"]]

_TICKS = [0, 0.5, 1]
_KEY_NAMES = {"encoder": "key: source token", "decoder": "key: target token fed", "cross": "key: source token"}


def scores_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Q K^T / sqrt(d_k) of every cell, before any mask, coloured around 0."""
    return _scores(head, row_label, head.scores, "score")


def masked_scores_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """The same on the same scale; closed cells, now minus infinity, are blank."""
    return _scores(head, row_label, head.masked_scores, "score after the mask")


def weights_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Softmax of the masked scores, from 0 to 1; closed cells are blank."""
    return _weights(head, row_label, len(head.fed), ROOM_OF_A_THIRD)


def masked_weights_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Weights with the mask for the real rows, as large as `leaking_figure`, to be compared with it."""
    return _weights(head, row_label, head.real_queries, ROOM_OF_A_HALF, extra=" ")


def leaking_figure(masked: MaskedHead, lifted: MaskedHead, row_label: str) -> go.Figure:
    """Weights without the mask for the real rows: blue where the mask is open, orange where lifting it opened cells.

    What is still closed stays blank. The last column holds what leaks of each row in all. In a decoder row the key
    that is the next token is outlined.
    """
    rows, columns = masked.real_queries, len(masked.keys)
    open_cells, opened, weights = (
        masked.unmasked[:rows],
        (lifted.unmasked & ~masked.unmasked)[:rows],
        lifted.weights[:rows],
    )
    shown = np.where(open_cells | opened, weights, BLANK)
    leaked = np.where(opened, weights, 0.0).sum(axis=1)
    hover = _hover(lifted, [[f"weight <b>{value:.4f}</b>" for value in row] for row in weights])
    for row, key in zip(*np.nonzero(opened), strict=True):
        hover[row][key] += "<br>leaked: the mask would close this cell"
    sums = [[f"{_row_words(lifted, row)}<br>gives <b>{leaked[row]:.4f}</b> to closed cells"] for row in range(rows)]
    bar, other_bar = colour_bar("weight", _TICKS), colour_bar("leaked weight", _TICKS, place=0.5)
    kept, lost = np.where(open_cells, weights, BLANK), np.where(opened, weights, BLANK)
    heatmaps = [
        cells_heatmap(kept, WEIGHT_SCALE, (0, 1), hover, bar=bar, gaps=False),
        cells_heatmap(lost, LEAK_SCALE, (0, 1), hover, bar=other_bar, gaps=False),
        cells_heatmap(leaked[:, None], LEAK_SCALE, (0, 1), sums, left=columns + EXTRA_COLUMNS - 1),
    ]
    texts = [[*line, "", short_weight(sum_)] for line, sum_ in zip(_short_weights(shown), leaked, strict=True)]
    frames = _answers_path(rows) if masked.kind == "decoder" else ""
    return cells_figure(heatmaps, _labels(masked, row_label, ROOM_OF_A_HALF, rows), texts, "leaked", frames)


def _weights(head: MaskedHead, row_label: str, rows: int, room: int, extra: str = "") -> go.Figure:
    shown = np.where(head.unmasked, head.weights, BLANK)[:rows]
    hover = _hover(head, [[f"weight <b>{value:.4f}</b>" for value in row] for row in head.weights[:rows]])
    heatmap = cells_heatmap(shown, WEIGHT_SCALE, (0, 1), hover, bar=colour_bar("weight", _TICKS))
    return cells_figure([heatmap], _labels(head, row_label, room, rows), _short_weights(shown), extra)


def _scores(head: MaskedHead, row_label: str, scores: np.ndarray, title: str) -> go.Figure:
    limit = float(np.abs(head.scores).max()) or 1.0
    hover = _hover(head, [[f"{title} <b>{_said(value)}</b>" for value in row] for row in scores])
    shown = np.where(np.isinf(scores), BLANK, scores)
    ticks = [-limit, 0, limit]
    bar = {**colour_bar(title, ticks), "ticktext": [signed(tick, 1) for tick in ticks]}
    heatmap = cells_heatmap(shown, SCORE_SCALE, (-limit, limit), hover, bar=bar)
    labels = _labels(head, row_label, ROOM_OF_A_THIRD, len(head.fed))
    return cells_figure([heatmap], labels, _short_scores(shown))


def _answers_path(rows: int) -> str:
    """A frame around the cell right of the diagonal in every row that has one: there stands what the row predicts."""
    return "".join(f"M{row + 0.5},{row - 0.5}H{row + 1.5}V{row + 0.5}H{row + 0.5}Z" for row in range(rows - 1))


def _labels(head: MaskedHead, row_label: str, room: int, rows: int) -> Labels:
    names = head.queries(row_label)[:rows]
    row_name = "query: source token" if head.predicted is None else ROW_NAMES[row_label]
    return Labels(names, head.keys, row_name, _KEY_NAMES[head.kind], room)


def _short_weights(weights: np.ndarray) -> list[list[str]]:
    """Nothing in a blank cell."""
    return [["" if np.isnan(value) else short_weight(value) for value in row] for row in weights]


def _short_scores(scores: np.ndarray) -> list[list[str]]:
    """One decimal, and none from 10 on, so that they fit their cells."""
    return [
        ["" if np.isnan(value) else signed(value, 1 if abs(value) < 9.95 else 0) for value in row] for row in scores
    ]


def _said(score: float) -> str:
    return "minus infinity: closed by the mask" if np.isinf(score) else signed(score)


def _hover(head: MaskedHead, cells: list[list[str]]) -> list[list[str]]:
    """For each cell: which head, which row reads which key, and what the cell holds."""
    name = sentence_case(head_name(head.layer, head.head, head.layers, head.heads))
    keys = [token_label(key) for key in head.keys]
    return [
        [f"{name}<br>{_row_words(head, row)}<br>reads “{key}”: {cell}" for key, cell in zip(keys, line, strict=True)]
        for row, line in enumerate(cells)
    ]


def _row_words(head: MaskedHead, row: int) -> str:
    """A row in words: the source token, or what the decoder was fed and what it predicts; padding as such."""
    if row >= head.real_queries:
        return f"a row of padding (token {row + 1})"
    return row_words(head, row)


_BLUE, _ORANGE = "rgb(31, 119, 224)", "rgb(232, 113, 10)"
ROW_HEIGHT = 26  # pixels


def next_tokens_figure(masked: MaskedPass, lifted: MaskedPass, sentence: int) -> go.Figure:
    """One row a step of the decoder, from top to bottom, a dot for each of the two probabilities, a line between."""
    steps = masked.target_lengths[sentence]
    rows = np.arange(steps)
    before, after = (run.next_probabilities[sentence, :steps] for run in (masked, lifted))
    fed, following = masked.fed_tokens[sentence][:steps], masked.next_tokens[sentence][:steps]
    gap = np.full(steps, np.nan)
    figure = go.Figure(
        [
            go.Scatter(
                x=np.stack([before, after, gap], axis=1).ravel().astype(np.float32),
                y=np.stack([rows, rows, gap], axis=1).ravel().astype(np.float32),
                mode="lines",
                line={"color": "rgba(128, 128, 128, 0.6)", "width": 3},
                hoverinfo="skip",
                showlegend=False,
            ),
            _dots("with the mask", before, masked, sentence, {"color": _BLUE, "size": 11, "symbol": "circle"}),
            _dots("without the mask", after, lifted, sentence, {"color": _ORANGE, "size": 11, "symbol": "diamond"}),
        ]
    )
    figure.update_xaxes(
        range=[-0.03, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], ticktext=["0 %", "25 %", "50 %", "75 %", "100 %"],
        side="top", zeroline=False, gridcolor="rgba(128, 128, 128, 0.25)",
        title={"text": "probability of the next token", "standoff": 8},
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(steps)),
        ticktext=[f"{token_label(a)} → {token_label(b)}" for a, b in zip(fed, following, strict=True)],
        range=[steps - 0.5, -0.5], showgrid=False, zeroline=False, automargin=True,
        title={"text": "step: token fed → next token", "standoff": 8},
    )  # fmt: skip
    figure.update_layout(
        title=None,
        height=steps * ROW_HEIGHT + 110,
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
    )
    return figure


def _dots(name: str, probabilities: np.ndarray, run: MaskedPass, sentence: int, marker: dict) -> go.Scatter:
    steps = len(probabilities)
    hover = [
        f"Step {step + 1}: fed “{token_label(run.fed_tokens[sentence][step])}”<br>"
        f"next token “{token_label(run.next_tokens[sentence][step])}” {name}: <b>{probabilities[step]:.4f}</b><br>"
        f"first choice “{token_label(run.best_tokens[sentence][step])}” {run.best_probabilities[sentence, step]:.4f}"
        for step in range(steps)
    ]
    return go.Scatter(
        x=probabilities.astype(np.float32),
        y=np.arange(steps),
        mode="markers",
        name=name,
        marker=marker,
        hovertext=hover,
        hoverinfo="text",
    )
