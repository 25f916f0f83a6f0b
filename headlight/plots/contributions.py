"""Figures of contributions: attention rollout, ALTI+, attribution, two candidates contrasted, the parts of a logit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from transformer.arrays import require_index
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.attribution import (
    Attribution,
    gradient_times_input,
    leave_one_out,
    norm_weighted,
    rank_correlation,
)
from transformer.interpret.residual import record_residual_stream
from transformer.interpret.rollout import Rollout, SourceShares, alti, half_and_half, measured_mixing, roll_out
from transformer.interpret.trace import AttentionMap, RowLabel, Trace, attention_map
from transformer.interpret.what_if.logit_attribution import LogitAttribution, attribute_logit
from transformer.model.names import AttentionKind, Name
from transformer.translator import Translator

from .attention import require_head
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
    row_words,
    weight_texts,
)
from .layout import (
    GRID,
    LEGEND_ABOVE,
    SMALLEST_LABEL,
    bars,
    digits_in_cells,
    figure_of,
    label_rows,
    row_bars,
    scatter,
    titled,
    token_axis,
    token_rows,
)
from .numbers import signed
from .palette import BLUE, FAINT_GREY, GREY, INK, NEGATIVE, OLIVE, POSITIVE, WEIGHT_SCALE, Scale, diverging, see_through
from .tokens import token_label


class Residual(Name):
    """Weighting of the residual connection in attention rollout, or ALTI+ in its place."""

    HALVES = "0.5"
    MEASURED = "norm-based"
    ALTI = "ALTI+"


KINDS = {"across both": "cross", "encoder": "encoder", "decoder": "decoder"}
RELATIONS = {"weight": "attends to", "share": "share of"}  # what a cell holds -> how the hover text names its key


def raw_and_rolled(trace: Trace, rollout: Rollout, kind: str, layer: int, rows: str) -> tuple[AttentionMap, ...]:
    """Return the mean over the heads of a layer, counted from 0, and the shares after it: two maps of the same tokens.

    `kind` is one of KINDS' values; of "cross" the shares are those of source tokens, and a row sums to what it has of
    the source. What comes later than a decoder row is NaN in both.
    """
    raw = attention_map(trace, kind, layer, None, rows)
    if kind == "cross":
        shares = rollout.across[layer][:, : len(trace.source_tokens)]
    else:
        shares = np.where(np.isnan(raw.weights), BLANK, getattr(rollout, kind)[layer])
    return raw, replace(raw, weights=shares)


def share_map_figure(chosen: AttentionMap, name: str) -> go.Figure:
    """Draw one of both maps, coloured from 0 to its largest value; `name` is what a cell holds, one of RELATIONS."""
    limit = limit_of(chosen)
    rows = [row_words(chosen, row) for row in range(len(chosen.weights))]
    values = [[f"<b>{value:.4f}</b>" for value in row] for row in chosen.weights.tolist()]
    scale = Scale(WEIGHT_SCALE, 0, limit, (0, limit), ".2f")
    cells = Cells(chosen.weights, hover_texts(rows, chosen.keys, values, RELATIONS[name]), scale, name)
    names = axis_names(chosen.kind, chosen.row_label)
    texts = weight_texts(chosen.weights)
    return heatmap_figure(Heatmap((cells,), chosen.queries, chosen.keys, *names, ROOM_OF_A_HALF, texts))


def limit_of(chosen: AttentionMap) -> float:
    """Return the largest value of a map, where its colour scale ends."""
    return float(np.nanmax(chosen.weights))


RAW, NORMED, GRADIENT, LEFT_OUT = "raw weight", "norm-weighted", "gradient × input", "leave-one-out"
MEASURES = (RAW, NORMED, GRADIENT, LEFT_OUT)
SIGNED = (GRADIENT, LEFT_OUT)  # the others are shares from 0 to 1
FEWEST = 3  # tokens whose ranks can be compared
_SIDES = (("source", BLUE, ""), ("prefix", OLIVE, "/"))
_MEASURE_HEADS = {
    RAW: "raw<br>weight",
    NORMED: "norm-<br>weighted",
    GRADIENT: "gradient<br>× input",
    LEFT_OUT: "leave-<br>one-out",
}
_MEASURE_WORDS = {
    RAW: "weight <b>{value:.4f}</b>",
    NORMED: "share of the norms of the weighted values <b>{value:.4f}</b>",
    GRADIENT: "gradient × input <b>{value:+.4f}</b>",
    LEFT_OUT: "without it log P is <b>{change}</b>",
}
_ZERO_LINE = {"zeroline": True, "zerolinecolor": GREY, "gridcolor": FAINT_GREY}
_ROW, _LEAST_ROW, _ROOM = 24, 13, 1000  # pixels; the last for a long sentence, as long as it stays readable


def attribution_figure(values: dict[str, np.ndarray], tokens: Sequence[str]) -> go.Figure:
    """Draw a panel for each of MEASURES, a bar per source token, from top to bottom: values [source] each.

    Each panel has its own scale, labelled above. Where values have a sign, bars to the right, for the target token, are
    teal, those to the left, against it, brown and hatched; values without a sign are plain blue. A token that cannot
    be left out has no bar.
    """
    panels = []
    for name in MEASURES:
        hover = [_attribution_hover(name, *each) for each in zip(tokens, values[name].tolist(), strict=True)]
        title = {**titled(_MEASURE_HEADS[name], 6), "font": {"size": 13}}
        limits = _attribution_range(values[name], name in SIGNED)
        panels.append(_Panel(title, values[name], hover, limits, ticks=3, signed=name in SIGNED))
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(tokens))) * len(tokens) + 100
    return _draw_panels(panels, token_rows(tokens), height, top=70, gap=0.03)


@dataclass(frozen=True, eq=False)
class _Panel:
    """A bar per row, each with its hover text, on an axis over `limits` with about so many ticks, labelled above."""

    title: dict
    values: np.ndarray
    hover: Sequence[str]
    limits: list[float]
    ticks: int
    signed: bool


def _draw_panels(panels: Sequence[_Panel], rows: dict, height: int, top: int, gap: float) -> go.Figure:
    """Draw panels side by side, `gap` as a share of the width apart: teal bars for, brown and hatched ones against.

    Values that are not `signed` have plain blue bars.
    """
    traces, axes, width = [], {}, (1 + gap) / len(panels)
    for place, panel in enumerate(panels):
        number = str(place + 1) if place else ""
        colours = np.where(panel.values < 0, NEGATIVE, POSITIVE).tolist()
        pattern = {"shape": np.where(panel.values < 0, "/", "").tolist(), "fillmode": "overlay", "size": 5}
        marker = {"color": colours if panel.signed else BLUE, "opacity": 1, "pattern": pattern}
        bars = row_bars(panel.values.astype(np.float32), panel.hover, BLUE)
        traces.append(bars | {"xaxis": f"x{number}", "width": 0.78, "marker": marker})
        ticks = {"side": "top", "nticks": panel.ticks, "tickangle": 0, "tickfont": {"size": SMALLEST_LABEL}}
        place_of = {"domain": [place * width, (place + 1) * width - gap], "range": panel.limits, "fixedrange": True}
        axes[f"xaxis{number}"] = {"title": panel.title, **place_of, **ticks, **_ZERO_LINE}
    y = {**rows, "tickfont": {"size": SMALLEST_LABEL}}
    return figure_of(traces, height, y=y, top=top, bottom=10, showlegend=False, **axes)


def correlations(values: dict[str, np.ndarray]) -> np.ndarray:
    """Return Spearman's rank correlation of the sizes of each two of MEASURES: [4, 4]; NaN where too few."""
    sizes = [np.abs(values[name]) for name in MEASURES]
    return np.array([[rank_correlation(one, other) for other in sizes] for one in sizes])


