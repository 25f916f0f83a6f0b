"""Figures of contributions: rollout, ALTI+, attribution, two candidates contrasted, parts of a logit or a score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.language import texts_beside
from transformer.interpret.attribution import Attribution
from transformer.interpret.rollout import SourceShares
from transformer.interpret.score_parts import BIASES, ScoreParts, StreamPart
from transformer.interpret.trace import AttentionMap, Trace
from transformer.interpret.what_if.logit_attribution import LogitAttribution

from .heatmap import (
    BLANK,
    HALF_OF_WIDTH,
    Cells,
    Heatmap,
    axis_names,
    cell_lines,
    cell_texts,
    heatmap_figure,
    hover_texts,
    row_words,
    weight_texts,
    weight_words,
)
from .layout import (
    GRID,
    Theme,
    bars,
    digits_in_cells,
    figure_of,
    label_axis,
    label_rows,
    percent_axis,
    row_bars,
    scatter,
    titled,
    token_axis,
    token_rows,
)
from .names import kind_words, part_name
from .numbers import percent, signed
from .palette import BLUE, FAINT_GREY, GREY, INK, NEGATIVE, OLIVE, POSITIVE, WEIGHT_SCALE, Scale, diverging, see_through
from .tokens import token_label

_RELATIONS = {"weight": "attends_to", "share": "share_of"}
_text = texts_beside(__file__)


def shares(shown: AttentionMap, measure: str = "share", *, theme: Theme = "paper") -> go.Figure:
    """Draw a map of shares of input tokens after a layer, or of a mean "weight", coloured from 0 to its largest value.

    `shown`: of `transformer.interpret.rollout.share_map` or `transformer.interpret.trace.attention_map`.
    """
    limit = float(np.nanmax(shown.weights))
    rows = [row_words(shown, row) for row in range(len(shown.weights))]
    hover = hover_texts(rows, shown.keys, weight_words(shown.weights, ""), _RELATIONS[measure])
    cells = Cells(shown.weights, hover, Scale(WEIGHT_SCALE, 0, limit, (0, limit)), measure)
    names, texts = axis_names(shown.kind, shown.row_label), weight_texts(shown.weights)
    return heatmap_figure(Heatmap((cells,), shown.queries, shown.keys, *names, HALF_OF_WIDTH, texts), theme)


RAW, NORMED, ROLLOUT = "raw weight", "norm-weighted", "rollout"
GRADIENT, LEFT_OUT = "gradient × input", "leave-one-out"
MEASURES = (RAW, NORMED, ROLLOUT, GRADIENT, LEFT_OUT)
SIGNED = (GRADIENT, LEFT_OUT)  # the others are shares from 0 to 1
_SIDES = (("source", BLUE, ""), ("prefix", OLIVE, "/"))
_ZERO_LINE = {"zeroline": True, "zerolinecolor": GREY, "gridcolor": FAINT_GREY}
_ROW, _LEAST_ROW, _ROOM = 24, 13, 1000  # pixels; the last for a long sentence, as long as it stays readable


def attribution(values: dict[str, np.ndarray], tokens: Sequence[str], *, theme: Theme = "paper") -> go.Figure:
    """Draw a panel for each of MEASURES, a bar per source token, from top to bottom: values [source] each.

    Each panel has its own scale, labelled above. Where values have a sign, bars to the right, for the target token, are
    teal, those to the left, against it, brown and hatched; values without a sign are plain blue. A token that cannot
    be left out has no bar.
    """
    panels = []
    for name in MEASURES:
        hover = [_attribution_hover(name, *each) for each in zip(tokens, values[name].tolist(), strict=True)]
        limits = _attribution_range(values[name], name in SIGNED)
        panels.append(
            _Panel(titled(_text(f"{name} head"), 6), values[name], hover, limits, ticks=3, signed=name in SIGNED)
        )
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(tokens))) * len(tokens) + 100
    return _draw_panels(panels, token_rows(tokens), height, theme, top=70, gap=0.03)


@dataclass(frozen=True, eq=False)
class _Panel:
    """A bar per row, each with its hover text, on an axis over `limits` with about so many ticks, labelled above."""

    title: dict
    values: np.ndarray
    hover: Sequence[str]
    limits: list[float]
    ticks: int
    signed: bool


def _draw_panels(panels: Sequence[_Panel], y: dict, height: int, theme: Theme, *, top: int, gap: float) -> go.Figure:
    """Draw panels side by side, `gap` as a share of the width apart: teal bars for, brown and hatched ones against.

    Values that are not `signed` have plain blue bars.
    """
    traces, axes, width = [], {}, (1 + gap) / len(panels)
    for column, panel in enumerate(panels):
        number = str(column + 1) if column else ""
        colours = np.where(panel.values < 0, NEGATIVE, POSITIVE).tolist()
        pattern = {"shape": np.where(panel.values < 0, "/", "").tolist(), "fillmode": "overlay", "size": 5}
        marker = {"color": colours if panel.signed else BLUE, "opacity": 1, "pattern": pattern}
        bars = row_bars(panel.values.astype(np.float32), panel.hover, BLUE)
        traces.append(bars | {"xaxis": f"x{number}", "width": 0.78, "marker": marker})
        values: dict[str, Any] = {"nticks": panel.ticks}
        if not panel.signed:
            values = percent_axis(panel.limits[1], most=panel.ticks)
            values["ticktext"][0] = ""  # on a phone "0 %" would touch the panel before
        look = {
            "domain": [column * width, (column + 1) * width - gap],
            "side": "top",
            "tickangle": 0,
            "fixedrange": True,
        }
        axes[f"xaxis{number}"] = values | look | _ZERO_LINE | {"title": panel.title, "range": panel.limits}
    return figure_of(traces, height, theme=theme, y=y, top=top, bottom=10, showlegend=False, **axes)


def _attribution_hover(name: str, token: str, value: float) -> str:
    if np.isnan(value):
        return ""
    change = _text("lower" if value >= 0 else "higher", by=abs(value))
    return _text(f"{name} hover", token=token_label(token), value=value, percent=100 * value, change=change)


def _attribution_range(values: np.ndarray, signed: bool) -> list[float]:
    """Return the ends of an axis from 0 to the largest value, or as far to both sides as the bars go."""
    known = values[np.isfinite(values)]
    most, least = (float(known.max()), float(known.min())) if len(known) else (1.0, 0.0)
    most, least = max(most, 0.0), min(least, 0.0) if signed else 0.0
    room = 0.06 * (most - least) or 1.0
    return [least - room if least < 0 else 0.0, most + room]


_WIDTH = 0.7  # of a bar; a token has 1


def source_or_prefix(shares: SourceShares, step: int, *, theme: Theme = "paper") -> go.Figure:
    """Draw the shares of source and prefix in each output token by ALTI+, with a ring around the token of a step.

    `shares`: of `transformer.interpret.rollout.SourceShares`; `step` counts from 0.
    """
    traces = _stack(shares.tokens, shares.alti)
    ends = [-0.5, len(shares.tokens) - 0.5]
    for value, name, dash in (shares.mean_alti, "mean", "solid"), (shares.usual, "usual", "dot"):
        if value is not None:
            look = {"line": {"color": GREY, "dash": dash, "width": 2}, "hoverinfo": "skip"}
            traces.append(scatter(ends, [value, value], "lines", name=_text(name, share=percent(value)), **look))
    ring = {"type": "rect", "x0": step - 0.47, "x1": step + 0.47, "y0": 0, "y1": 1, "line": {"color": INK}}
    slanted = {"autotickangles": [0, -60]}  # where upright labels would run into one another
    x = {**token_axis(shares.tokens), "range": ends, **slanted}
    y = GRID | percent_axis(1.01, _text("share"), most=5)
    return figure_of(traces, 270, theme=theme, x=x, y=y, bottom=30, shapes=[ring], barmode="overlay")


def _stack(tokens: Sequence[str], source: np.ndarray) -> list[dict]:
    """Return the source's bars, and the prefix's on top of them, hatched: told apart without colours too."""
    traces = []
    shares = ((source, np.zeros_like(source)), (1 - source, source))
    for (part, colour, shape), (values, base) in zip(_SIDES, shares, strict=True):
        hover = [
            _text("stack_hover", step=step, token=token_label(token), part=_text(part), percent=100 * value)
            for step, (token, value) in enumerate(zip(tokens, values, strict=True), start=1)
        ]
        pattern = {"shape": shape, "fillmode": "overlay", "size": 5}
        marker = {"color": see_through(colour, 0.85), "pattern": pattern}
        box = {"base": base.astype(np.float32), "width": _WIDTH}
        look = {"marker": marker, "name": _text(part), "hovertext": hover, "hoverinfo": "text"}
        traces.append(bars(list(range(len(tokens))), values.astype(np.float32), **box, **look))
    return traces


@dataclass(frozen=True, eq=False)
class Contrast:
    """Contrast of the token `chosen` with `other`: effects of source and prefix tokens for the one, positive, or the
    other, by gradient times input and by leaving it out. The prefix is the decoder's input up to the step.
    """

    chosen: str
    other: str
    source: Sequence[str]
    prefix: Sequence[str]
    gradient: Attribution
    left_out: Attribution

    def values(self) -> dict[str, np.ndarray]:
        """Return by method all source tokens, then the prefix: [source + step + 1], NaN where there is none."""
        return {
            name: np.concatenate([each.source, each.prefix]).astype(np.float64)
            for name, each in ((GRADIENT, self.gradient), (LEFT_OUT, self.left_out))
        }


def other_candidates(trace: Trace, step: int) -> dict[str, tuple[int, float]]:
    """Return id and probability of each of a step's best candidates but the chosen token, best first, by text."""
    others: dict[str, tuple[int, float]] = {}
    candidates = zip(
        trace.candidate_tokens[step], trace.candidate_ids[step], trace.candidate_probabilities[step], strict=True
    )
    for token, id, probability in candidates:
        if id != trace.target_ids[step]:
            others.setdefault(token, (int(id), float(probability)))
    return others


