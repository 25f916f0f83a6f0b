"""Figures of what if: two runs compared, a given translation, patching, and candidates under interventions."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.arrays import require_index, softmax, to_array
from transformer.interpret.activations import Request, record
from transformer.interpret.trace import AttentionMap, Trace, attention_map
from transformer.interpret.what_if.difference import MapDifference, subtract
from transformer.interpret.what_if.patching import Cell, PatchingMap, Site, patching_map, question_of
from transformer.interpret.what_if.running import Asked, apply_interventions, read_all
from transformer.model.names import AttentionKind, Stack
from transformer.translator import Translator

from .heatmap import (
    BLANK,
    ROOM_OF_A_HALF,
    Cells,
    Heatmap,
    axis_names,
    cell_lines,
    cell_texts,
    heatmap_figure,
    hover_texts,
)
from .layout import (
    GRID,
    LEGEND_ABOVE,
    SMALLEST_LABEL,
    bar_below,
    bar_beside,
    candidate_rows,
    digits_in_cells,
    figure_of,
    integer_axis,
    integer_rows,
    label_rows,
    row_bars,
    scatter,
    titled,
    token_axis,
)
from .names import kind_words
from .numbers import signed
from .palette import BLUE, CHANGED, INK, WEIGHT_SCALE, Scale, diverging
from .tokens import token_label


def difference_figure(difference: MapDifference, first: AttentionMap, second: AttentionMap, side: int) -> go.Figure:
    """Draw one head's weights in the second run minus those in the first, where both have the row and the column.

    A token that is another in the second run stands beside the first's: "teacher | teachers". Masked cells are blank.
    """
    values = np.array(difference.values[first.layer, first.head], dtype=np.float64)
    (ones, others), (lefts, rights) = (np.array(pairs).T for pairs in (difference.rows, difference.columns))
    masked = np.isnan(first.weights[np.ix_(ones, lefts)]) | np.isnan(second.weights[np.ix_(others, rights)])
    values[masked] = BLANK
    rows = [both(first.queries[one], second.queries[other]) for one, other in difference.rows]
    keys = [both(first.keys[one], second.keys[other]) for one, other in difference.columns]
    hover = hover_texts(
        [token_label(row) for row in rows], keys, [[f"<b>{signed(value)}</b>" for value in line] for line in values]
    )
    limit = max(0.01, float(np.nanmax(np.abs(values))))
    cells = Cells(values, hover, diverging(limit, 0.72), "difference")
    texts = [["" if np.isnan(value) else short(value) for value in line] for line in values]
    names = axis_names(first.kind, first.row_label)
    return heatmap_figure(Heatmap((cells,), tuple(rows), tuple(keys), *names, side, texts).within(side))


def head_differences_figure(difference: MapDifference) -> go.Figure:
    """Draw layers by heads: half the sum of a row's absolute differences, the mean over its rows, from 0 to 1."""
    distances = difference.distances()
    layers, heads = distances.shape
    numbers = range(1, layers + 1), range(1, heads + 1)
    hover = cell_texts(lambda layer, head, each: f"layer {layer}, head {head}: <b>{each:.3f}</b>", *numbers, distances)
    scale = Scale(WEIGHT_SCALE, 0.0, max(0.01, float(distances.max())), ticks=None)
    cells = Cells(distances, hover, scale, "differs by")
    trace = cells.trace(bar_beside("differs by", scale), gap=2) | {"x0": 1, "y0": 1, "dy": 1}
    rows, columns = integer_rows(layers, "layer"), integer_axis(heads, "head")
    rows |= {"range": [layers + 0.5, 0.5], "tickfont": {"size": SMALLEST_LABEL}}
    columns |= {"range": [0.5, heads + 0.5], "tickfont": {"size": SMALLEST_LABEL}}
    return figure_of([trace], 90 + 34 * layers, x=columns, y=rows, legend=None, top=10)