def correlation_rows(found: np.ndarray) -> list[tuple[str, list[str]]]:
    """Return the table's rows under one another, each pair once; "–" where there are too few tokens to compare."""
    cells = [["–" if np.isnan(value) else signed(value, 2) for value in line] for line in found]
    last = len(MEASURES) - 1
    return [(MEASURES[row], cells[row][:row] + [""] * (last - row)) for row in range(1, last + 1)]


def _attribution_hover(name: str, token: str, value: float) -> str:
    if np.isnan(value):
        return ""
    change = f"{abs(value):.4f} {'lower' if value >= 0 else 'higher'}"
    return f"“{token_label(token)}”<br>{_MEASURE_WORDS[name].format(value=value, change=change)}"


def _attribution_range(values: np.ndarray, signed: bool) -> list[float]:
    """Return the ends of an axis from 0 to the largest value, or as far to both sides as the bars go."""
    known = values[np.isfinite(values)]
    most, least = (float(known.max()), float(known.min())) if len(known) else (1.0, 0.0)
    most, least = max(most, 0.0), min(least, 0.0) if signed else 0.0
    room = 0.06 * (most - least) or 1.0
    return [least - room if least < 0 else 0.0, most + room]


def record_rollout(translator: Translator, trace: Trace, residual: Residual | str) -> Rollout:
    """Run the model once more and return the shares of a residual weighting, or those of ALTI+."""
    residual, maps = Residual(residual), (trace.encoder, trace.decoder, trace.cross)
    if residual is Residual.ALTI:
        return alti(translator.model, trace.source_ids, trace.decoder_input_ids)
    if residual is Residual.HALVES:
        return roll_out(*maps, half_and_half(*maps))
    stream = record_residual_stream(translator.model, trace.source_ids, trace.decoder_input_ids)
    return roll_out(*maps, measured_mixing(stream))


