"""Figures of why a token and not another: two candidates contrasted, and the parts of a logit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from transformer.arrays import require_index
from transformer.interpret.attribution import Attribution, gradient_times_input, leave_one_out
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.logit_attribution import LogitAttribution, attribute_logit
from transformer.translator import Translator

from .contributions import GRADIENT, LEFT_OUT
from .heatmap import BLANK, Cells
from .layout import SMALLEST_LABEL, digits_in_cells, figure_of, row_bars, titled, token_rows, with_light_theme
from .palette import AGAINST, BLUE, FAINT_GREY, FOR, diverging
from .text import signed, token_label

_GAP = 0.04  # between the panels, as a share of the width
_ROW, _LEAST_ROW, _ROOM = 22, 14, 420  # pixels: of a row, and of all rows as long as they stay readable


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
    names = ["", *contrast.source, "", *contrast.prefix]
    place = len(contrast.source) + 1  # of the prefix's heading
    bars, axes = [], {}
    width = (1 + _GAP) / 2
    for number, (method, values) in enumerate(contrast.values().items()):
        suffix = "" if number == 0 else str(number + 1)
        spread = np.insert(values, [0, len(contrast.source)], np.nan)
        bars.append(_contrast_bars(method, spread, names, contrast) | {"xaxis": f"x{suffix}"})
        axes[f"xaxis{suffix}"] = _contrast_axis(method, values)
        axes[f"xaxis{suffix}"]["domain"] = [number * width, (number + 1) * width - _GAP]
    rows = {**token_rows(names), "tickfont": {"size": SMALLEST_LABEL}}
    rows["ticktext"][0], rows["ticktext"][place] = "<b>source</b>", "<b>prefix</b>"
    height = max(_LEAST_ROW, min(_ROW, _ROOM // len(names))) * len(names) + 55
    return figure_of(bars, height, y=rows, top=45, bottom=10, showlegend=False, **axes)


def _contrast_bars(method: str, values: np.ndarray, names: Sequence[str], contrast: Contrast) -> dict:
    against = values < 0
    hover = [_contrast_hover(method, name, float(value), contrast) for name, value in zip(names, values, strict=True)]
    pattern = {"shape": np.where(against, "/", "").tolist(), "fillmode": "overlay", "size": 5}
    colours = np.where(against, AGAINST, FOR).tolist()
    bars = row_bars(values.astype(np.float32), hover, BLUE)
    return bars | {"width": 0.78, "marker": {"color": colours, "opacity": 1, "pattern": pattern}}


def _contrast_hover(method: str, name: str, value: float, contrast: Contrast) -> str:
    if np.isnan(value):
        return ""
    side = contrast.chosen if value >= 0 else contrast.other
    return f"“{token_label(name)}”<br>{method} <b>{signed(value)}</b>, for “{token_label(side)}”"


def _contrast_axis(method: str, values: np.ndarray) -> dict:
    known = np.abs(values[np.isfinite(values)])
    limit = 1.08 * (float(known.max(initial=0.0)) or 1.0)
    title = {**titled(f"<b>{method}</b>", 4), "font": {"size": 13}}
    ticks = {"side": "top", "nticks": 5, "tickangle": 0, "tickfont": {"size": SMALLEST_LABEL}}
    lines = {"zeroline": True, "zerolinecolor": "rgb(128, 128, 128)", "gridcolor": FAINT_GREY}
    return {"range": [-limit, limit], "fixedrange": True, "title": title, **ticks, **lines}


_HEIGHT, _LAYER_ROW, _ABOVE = 225, 24, 60  # pixels
_MOST_WITH_DIGITS = 20  # columns


def logit_kinds_figure(found: LogitAttribution) -> go.Figure:
    """Draw a bar per kind of part, orange to the right for what it adds, blue to the left for what it takes."""
    names, sums = list(found.by_kind()), np.array(list(found.by_kind().values()))
    texts = [signed(value, 2) for value in sums.tolist()]
    hover = [f"{name}<br>adds <b>{signed(value)}</b>" for name, value in zip(names, sums.tolist(), strict=True)]
    bars = row_bars(sums.astype(np.float32), hover, FOR, texts=texts)
    bars["marker"] = {"color": np.where(sums < 0, AGAINST, FOR).tolist()}
    bars |= {"textposition": "outside", "cliponaxis": False, "width": 0.72}
    room = 0.25 * float(sums.max() - min(sums.min(), 0)) or 1.0
    ends = [min(float(sums.min()), 0) - (room if sums.min() < 0 else 0), max(float(sums.max()), 0) + room]
    x = {"range": ends, "zeroline": True, "zerolinecolor": "rgb(128, 128, 128)", "gridcolor": FAINT_GREY, "nticks": 5}
    y = token_rows(names) | {"tickfont": {"size": SMALLEST_LABEL}}
    return figure_of([bars], _HEIGHT, x=x, y=y, top=5, bottom=25, showlegend=False)


def logit_parts_figure(found: LogitAttribution) -> go.Figure:
    """Draw layers by self-attention heads, cross-attention heads and feed-forward, coloured by what each adds."""
    layers, heads = found.decoder.shape
    gap = np.full((layers, 1), BLANK)
    values = np.hstack([found.decoder, gap, found.cross, gap, found.feed_forward[:, None]])
    names = [f"self-attention head {head + 1}" for head in range(heads)]
    names += ["", *(f"cross-attention head {head + 1}" for head in range(heads)), "", "feed-forward"]
    hover = [
        [f"layer {layer + 1}, {name}<br>adds <b>{signed(value)}</b>" for name, value in zip(names, row, strict=True)]
        for layer, row in enumerate(np.nan_to_num(values).tolist())
    ]
    scale = diverging(float(np.nanmax(np.abs(values))) or 1.0, 0.72)
    traces = [Cells(values, hover, scale).trace(gap=2)]
    if len(names) <= _MOST_WITH_DIGITS:
        traces.append(digits_in_cells(values))
    places = [*range(heads), *range(heads + 1, 2 * heads + 1)]
    labels = [str(number + 1) for number in (*range(heads), *range(heads))]
    middle = (heads - 1) / 2  # a second line of labels names the groups
    places += [middle, middle + heads + 1, 2 * heads + 2]
    labels += ["self-attention, head<br> ", "cross-attention, head<br> ", "feed-<br>forward"]
    x = {"tickvals": places, "ticktext": labels, "tickangle": 0, "side": "top", "showgrid": False, "zeroline": False}
    x |= {"tickfont": {"size": SMALLEST_LABEL}, "automargin": True}
    y = token_rows([f"layer {layer + 1}" for layer in range(layers)]) | {"tickfont": {"size": SMALLEST_LABEL}}
    height = max(_HEIGHT, _LAYER_ROW * layers + _ABOVE)
    return figure_of(traces, height, x=x, y=y, top=10, bottom=10, legend=None, showlegend=False)


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
    return with_light_theme(contrast_figure(compared))


def logit_parts(translator: Translator, trace: Trace, *, step: int = 0) -> go.Figure:
    """Draw what each head and feed-forward of the decoder adds to the logit of the token after `step` (from 0).

    Direct logit attribution (Elhage et al. 2021), the LayerNorms held at their deviation in this pass. Raises
    ValueError for a step that the trace does not have.
    """
    return with_light_theme(logit_parts_figure(_attributed(translator, trace, step)))


def logit_kinds(translator: Translator, trace: Trace, *, step: int = 0) -> go.Figure:
    """Draw the same summed by kind: embedding, position, self-attention, cross-attention, feed-forward, biases."""
    return with_light_theme(logit_kinds_figure(_attributed(translator, trace, step)))


def _attributed(translator: Translator, trace: Trace, step: int) -> LogitAttribution:
    require_index("step", step, len(trace.target_ids))
    return attribute_logit(translator.model, *trace.before(step))
