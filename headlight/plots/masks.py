"""Figures of masks: one head step by step, its weights without the mask, and a row that is masked altogether."""

from collections.abc import Sequence
from math import isinf, isnan

import numpy as np
import plotly.graph_objects as go

from transformer.experiments import attention
from transformer.experiments.attention import FullyMaskedRow
from transformer.interpret.attention_block import record_stages
from transformer.interpret.mask_ablation import DisabledMask, MaskedHead, MaskedPass, masked_head, run_masked
from transformer.interpret.trace import RowLabel, Trace
from transformer.model.names import AttentionKind
from transformer.translator import Translator

from .heatmap import (
    BLANK,
    EXTRA_COLUMNS,
    ROOM_OF_A_THIRD,
    Cells,
    Heatmap,
    axis_names,
    heatmap_figure,
    hover_texts,
    mask_figure,
    row_words,
    weight_texts,
)
from .layout import LEGEND_BELOW, bars, figure_of, row_titled, scatter, titled, token_axis, token_rows
from .palette import BLUE, CHANGED, CHANGED_FAINT, CHANGED_STRONG, FAINT_GREY, MIDDLE_GREY, OLIVE, Scale, diverging
from .text import head_name, sentence_case, short_weight, signed, token_label

_SCORE_OPACITY = 0.72  # as transparent as half of the scale of weights: numbers stand on it
_LEAKED = Scale([[0.0, CHANGED_FAINT], [1.0, CHANGED_STRONG]])  # without the mask that the visitor took away
_ROW_HEIGHT, _HEIGHT = 26, 300  # pixels
_ROOM_BESIDE = 400  # pixels, two maps with the next tokens beside them


def scores_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Draw Q K^T / sqrt(d_k) of every cell, before any mask, coloured around 0."""
    return _score_map(head, row_label, head.scores, "score")


def masked_scores_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Draw the same on the same scale; masked cells, now minus infinity, are blank."""
    return _score_map(head, row_label, head.masked_scores, "score after the mask")


def weights_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Draw softmax of the masked scores, from 0 to 1; masked cells are blank."""
    return _weight_map(head, row_label, len(head.fed), ROOM_OF_A_THIRD)


def masked_weights_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Draw weights with the mask for the real rows, as large as `leaking_figure`, to be compared with it."""
    return _weight_map(head, row_label, head.real_queries, _ROOM_BESIDE, extra=" ")


def leaking_figure(masked: MaskedHead, disabled: MaskedHead, row_label: str) -> go.Figure:
    """Draw weights without the mask for the real rows: blue in unmasked cells, orange where the mask would close.

    What another mask closes stays blank. The last column holds the leaked weight of each row. In a decoder row the key
    that is the next token is outlined.
    """
    rows, columns = masked.real_queries, len(masked.keys)
    unmasked, weights = masked.unmasked[:rows], disabled.weights[:rows]
    leaking = (disabled.unmasked & ~masked.unmasked)[:rows]
    leaked = np.where(leaking, weights, 0.0).sum(axis=1)
    hover = _hover(disabled, _weight_words(weights))
    for row, key in zip(*np.nonzero(leaking), strict=True):
        hover[row][key] += "<br>leaked: masked with the mask"
    sums = [[f"{_row_words(disabled, row)}<br>leaked in all: <b>{leaked[row]:.4f}</b>"] for row in range(rows)]
    cells = (
        Cells(np.where(unmasked, weights, BLANK), hover, bar="weight"),
        Cells(np.where(leaking, weights, BLANK), hover, _LEAKED, "leaked weight"),
        Cells(leaked[:, None], sums, _LEAKED, left=columns + EXTRA_COLUMNS - 1),
    )
    shown = weight_texts(np.where(unmasked | leaking, weights, BLANK))
    texts = [[*line, "", short_weight(total)] for line, total in zip(shown, leaked, strict=True)]
    outline = _next_token_path(rows) if masked.kind == "decoder" else ""
    labels = _labels(masked, row_label, rows)
    return heatmap_figure(Heatmap(cells, *labels, _ROOM_BESIDE, texts, extra="leaked", outline=outline))