def rollout(
    translator: Translator,
    trace: Trace,
    kind: AttentionKind | str = "cross",
    *,
    layer: int | None = None,
    residual: Residual | str = Residual.HALVES,
    rows: RowLabel | str = "predicted",
) -> go.Figure:
    """Draw how much of each input token is mixed into each vector after a layer (Abnar and Zuidema 2020).

    `layer` counts from 0, None for the last. Of "cross" the columns are source tokens, and a row sums to what it has
    of the source; what remains of 1 is the prefix's. `residual`: "0.5" (the paper's), "norm-based" (measured for each
    token), or "ALTI+" (Ferrando et al. 2022) in place of rollout. Raises ValueError for what is none of these, and for
    a layer that the trace does not have.
    """
    layer = len(trace.attention(kind)) - 1 if layer is None else layer
    require_head(trace, kind, layer)
    _, rolled = raw_and_rolled(trace, record_rollout(translator, trace, residual), AttentionKind(kind), layer, rows)
    return share_map_figure(rolled, "share")


def attribution(translator: Translator, trace: Trace, *, step: int = 0, layer: int | None = None) -> go.Figure:
    """Draw four measures of each source token for the token after a decoder `step`, both counted from 0.

    The mean cross-attention weight of a `layer`, None for all; the same weighted by the norms of the values (Kobayashi
    et al. 2020); gradient times input; and how far log P of the token falls, in nats, when the source token is left
    out. The last two are signed. Raises ValueError for a step or a layer that the trace does not have.
    """
    require_index("step", step, len(trace.target_ids))
    layers = list(range(len(trace.cross))) if layer is None else [layer]
    require_head(trace, "cross", layers[0])
    model, asked = translator.model, (translator.model, *trace.before(step))
    blocks = [
        (
            record_stages(model, trace.source_ids, trace.decoder_input_ids, "cross", each),
            block_parameters(model, "cross", each),
        )
        for each in layers
    ]
    values = {
        RAW: trace.cross[layers, :, step].mean(axis=(0, 1), dtype=np.float64),
        NORMED: norm_weighted(blocks, step),
        GRADIENT: gradient_times_input(*asked).source,
        LEFT_OUT: leave_one_out(*asked).source,
    }
    return attribution_figure(values, trace.source_tokens)