def both(first: str, second: str) -> str:
    """Return a token, or both where they differ."""
    return first if first == second else f"{first} | {second}"


def short(value: float) -> str:
    """Write a difference with two digits, without its zero: ".12", "−.30"; "" for what rounds to nothing."""
    return "" if abs(value) < 0.005 else signed(value, 2).replace("0.", ".", 1)


_HEIGHT = 260  # pixels


def _line(trace: Trace, name: str, colour: str, symbol: str) -> dict:
    sums = np.concatenate([[0.0], trace.log_probabilities.cumsum()])
    tokens = [f"<br>after “{token_label(token)}”" for token in trace.target_tokens]
    hover = [f"{name}{token}: <b>{signed(value, 2)}</b>" for token, value in zip(["", *tokens], sums, strict=True)]
    look = {"line": {"color": colour}, "marker": {"color": colour, "symbol": symbol, "size": 8}}
    return scatter(list(range(len(sums))), sums, "lines+markers", name=name, hovertext=hover, hoverinfo="text", **look)


_SCALE = diverging(1.0, 0.72)  # digits stand on the cells
_ROW, _LEAST_ROW, _ROOM = 54, 24, 420  # pixels
_MOST_WITH_DIGITS, _MOST_UPRIGHT = 20, 9  # columns
_OUTLINE = {"color": INK, "width": 2}


def patching_figure(found: PatchingMap, columns: Sequence[str], chosen: tuple[int, int]) -> go.Figure:
    """Draw what each cell restores, 1 being all; `columns` are the `column_names`, the cell `chosen` is outlined."""
    shares, rows = found.shares, found.row_names()
    names, words = list(map(token_label, columns)), "restored share"
    hover = cell_texts(lambda row, column, each: f"{row}, {column}<br>{words} <b>{each:.4f}</b>", rows, names, shares)
    cells = Cells(shares, hover, _SCALE, f"{words} of the logit difference")
    traces = [cells.trace(bar_below(cells.bar, _SCALE, length=260), gap=2)]
    if len(columns) <= _MOST_WITH_DIGITS:
        traces.append(digits_in_cells(shares))
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(rows)))
    upright = len(columns) <= _MOST_UPRIGHT
    font = {"tickfont": {"size": SMALLEST_LABEL}}
    title = titled(_column_title(found.cells[0][0]))
    x = token_axis(columns) | font | {"side": "top", "tickangle": 0 if upright else -60, "title": title}
    if upright:
        x["ticktext"] = [label.replace(" | ", " |<br>") for label in x["ticktext"]]
    y = label_rows(rows) | font
    row, column = chosen
    left, top = column - 0.5, row - 0.5
    outline = {"type": "rect", "x0": left, "x1": left + 1, "y0": top, "y1": top + 1, "line": _OUTLINE}
    look = {"showlegend": False, "shapes": [cell_lines(len(rows), len(columns)), outline]}
    return figure_of(traces, height * len(rows) + 125, x=x, y=y, top=10, bottom=60, legend=None, **look)


def _column_title(cell: Cell) -> str:
    if cell.site == Site.HEAD:
        return kind_words(cell.part)
    return "input token of the decoder" if cell.stack == Stack.DECODER else "source token, clean | corrupted"


_OF_EACH = 3  # candidates of each run


def candidates_figure(old: np.ndarray, new: np.ndarray, name: Callable[[int], str]) -> go.Figure:
    """Draw the first candidates of both runs, most probable before on top; `name` turns an id into the token's text."""
    ids = list(dict.fromkeys([*np.argsort(-old)[:_OF_EACH].tolist(), *np.argsort(-new)[:_OF_EACH].tolist()]))
    ids.sort(key=lambda id: -old[id])
    traces = []
    for title, probabilities, colour in (("unchanged", old, BLUE), ("changed", new, CHANGED)):
        hover = [f"{token_label(name(id))} (id {id})<br>{title}: probability {probabilities[id]:.4f}" for id in ids]
        traces.append(row_bars([float(probabilities[id]) for id in ids], hover, colour, title))
    x = {"range": [0, 1], "tickformat": ".0%"}
    rows = candidate_rows([name(id) for id in ids])
    return figure_of(traces, 70 + 30 * len(ids), x=x, y=rows, barmode="group", bargap=0.3)


