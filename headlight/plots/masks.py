"""Figures of masks: a head with its mask and without, and the effect on the next tokens."""

import numpy as np
import plotly.graph_objects as go

from transformer.interpret.mask_ablation import DisabledMask, MaskedHead, MaskedPass, masked_head, run_masked
from transformer.interpret.trace import RowLabel, Trace
from transformer.model.names import AttentionKind
from transformer.translator import Translator

from .heatmap import (
    BLANK,
    EXTRA_COLUMNS,
    Cells,
    Heatmap,
    axis_names,
    heatmap_figure,
    hover_texts,
    row_words,
    weight_texts,
)
from .layout import LEGEND_BELOW, figure_of, row_titled, scatter, titled, token_rows
from .names import head_name, sentence_case
from .numbers import short_weight
from .palette import BLUE, CHANGED, CHANGED_FAINT, CHANGED_STRONG, FAINT_GREY, MIDDLE_GREY, Scale
from .tokens import token_label

_LEAKED = Scale([[0.0, CHANGED_FAINT], [1.0, CHANGED_STRONG]])  # weights that only a pass without the mask has
_ROW_HEIGHT = 26  # pixels
_ROOM_BESIDE = 400  # pixels, two maps with the next tokens beside them


def masked_weights_figure(head: MaskedHead, row_label: str) -> go.Figure:
    """Draw the weights of the real rows with the mask, masked cells blank, in the size of `leaking_figure`."""
    rows = head.real_queries
    shown = np.where(head.unmasked, head.weights, BLANK)[:rows]
    cells = Cells(shown, _hover(head, _weight_words(head.weights[:rows])), bar="weight", hover_blank=True)
    labels = _labels(head, row_label, rows)
    return heatmap_figure(Heatmap((cells,), *labels, _ROOM_BESIDE, weight_texts(shown), extra=" "))


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
    sums = [[f"{row_words(disabled, row)}<br>leaked in all: <b>{leaked[row]:.4f}</b>"] for row in range(rows)]
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


def _labels(head: MaskedHead, row_label: str, rows: int) -> tuple[tuple[str, ...], tuple[str, ...], str, str]:
    """Return queries and keys, and the names of both axes."""
    return head.named_rows(row_label)[:rows], head.keys, *axis_names(head.kind, row_label)


def _next_token_path(rows: int) -> str:
    """Return an outline of the cell right of the diagonal in every row: its key is the row's next token."""
    return "".join(f"M{row + 0.5},{row - 0.5}H{row + 1.5}V{row + 0.5}H{row + 0.5}Z" for row in range(rows - 1))


def _weight_words(weights: np.ndarray) -> list[list[str]]:
    return [[f"weight <b>{value:.4f}</b>" for value in row] for row in weights.tolist()]


def _hover(head: MaskedHead, cells: list[list[str]]) -> list[list[str]]:
    """Return for each cell which head it is, which row attends to which key, and what the cell holds."""
    name = sentence_case(head_name(head.layer, head.head, head.layers, head.heads))
    return hover_texts([f"{name}<br>{row_words(head, row)}" for row in range(len(cells))], head.keys, cells)


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


def _run(translator: Translator, trace: Trace, disabled: DisabledMask) -> MaskedPass:
    return run_masked(translator.model, translator.tokenizer, [trace], disabled)
