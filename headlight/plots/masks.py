"""Figures of masks: a head with its mask and without, and the effect on the next tokens."""

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.interpret.mask_ablation import MaskedHead, MaskedPass

from .heatmap import (
    BLANK,
    EXTRA_COLUMNS,
    THIRD_OF_WIDTH,
    Cells,
    Heatmap,
    axis_names,
    heatmap_figure,
    hover_texts,
    row_words,
    text_of,
    weight_texts,
    weight_words,
)
from .layout import LEGEND_BELOW, Theme, figure_of, row_titled, scatter, titled, token_rows
from .names import head_name, sentence_case
from .numbers import format_probability, percent_in_cell
from .palette import (
    BLUE,
    CHANGED,
    CHANGED_FAINT,
    CHANGED_STRONG,
    FAINT_GREY,
    MIDDLE_GREY,
    PROBABILITY,
    Scale,
    see_through,
)
from .tokens import token_label

_MAY_ATTEND = Scale([[0.0, see_through(BLUE, 0.55)], [1.0, see_through(BLUE, 0.55)]])
_LEAKED = Scale([[0.0, CHANGED_FAINT], [1.0, CHANGED_STRONG]])  # weights that only a pass without the mask has
_text = texts_beside(__file__)
_ROW_HEIGHT = 26  # pixels
_ROOM_BESIDE = 400  # pixels, two maps with the next tokens beside them


def mask(
    unmasked: np.ndarray, tokens: tuple[str, ...], masked_by: dict[str, np.ndarray], *, theme: Theme = "paper"
) -> go.Figure:
    """Draw a mask: [target, target], True = may attend, among the decoder's input tokens.

    masked_by: reasons for a masked cell, for the hover text, each with its cells.
    """
    hover = _mask_hover([token_label(token) for token in tokens], unmasked, masked_by)
    cells = Cells(np.where(unmasked, 1.0, BLANK), hover, _MAY_ATTEND, hover_blank=True)
    names = _text("input_query"), text_of("input_key")
    return heatmap_figure(Heatmap((cells,), tokens, tokens, *names, THIRD_OF_WIDTH), theme)


def _mask_hover(names: list[str], unmasked: np.ndarray, masked_by: dict[str, np.ndarray]) -> list[list[str]]:
    """Return for each cell if its query may attend to its key, and the reasons against."""
    allowed, masked, rows = (
        [_text(name, number=number, token=token) for number, token in enumerate(names, start=1)]
        for name in ("may_attend", "may_not_attend", "row")
    )
    reasons, both = [(reason, cells.tolist()) for reason, cells in masked_by.items()], _text("and")

    def cell(row: int, key: int, may_attend: bool) -> str:
        if may_attend:
            return allowed[key]
        return f"{masked[key]}{both.join(why for why, cells in reasons if cells[row][key])}"

    return [
        [f"{rows[row]}{cell(row, key, may)}" for key, may in enumerate(line)]
        for row, line in enumerate(unmasked.tolist())
    ]


def masked_weights(head: MaskedHead, row_label: str, *, theme: Theme = "paper") -> go.Figure:
    """Draw the weights of the real rows with the mask, masked cells blank, in the size of `without_causal_mask`."""
    rows = head.real_queries
    shown = np.where(head.unmasked, head.weights, BLANK)[:rows]
    cells = Cells(shown, _hover(head, weight_words(head.weights[:rows])), bar=_text("weight"), hover_blank=True)
    labels = _labels(head, row_label, rows)
    return heatmap_figure(Heatmap((cells,), *labels, _ROOM_BESIDE, weight_texts(shown), extra=" "), theme)


def without_causal_mask(
    masked: MaskedHead, disabled: MaskedHead, row_label: str, *, theme: Theme = "paper"
) -> go.Figure:
    """Draw a head's weights in a pass without the mask: blue in unmasked cells, orange in masked ones.

    `masked`, `disabled`: the head in both passes, of `transformer.interpret.mask_ablation`. Cells of other masks stay
    blank. The last column holds the leaked weight of each row. In a decoder row the key
    that is the next token is outlined.
    """
    rows, columns = masked.real_queries, len(masked.keys)
    unmasked, weights = masked.unmasked[:rows], disabled.weights[:rows]
    leaking = (disabled.unmasked & ~masked.unmasked)[:rows]
    leaked = np.where(leaking, weights, 0.0).sum(axis=1)
    hover = _hover(disabled, weight_words(weights))
    for row, key in zip(*np.nonzero(leaking), strict=True):
        hover[row][key] += _text("leaked_cell")
    sums = [
        [_text("leaked_row", row=row_words(disabled, row), leaked=format_probability(leaked[row]))]
        for row in range(rows)
    ]
    cells = (
        Cells(np.where(unmasked, weights, BLANK), hover, bar=_text("weight")),
        Cells(np.where(leaking, weights, BLANK), hover, _LEAKED, _text("leaked_weight")),
        Cells(leaked[:, None], sums, _LEAKED, left=columns + EXTRA_COLUMNS - 1),
    )
    shown = weight_texts(np.where(unmasked | leaking, weights, BLANK))
    texts = [[*line, "", percent_in_cell(total)] for line, total in zip(shown, leaked, strict=True)]
    outline = _next_token_path(rows) if masked.kind == "decoder" else ""
    labels = _labels(masked, row_label, rows)
    heatmap = Heatmap(cells, *labels, _ROOM_BESIDE, texts, extra=_text("leaked"), outline=outline)
    return heatmap_figure(heatmap, theme)