def contrast(contrast: Contrast, *, theme: Theme = "paper") -> go.Figure:
    """Draw a panel per method, a row per token, the source's above the prefix's; 0 is in the middle of a panel."""
    names, prefix = ["", *contrast.source, "", *contrast.prefix], len(contrast.source) + 1  # its heading's row
    panels = []
    for method, values in contrast.values().items():
        limit = 1.08 * (float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0)
        spread = np.insert(values, [0, len(contrast.source)], np.nan)
        hover = [_contrast_hover(method, *each, contrast) for each in zip(names, spread.tolist(), strict=True)]
        panels.append(_Panel(titled(f"<b>{method}</b>", 4), spread, hover, [-limit, limit], ticks=5, signed=True))
    rows = token_rows(names)
    rows["ticktext"][0], rows["ticktext"][prefix] = (f"<b>{_text(part)}</b>" for part in ("source", "prefix"))
    height = max(14, min(22, 420 // len(names))) * len(names) + 55
    return _draw_panels(panels, rows, height, theme, top=45, gap=0.04)


def _contrast_hover(method: str, name: str, value: float, contrast: Contrast) -> str:
    if np.isnan(value):
        return ""
    side = contrast.chosen if value >= 0 else contrast.other
    words = {"token": token_label(name), "method": method, "value": signed(value), "side": token_label(side)}
    return _text("contrast_hover", **words)


_LOGIT_HEIGHT, _LAYER_ROW, _ABOVE = 225, 24, 60  # pixels
_MOST_WITH_DIGITS = 20  # columns


def logit_kinds(parts: LogitAttribution, *, theme: Theme = "paper") -> go.Figure:
    """Draw a bar per kind of part, teal to the right for additions, brown to the left for subtractions."""
    names, sums = list(map(kind_words, parts.by_kind())), np.array(list(parts.by_kind().values()))
    texts = [signed(value, 2) for value in sums.tolist()]
    hover = [_text("adds", part=name, value=signed(value)) for name, value in zip(names, sums.tolist(), strict=True)]
    bars = row_bars(sums.astype(np.float32), hover, POSITIVE, texts=texts)
    bars["marker"] = {"color": np.where(sums < 0, NEGATIVE, POSITIVE).tolist()}
    bars |= {"textposition": "outside", "cliponaxis": False, "width": 0.72}
    room = 0.25 * float(sums.max() - min(sums.min(), 0)) or 1.0
    ends = [min(float(sums.min()), 0) - (room if sums.min() < 0 else 0), max(float(sums.max()), 0) + room]
    x = {"range": ends, "nticks": 5, **_ZERO_LINE}
    look: dict[str, Any] = {"top": 5, "bottom": 25, "showlegend": False}
    return figure_of([bars], _LOGIT_HEIGHT, theme=theme, x=x, y=label_rows(names), **look)


def logit_parts(parts: LogitAttribution, *, theme: Theme = "paper") -> go.Figure:
    """Draw layers by self-attention heads, cross-attention heads and feed-forward, coloured by their additions."""
    (layers, heads), gap = parts.decoder.shape, np.full((len(parts.decoder), 1), BLANK)
    values = np.hstack([parts.decoder, gap, parts.cross, gap, parts.feed_forward[:, None]])
    names = [_text("self_head", head=head + 1) for head in range(heads)]
    names += ["", *(_text("cross_head", head=head + 1) for head in range(heads)), "", _text("feed_forward")]
    rows, shown = [_text("layer", layer=layer + 1) for layer in range(layers)], np.nan_to_num(values).tolist()
    hover = cell_texts(
        lambda row, name, value: _text("adds", part=f"{row}, {name}", value=signed(value)), rows, names, shown
    )
    traces = [Cells(values, hover, diverging(float(np.nanmax(np.abs(values))) or 1.0, 0.72)).trace(gap=2)]
    lines = [cell_lines(layers, *group) for group in ((heads, 0), (heads, heads + 1), (1, 2 * heads + 2))]
    if len(names) <= _MOST_WITH_DIGITS:
        traces.append(digits_in_cells(values))
    places = [*range(heads), *range(heads + 1, 2 * heads + 1)]
    labels = [str(number + 1) for number in (*range(heads), *range(heads))]
    middle = (heads - 1) / 2  # a second line of labels names the groups
    places += [middle, middle + heads + 1, 2 * heads + 2]
    labels += [_text(name) for name in ("self_heads", "cross_heads", "feed_forwards")]
    x = {"tickvals": places, "ticktext": labels, "tickangle": 0, "side": "top", "showgrid": False, "zeroline": False}
    x |= {"automargin": True}
    height = max(_LOGIT_HEIGHT, _LAYER_ROW * layers + _ABOVE)
    look: dict[str, Any] = {"top": 10, "bottom": 10, "showlegend": False, "shapes": lines}
    return figure_of(traces, height, theme=theme, x=x, y=label_rows(rows), **look)


_PART_ROW, _ABOVE_PARTS, _LEAST_LIMIT = 24, 110, 1e-6
_MOST_PARTS_WITH_DIGITS = 12


def score_parts(score: ScoreParts, *, opened: StreamPart | None = None, theme: Theme = "paper") -> go.Figure:
    """Draw parts of the query by parts of the key, heads of a layer together, coloured by their products.

    The heads of the group `opened`, such as `StreamPart("encoder", 0)`, are drawn one by one.
    Biases stand last: in their row for any query, in their column for any key; they do not set the colour scale.
    """
    grouped = score.grouped(opened)
    sides = (grouped.query_parts, _text("query_biases")), (grouped.key_parts, _text("key_biases"))
    orders = [[*_places(parts, biases=False), *_places(parts, biases=True)] for parts, _ in sides]
    values = grouped.products[np.ix_(*orders)]
    rows, columns = (
        [biases if _is_bias(parts[at]) else part_name(parts[at]) for at in order]
        for (parts, biases), order in zip(sides, orders, strict=True)
    )
    hover = cell_texts(
        lambda row, name, value: _text("score_hover", query=row, key=name, value=signed(value)), rows, columns, values
    )
    limit = max(float(np.abs(values[:-1, :-1]).max(initial=0.0)), _LEAST_LIMIT)
    traces = [Cells(values, hover, diverging(limit, 0.72)).trace(gap=2)]
    if len(columns) <= _MOST_PARTS_WITH_DIGITS:
        traces.append(digits_in_cells(values))
    x = label_axis(columns) | {"side": "top", "tickangle": -45, "range": [-0.5, len(columns) - 0.5]}
    height = _PART_ROW * len(rows) + _ABOVE_PARTS
    look: dict[str, Any] = {"top": 10, "bottom": 10, "showlegend": False, "shapes": [cell_lines(*values.shape)]}
    return figure_of(traces, height, theme=theme, x=x, y=label_rows(rows), **look)


def _places(parts: Sequence[StreamPart], *, biases: bool) -> list[int]:
    return [at for at, part in enumerate(parts) if _is_bias(part) == biases]


def _is_bias(part: StreamPart) -> bool:
    return part.kind == BIASES