def difference(
    trace: Trace,
    other: Trace,
    kind: AttentionKind | str = "cross",
    *,
    layer: int | None = None,
    head: int | None = None,
) -> go.Figure:
    """Draw one head's weights in `other` minus those in `trace`, of the tokens that both have.

    `layer` and `head` count from 0; without both it is the head that differs most. Raises ValueError for a head that is
    not there, and InterventionError for traces without a common token or with other numbers of layers or heads.
    """
    found = subtract(trace, other, kind)
    if layer is None or head is None:
        layer, head = found.ranked()[0][:2]
    first, second = (attention_map(each, kind, layer, head, "predicted") for each in (trace, other))
    return difference_figure(found, first, second, ROOM_OF_A_HALF)


def head_differences(trace: Trace, other: Trace, kind: AttentionKind | str = "cross") -> go.Figure:
    """Draw how much each head differs between two traces, from 0 to 1: total variation, the mean over the rows.

    Raises InterventionError as `difference`.
    """
    return head_differences_figure(subtract(trace, other, kind))


def log_probabilities(trace: Trace, other: Trace) -> go.Figure:
    """Draw log P of a translation that was given, in nats, added up token by token, beside the model's own, `other`.

    Both lines begin at 0 and end at log P of the whole; where one falls, a token was not expected.
    """
    traces = [_line(trace, "your translation", CHANGED, "circle"), _line(other, "the model's", BLUE, "square")]
    longest = max(len(trace.target_ids), len(other.target_ids))
    font = {"size": SMALLEST_LABEL}
    x = {**integer_axis(longest + 1, "output tokens so far"), "tickfont": font}
    y = {**GRID, "title": "log P so far, nats", "tickfont": font}
    return figure_of(traces, _HEIGHT, x=x, y=y, legend={**LEGEND_ABOVE, "font": font})


def patching(
    translator: Translator,
    clean: Trace,
    corrupted: Trace,
    *,
    site: Site | str = "residual",
    part: Stack | AttentionKind | str = "encoder",
) -> go.Figure:
    """Draw how much of a logit difference comes back when a vector of the `clean` run is put into the `corrupted` one.

    The difference is that of the tokens in which both translations first differ; 1 is all of it, 0 none. `site` is
    "residual" (`part`: "encoder" or "decoder"), "attention" or "head" (`part`: a kind of attention). Raises ValueError
    for others, and InterventionError for sentences of different lengths in tokens or with the same translation.
    """
    question = question_of(clean, corrupted)
    found = patching_map(translator.model, question, Site(site), part)
    columns = found.column_names(question, translator.tokenizer)
    return patching_figure(found, columns, found.default_cell())


def candidates(translator: Translator, trace: Trace, *, interventions: Asked = (), step: int = 0) -> go.Figure:
    """Draw the most probable next tokens of a decoder `step`, unchanged and under interventions.

    The same prefix is fed to both; `step` counts from 0. Raises ValueError for a step that the trace does not have, and
    InterventionError as `Translator.trace`.
    """
    require_index("step", step, len(trace.target_ids))
    request, probabilities = Request(keep=(), logits_to_keep=1), []
    for asked in ((), read_all(interventions)):
        with apply_interventions(translator.model, asked):
            seen = record(translator.model, [trace.source_ids], [trace.decoder_input_ids[: step + 1]], request)
        probabilities.append(softmax(to_array(seen.logits[0, -1])))
    unchanged, changed = probabilities
    return candidates_figure(unchanged, changed, translator.tokenizer.piece_text)