def next_tokens_figure(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> go.Figure:
    """Draw a row per step of the decoder, a dot for each of the two probabilities, a line between them."""
    steps = masked.target_lengths[sentence]
    rows, gap = np.arange(steps), np.full(steps, np.nan)
    before, after = (run.target_probabilities[sentence, :steps] for run in (masked, disabled))
    pairs = zip(masked.decoder_input_tokens[sentence][:steps], masked.target_tokens[sentence][:steps], strict=True)
    ends, heights = (np.stack(columns, axis=1).ravel() for columns in ((before, after, gap), (rows, rows, gap)))
    between = {"line": {"color": MIDDLE_GREY, "width": 3}, "hoverinfo": "skip", "showlegend": False}
    lines = scatter(ends.astype(np.float32), heights, "lines", **between)
    circle, diamond = {"color": BLUE, "symbol": "circle"}, {"color": CHANGED, "symbol": "diamond"}
    with_mask = _dots("with the mask", before, masked, sentence, circle)
    without = _dots("without the mask", after, disabled, sentence, diamond)
    ticks = {"tickvals": [0, 0.5, 1], "ticktext": ["0 %", "50 %", "100 %"]}
    across = {"range": [-0.03, 1.1], "side": "top", "zeroline": False, "gridcolor": FAINT_GREY, **ticks}
    x = {**across, "title": titled("probability")}
    names = [f"{fed} → {following}" for fed, following in pairs]
    y = {**token_rows(names), "title": row_titled("step: input token → output token")}
    traces = [lines, with_mask, without]
    return figure_of(traces, steps * _ROW_HEIGHT + 110, x=x, y=y, top=51, bottom=58, legend=LEGEND_BELOW)


def _weight_map(head: MaskedHead, row_label: str, rows: int, room: int, extra: str = "") -> go.Figure:
    shown = np.where(head.unmasked, head.weights, BLANK)[:rows]
    cells = Cells(shown, _hover(head, _weight_words(head.weights[:rows])), bar="weight", hover_blank=True)
    labels = _labels(head, row_label, rows)
    return heatmap_figure(Heatmap((cells,), *labels, room, weight_texts(shown), extra=extra))


def _score_map(head: MaskedHead, row_label: str, scores: np.ndarray, title: str) -> go.Figure:
    hover = _hover(head, [[f"{title} <b>{_score_words(value)}</b>" for value in row] for row in scores.tolist()])
    shown = np.where(np.isinf(scores), BLANK, scores)
    scale = diverging(float(np.abs(head.scores).max()) or 1.0, _SCORE_OPACITY)
    cells = Cells(shown, hover, scale, title, hover_blank=True)
    labels = _labels(head, row_label, len(head.fed))
    return heatmap_figure(Heatmap((cells,), *labels, ROOM_OF_A_THIRD, _score_texts(shown)))


def _labels(head: MaskedHead, row_label: str, rows: int) -> tuple[tuple[str, ...], tuple[str, ...], str, str]:
    """Return queries and keys, and the names of both axes."""
    return head.named_rows(row_label)[:rows], head.keys, *axis_names(head.kind, row_label)


def _next_token_path(rows: int) -> str:
    """Return an outline of the cell right of the diagonal in every row: its key is the row's next token."""
    return "".join(f"M{row + 0.5},{row - 0.5}H{row + 1.5}V{row + 0.5}H{row + 0.5}Z" for row in range(rows - 1))


def _score_texts(scores: np.ndarray) -> list[list[str]]:
    """Write scores with one decimal, and none from 10 on, so that they fit their cells."""
    return [
        ["" if isnan(value) else signed(value, 1 if abs(value) < 9.95 else 0) for value in row]
        for row in scores.tolist()
    ]


def _score_words(score: float) -> str:
    return "minus infinity: masked" if isinf(score) else signed(score)


def _weight_words(weights: np.ndarray) -> list[list[str]]:
    return [[f"weight <b>{value:.4f}</b>" for value in row] for row in weights.tolist()]


def _hover(head: MaskedHead, cells: list[list[str]]) -> list[list[str]]:
    """Return for each cell which head it is, which row attends to which key, and what the cell holds."""
    name = sentence_case(head_name(head.layer, head.head, head.layers, head.heads))
    return hover_texts([f"{name}<br>{_row_words(head, row)}" for row in range(len(cells))], head.keys, cells)


def _row_words(head: MaskedHead, row: int) -> str:
    """Put a row into words: the source token, or the decoder's input and output token; padding as such."""
    return row_words(head, row) if row < head.real_queries else f"a row of padding (token {row + 1})"


def _dots(name: str, probabilities: np.ndarray, run: MaskedPass, sentence: int, marker: dict) -> dict:
    sides = (run.decoder_input_tokens, run.target_tokens, run.best_tokens)
    fed, following, best = ([token_label(token) for token in tokens[sentence]] for tokens in sides)
    hover = [
        f"Step {step + 1}: input token “{fed[step]}”<br>"
        f"next token “{following[step]}” {name}: <b>{probability:.4f}</b><br>"
        f"top-1 “{best[step]}” {run.best_probabilities[sentence, step]:.4f}"
        for step, probability in enumerate(probabilities)
    ]
    look = {"name": name, "marker": {**marker, "size": 11}, "hovertext": hover, "hoverinfo": "text"}
    return scatter(probabilities.astype(np.float32), np.arange(len(probabilities)), "markers", **look)


def fully_masked_row_figure(row: FullyMaskedRow, keys: Sequence[str]) -> go.Figure:
    """Draw the weights of a fully masked row: −1e9 and the fused kernel; −∞ has no numbers to draw."""
    traces = []
    for name, values, colour in (("−1e9", row.with_large_number, OLIVE), ("fused kernel", row.fused, BLUE)):
        hover, marker = f"{name}: %{{y:.4f}}<extra></extra>", {"color": colour, "opacity": 0.75}
        places, texts = list(range(len(keys))), [f"{value:.3f}" for value in values]
        traces.append(bars(places, values, name=name, marker=marker, text=texts, hovertemplate=hover))
    return figure_of(traces, _HEIGHT, x={**token_axis(keys), "title": "key"}, y={"title": "weight", "range": [0, 1]})


def causal_mask(trace: Trace) -> go.Figure:
    """Draw which input tokens of the decoder may attend to which: each row to its own token and the ones before."""
    cells = np.tri(len(trace.decoder_input_tokens), dtype=bool)
    return mask_figure(cells, trace.decoder_input_tokens, {"it comes later": ~cells})


def scores(
    translator: Translator,
    trace: Trace,
    kind: AttentionKind | str = "decoder",
    *,
    layer: int = 0,
    head: int = 0,
    rows: RowLabel | str = "predicted",
) -> go.Figure:
    """Draw one head's scores Q K^T / sqrt(d_k) before the mask, coloured around 0.

    `kind`: "encoder", "decoder" or "cross"; `layer` and `head` count from 0; `rows` names a decoder row after the token
    it predicts, after the one it is "fed", or after "both". Raises ValueError for a head that is not there.
    """
    return scores_figure(_head(translator, trace, kind, layer, head), RowLabel(rows))


def masked_scores(
    translator: Translator,
    trace: Trace,
    kind: AttentionKind | str = "decoder",
    *,
    layer: int = 0,
    head: int = 0,
    rows: RowLabel | str = "predicted",
) -> go.Figure:
    """Draw one head's scores after the mask, masked cells blank; options and errors as for `scores`."""
    return masked_scores_figure(_head(translator, trace, kind, layer, head), RowLabel(rows))


def masked_weights(
    translator: Translator,
    trace: Trace,
    kind: AttentionKind | str = "decoder",
    *,
    layer: int = 0,
    head: int = 0,
    rows: RowLabel | str = "predicted",
) -> go.Figure:
    """Draw softmax of one head's masked scores, from 0 to 1; options and errors as for `scores`."""
    return weights_figure(_head(translator, trace, kind, layer, head), RowLabel(rows))


def without_causal_mask(
    translator: Translator, trace: Trace, *, layer: int = 0, head: int = 0, rows: RowLabel | str = "predicted"
) -> go.Figure:
    """Draw the weights of a decoder head in a pass without the causal mask; those the mask would forbid are orange.

    The last column is their sum in each row. Options and errors as for `scores`.
    """
    passes = (_run(translator, trace, each) for each in (DisabledMask.NOTHING, DisabledMask.CAUSAL))
    masked, disabled = (masked_head(run, AttentionKind.DECODER, 0, layer, head) for run in passes)
    return leaking_figure(masked, disabled, RowLabel(rows))


def next_tokens_without_causal_mask(translator: Translator, trace: Trace) -> go.Figure:
    """Draw the probability of each output token with the causal mask and, the same tokens fed, without it."""
    masked, disabled = (_run(translator, trace, each) for each in (DisabledMask.NOTHING, DisabledMask.CAUSAL))
    return next_tokens_figure(masked, disabled, 0)


def fully_masked_row(translator: Translator, trace: Trace) -> go.Figure:
    """Draw the weights of a query of the encoder's first head if all its keys were masked, by two ways to mask."""
    stages = record_stages(translator.model, trace.source_ids, trace.decoder_input_ids, "encoder", 0)
    row = attention.fully_masked_row(stages.scores[0, 0, 0].tolist())
    return fully_masked_row_figure(row, trace.source_tokens)


def _run(translator: Translator, trace: Trace, disabled: DisabledMask) -> MaskedPass:
    return run_masked(translator.model, translator.tokenizer, [trace], disabled)


def _head(translator: Translator, trace: Trace, kind: AttentionKind | str, layer: int, head: int) -> MaskedHead:
    return masked_head(_run(translator, trace, DisabledMask.NOTHING), kind, 0, layer, head)