_SHARES_HEIGHT = 270  # pixels
_WIDTH = 0.4  # of a bar; a token has 1


def source_shares_figure(shares: SourceShares, chosen: int) -> go.Figure:
    """Draw two stacked bars per token, the source below; a frame around the chosen token, lines at the means."""
    traces = [
        *_stack(shares.tokens, shares.alti, "ALTI+", -_WIDTH - 0.01, 0.85),
        *_stack(shares.tokens, shares.rollout, "rollout", 0.01, 0.4),
    ]
    ends = [-0.5, len(shares.tokens) - 0.5]
    for value, name, dash in (
        (shares.mean_alti, "mean of this sentence", "solid"),
        (shares.usual, "mean over sentence pairs", "dot"),
    ):
        if value is not None:
            look = {"line": {"color": GREY, "dash": dash, "width": 2}, "hoverinfo": "skip"}
            traces.append(scatter(ends, [value, value], "lines", name=f"{name}, ALTI+: {value:.2f}", **look))
    frame = {"type": "rect", "x0": chosen - 0.47, "x1": chosen + 0.47, "y0": 0, "y1": 1, "line": {"color": INK}}
    slanted = {"autotickangles": [0, -60]}  # where upright labels would run into one another
    x = {**token_axis(shares.tokens), "range": ends, "tickfont": {"size": SMALLEST_LABEL}, **slanted}
    y = {**GRID, "range": [0, 1.01], "title": "share", "tickfont": {"size": SMALLEST_LABEL}, "dtick": 0.25}
    legend = {**LEGEND_ABOVE, "font": {"size": SMALLEST_LABEL}}
    return figure_of(traces, _SHARES_HEIGHT, x=x, y=y, bottom=30, legend=legend, shapes=[frame], barmode="overlay")


def _stack(tokens: Sequence[str], source: np.ndarray, method: str, offset: float, opacity: float) -> list[dict]:
    """Return the source's bars, and the prefix's on top of them, hatched: told apart without colours too."""
    found = []
    shares = ((source, np.zeros_like(source)), (1 - source, source))
    for (part, colour, shape), (values, base) in zip(_SIDES, shares, strict=True):
        hover = [
            f"Output token {place}, “{token_label(token)}”<br>{part} by {method}: <b>{value:.3f}</b>"
            for place, (token, value) in enumerate(zip(tokens, values, strict=True), start=1)
        ]
        pattern = {"shape": shape, "fillmode": "overlay", "size": 5}
        marker = {"color": see_through(colour, opacity), "pattern": pattern}
        place = {"base": base.astype(np.float32), "offset": offset, "width": _WIDTH}
        look = {"marker": marker, "name": f"{part}, {method}", "hovertext": hover, "hoverinfo": "text"}
        found.append(bars(list(range(len(tokens))), values.astype(np.float32), **place, **look))
    return found


def source_or_prefix(translator: Translator, trace: Trace, *, step: int = 0) -> go.Figure:
    """Draw the shares of source and prefix in each output token, by ALTI+ and by norm-based rollout.

    The shares of both sum to 1; a frame is around the token after `step`, counted from 0. Raises ValueError for a step
    that the trace does not have.
    """
    require_index("step", step, len(trace.target_ids))
    kinds = (Residual.ALTI, Residual.MEASURED)
    alti, rollout = (record_rollout(translator, trace, residual).source_share()[-1] for residual in kinds)
    shares = SourceShares(trace.target_tokens, alti, rollout, num_forced=trace.num_forced)
    return source_shares_figure(shares, step)