def next_tokens(masked: MaskedPass, disabled: MaskedPass, sentence: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the probability of each output token with the mask and, the same tokens fed, without it.

    `masked`, `disabled`: both passes, of `transformer.interpret.mask_ablation.run_masked`; `sentence` counts from 0.
    """
    steps = masked.target_lengths[sentence]
    rows, gap = np.arange(steps), np.full(steps, np.nan)
    before, after = (run.target_probabilities[sentence, :steps] for run in (masked, disabled))
    pairs = zip(masked.decoder_input_tokens[sentence][:steps], masked.target_tokens[sentence][:steps], strict=True)
    ends, heights = (np.stack(columns, axis=1).ravel() for columns in ((before, after, gap), (rows, rows, gap)))
    between = {"line": {"color": MIDDLE_GREY, "width": 3}, "hoverinfo": "skip", "showlegend": False}
    lines = scatter(ends.astype(np.float32), heights, "lines", **between)
    circle, diamond = {"color": PROBABILITY, "symbol": "circle"}, {"color": CHANGED, "symbol": "diamond"}
    with_mask = _dots(_text("with_mask"), before, masked, sentence, circle)
    without = _dots(_text("without_mask"), after, disabled, sentence, diamond)
    ticks = {"tickvals": [0, 0.5, 1], "ticktext": ["0 %", "50 %", "100 %"]}
    across = {"range": [-0.03, 1.14], "side": "top", "zeroline": False, "gridcolor": FAINT_GREY, **ticks}
    x = {**across, "title": titled(_text("probability"))}
    names = [f"{fed} → {following}" for fed, following in pairs]
    y = {**token_rows(names), "title": row_titled(_text("step"))}
    traces = [lines, with_mask, without]
    height = steps * _ROW_HEIGHT + 110
    legend = LEGEND_BELOW | {"x": 1, "xanchor": "right"}  # left of the button that downloads the figure
    return figure_of(traces, height, theme=theme, x=x, y=y, top=52, bottom=60, legend=legend)


def _labels(head: MaskedHead, row_label: str, rows: int) -> tuple[tuple[str, ...], tuple[str, ...], str, str]:
    """Return queries and keys, and the names of both axes."""
    return head.named_rows(row_label)[:rows], head.keys, *axis_names(head.kind, row_label)


def _next_token_path(rows: int) -> str:
    """Return an outline of the cell right of the diagonal in every row: its key is the row's next token."""
    return "".join(f"M{row + 0.5},{row - 0.5}H{row + 1.5}V{row + 0.5}H{row + 0.5}Z" for row in range(rows - 1))


def _hover(head: MaskedHead, cells: list[list[str]]) -> list[list[str]]:
    """Return the hover text of each cell: head, row, key and the cell's value."""
    name = sentence_case(head_name(head.layer, head.head, head.layers, head.heads))
    return hover_texts([f"{name}<br>{row_words(head, row)}" for row in range(len(cells))], head.keys, cells)


def _dots(name: str, probabilities: np.ndarray, run: MaskedPass, sentence: int, marker: dict) -> dict:
    sides = (run.decoder_input_tokens, run.target_tokens, run.best_tokens)
    fed, following, best = ([token_label(token) for token in tokens[sentence]] for tokens in sides)
    hover = [
        _text(
            "dot",
            step=step + 1,
            fed=fed[step],
            following=following[step],
            name=name,
            probability=format_probability(probability),
            best=best[step],
            best_probability=format_probability(run.best_probabilities[sentence, step]),
        )
        for step, probability in enumerate(probabilities)
    ]
    look = {"name": name, "marker": {**marker, "size": 11}, "hovertext": hover, "hoverinfo": "text"}
    return scatter(probabilities.astype(np.float32), np.arange(len(probabilities)), "markers", **look)