@dataclass(frozen=True, eq=False)
class Contrast:
    """Why the token `chosen` and not `other`: for each source and prefix token what it does for the one, positive, or
    the other, by gradient times input and by leaving it out. The prefix is the decoder's input up to the step.
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
            name: np.concatenate([found.source, found.prefix]).astype(np.float64)
            for name, found in ((GRADIENT, self.gradient), (LEFT_OUT, self.left_out))
        }


def other_candidates(trace: Trace, step: int) -> dict[str, tuple[int, float]]:
    """Return id and probability of each of a step's best candidates but the chosen token, best first, by text."""
    found: dict[str, tuple[int, float]] = {}
    candidates = zip(
        trace.candidate_tokens[step], trace.candidate_ids[step], trace.candidate_probabilities[step], strict=True
    )
    for token, id, probability in candidates:
        if id != trace.target_ids[step]:
            found.setdefault(token, (int(id), float(probability)))
    return found


def contrast_figure(contrast: Contrast) -> go.Figure:
    """Draw a panel per method, a row per token, the source's above the prefix's; 0 is in the middle of a panel."""
    names, prefix = ["", *contrast.source, "", *contrast.prefix], len(contrast.source) + 1  # its heading's row
    panels = []
    for method, values in contrast.values().items():
        limit = 1.08 * (float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0)
        spread = np.insert(values, [0, len(contrast.source)], np.nan)
        hover = [_contrast_hover(method, *each, contrast) for each in zip(names, spread.tolist(), strict=True)]
        title = {**titled(f"<b>{method}</b>", 4), "font": {"size": 13}}
        panels.append(_Panel(title, spread, hover, [-limit, limit], ticks=5, signed=True))
    rows = token_rows(names)
    rows["ticktext"][0], rows["ticktext"][prefix] = "<b>source</b>", "<b>prefix</b>"
    height = max(14, min(22, 420 // len(names))) * len(names) + 55
    return _draw_panels(panels, rows, height, top=45, gap=0.04)


def _contrast_hover(method: str, name: str, value: float, contrast: Contrast) -> str:
    if np.isnan(value):
        return ""
    side = contrast.chosen if value >= 0 else contrast.other
    return f"“{token_label(name)}”<br>{method} <b>{signed(value)}</b>, for “{token_label(side)}”"


_LOGIT_HEIGHT, _LAYER_ROW, _ABOVE = 225, 24, 60  # pixels
_MOST_WITH_DIGITS = 20  # columns


def logit_kinds_figure(found: LogitAttribution) -> go.Figure:
    """Draw a bar per kind of part, teal to the right for what it adds, brown to the left for what it takes."""
    names, sums = list(found.by_kind()), np.array(list(found.by_kind().values()))
    texts = [signed(value, 2) for value in sums.tolist()]
    hover = [f"{name}<br>adds <b>{signed(value)}</b>" for name, value in zip(names, sums.tolist(), strict=True)]
    bars = row_bars(sums.astype(np.float32), hover, POSITIVE, texts=texts)
    bars["marker"] = {"color": np.where(sums < 0, NEGATIVE, POSITIVE).tolist()}
    bars |= {"textposition": "outside", "cliponaxis": False, "width": 0.72}
    room = 0.25 * float(sums.max() - min(sums.min(), 0)) or 1.0
    ends = [min(float(sums.min()), 0) - (room if sums.min() < 0 else 0), max(float(sums.max()), 0) + room]
    x = {"range": ends, "nticks": 5, **_ZERO_LINE}
    y = label_rows(names) | {"tickfont": {"size": SMALLEST_LABEL}}
    return figure_of([bars], _LOGIT_HEIGHT, x=x, y=y, top=5, bottom=25, showlegend=False)


def logit_parts_figure(found: LogitAttribution) -> go.Figure:
    """Draw layers by self-attention heads, cross-attention heads and feed-forward, coloured by what each adds."""
    (layers, heads), gap = found.decoder.shape, np.full((len(found.decoder), 1), BLANK)
    values = np.hstack([found.decoder, gap, found.cross, gap, found.feed_forward[:, None]])
    names = [f"self-attention head {head + 1}" for head in range(heads)]
    names += ["", *(f"cross-attention head {head + 1}" for head in range(heads)), "", "feed-forward"]
    rows, shown = [f"layer {layer + 1}" for layer in range(layers)], np.nan_to_num(values).tolist()
    hover = cell_texts(lambda row, name, value: f"{row}, {name}<br>adds <b>{signed(value)}</b>", rows, names, shown)
    traces = [Cells(values, hover, diverging(float(np.nanmax(np.abs(values))) or 1.0, 0.72)).trace(gap=2)]
    lines = [cell_lines(layers, *group) for group in ((heads, 0), (heads, heads + 1), (1, 2 * heads + 2))]
    if len(names) <= _MOST_WITH_DIGITS:
        traces.append(digits_in_cells(values))
    places = [*range(heads), *range(heads + 1, 2 * heads + 1)]
    labels = [str(number + 1) for number in (*range(heads), *range(heads))]
    middle = (heads - 1) / 2  # a second line of labels names the groups
    places += [middle, middle + heads + 1, 2 * heads + 2]
    labels += ["self-attention, head<br> ", "cross-attention, head<br> ", "feed-<br>forward"]
    x = {"tickvals": places, "ticktext": labels, "tickangle": 0, "side": "top", "showgrid": False, "zeroline": False}
    x |= {"tickfont": {"size": SMALLEST_LABEL}, "automargin": True}
    y = label_rows(rows) | {"tickfont": {"size": SMALLEST_LABEL}}
    height = max(_LOGIT_HEIGHT, _LAYER_ROW * layers + _ABOVE)
    return figure_of(traces, height, x=x, y=y, top=10, bottom=10, legend=None, showlegend=False, shapes=lines)


def contrast(translator: Translator, trace: Trace, *, step: int = 0, other: str | None = None) -> go.Figure:
    """Draw what speaks for the token after `step`, counted from 0, and what for the candidate `other`.

    A signed bar per source and prefix token, by gradient times input and by leaving the token out (Yin and Neubig
    2022). `other` is a candidate's text as in `trace.candidate_tokens`, None for the most probable one. Raises
    ValueError for a step that the trace does not have and for a token that is no other candidate of it.
    """
    require_index("step", step, len(trace.target_ids))
    others = other_candidates(trace, step)
    other = next(iter(others)) if other is None else other
    if other not in others:
        raise ValueError(f"{other!r} is no other candidate of step {step}; there are {', '.join(others)}")
    asked, fed = (translator.model, *trace.before(step), others[other][0]), trace.decoder_input_tokens[: step + 1]
    gradient, left_out = (measure(*asked) for measure in (gradient_times_input, leave_one_out))
    compared = Contrast(trace.target_tokens[step], other, trace.source_tokens, fed, gradient, left_out)
    return contrast_figure(compared)


def logit_parts(translator: Translator, trace: Trace, *, step: int = 0) -> go.Figure:
    """Draw what each head and feed-forward of the decoder adds to the logit of the token after `step` (from 0).

    Direct logit attribution (Elhage et al. 2021), the LayerNorms held at their deviation in this pass. Raises
    ValueError for a step that the trace does not have.
    """
    return logit_parts_figure(_attributed(translator, trace, step))


def logit_kinds(translator: Translator, trace: Trace, *, step: int = 0) -> go.Figure:
    """Draw the same summed by kind: embedding, position, self-attention, cross-attention, feed-forward, biases."""
    return logit_kinds_figure(_attributed(translator, trace, step))


def _attributed(translator: Translator, trace: Trace, step: int) -> LogitAttribution:
    require_index("step", step, len(trace.target_ids))
    return attribute_logit(translator.model, *trace.before(step))
