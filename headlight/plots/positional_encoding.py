"""Figures of positions: the sinusoids, the table that a model adds, and its sum with the embeddings."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.arrays import cosine, require_index
from transformer.interpret import positions as tables
from transformer.interpret.positions import (
    DistanceLaw,
    EmbeddingSum,
    Encoding,
    Repetition,
    distance_law,
    dot_products,
    model_encoding,
    position_rows,
)
from transformer.interpret.trace import Trace
from transformer.model.names import Stack
from transformer.translator import Translator

from .heatmap import Cells
from .layout import (
    GRID,
    LEFT,
    LEGEND_BELOW,
    bar_below,
    bars,
    figure_of,
    integer_axis,
    integer_rows,
    label_rows,
    scatter,
    titled,
    token_axis,
)
from .palette import (
    BLUE,
    GREY,
    LINE_GREY,
    MIDDLE_GREY,
    MODEL_COLOUR,
    OLIVE,
    SERIES_COLOURS,
    SERIES_SYMBOLS,
    SETTINGS_COLOUR,
    SOLID_GREY,
    diverging,
)
from .text import part_names, shown_tokens, token_label

SETTINGS_NAME, MODEL_NAME = "these settings", "this model"
_ARC_RADIUS = 0.55
_SHORT_NAMES = ("embedding", "position", "sum")
_PART_COLOURS = (BLUE, GREY, OLIVE)
MOST_NUMBERS = 24  # tokens; beside more of them the cosines run into one another
_TALLEST = 1100  # pixels, of all three together


def curves_figure(encoding: Encoding, dimensions: Sequence[int]) -> go.Figure:
    """Draw the value of each chosen dimension over position; a pair shares its colour, the cosine's line is dashed.

    A pair's colour and markers depend on its rank among all chosen ones, so that two figures agree; dimensions that
    the encoding does not have are left out.
    """
    chosen = sorted({dimension // 2 for dimension in dimensions})
    curves, positions = [], np.arange(encoding.length, dtype=np.int16)
    for dimension in sorted(dimensions):
        if dimension >= encoding.d_model:
            continue
        pair = dimension // 2
        wave, dash = ("cosine", "dash") if dimension % 2 else ("sine", "solid")
        place = chosen.index(pair)
        look = {
            "line": {"color": SERIES_COLOURS[place % len(SERIES_COLOURS)], "width": 2, "dash": dash},
            "marker": {"symbol": SERIES_SYMBOLS[place % len(SERIES_SYMBOLS)], "size": 7, "maxdisplayed": 16},
            "name": f"{dimension} ({wave[:3]})",
            "hovertemplate": f"position %{{x}}<br>dimension {dimension}, the {wave} of pair {pair}<br>"
            "value <b>%{y:.4f}</b><extra></extra>",
        }
        curves.append(scatter(positions, encoding.table[:, dimension], "lines+markers", **look))
    x = {**GRID, "title": "position", "range": [-0.5, encoding.length - 0.5]}
    y = {**GRID, "title": "value", "range": [-1.08, 1.08], "tickvals": [-1, -0.5, 0, 0.5, 1]}
    return _curves(curves, 400, x, y)


def table_figure(table: np.ndarray, limit: float | None = None) -> go.Figure:
    """Draw a table [length, d_model]: rows are positions from top to bottom, columns dimensions, colours around 0.

    The colours end at `limit`, or at the table's largest absolute value.
    """
    scale = diverging(limit or float(np.abs(table).max()))
    cells = Cells(table, "position %{y}<br>dimension %{x}<br>value <b>%{z:.4f}</b>", scale)
    x, y = {**integer_axis(table.shape[1], "dimension"), "side": "top"}, integer_rows(len(table), "position")
    return figure_of([cells.trace(bar_below("value", scale, length=220))], 480, x=x, y=y, top=10, bottom=60)


def products_figure(products: np.ndarray) -> go.Figure:
    """Draw PE(p) . PE(q) [length, length]: rows are p from top to bottom, columns q, colours around 0."""
    scale = diverging(float(np.abs(products).max()))
    return _pairs(Cells(products, "p = %{y}, q = %{x}<br>PE(p) · PE(q) = <b>%{z:.3f}</b>", scale, "dot product"))


def cosines_figure(table: np.ndarray) -> go.Figure:
    """Draw the cosine of every two rows of a table [length, d_model], from -1 to 1: [length, length]."""
    cosines = np.stack([cosine(table, row) for row in table]).astype(np.float32)
    return _pairs(Cells(cosines, "p = %{y}, q = %{x}<br>cosine <b>%{z:.3f}</b>", diverging(1.0), "cosine"))


def _pairs(cells: Cells) -> go.Figure:
    """Return a square figure of every two positions [length, length]."""
    size, square = len(cells.values), {"constrain": "domain"}
    x = {**integer_axis(size, "position q"), "side": "top", **square}
    y = {**integer_rows(size, "position p"), "scaleanchor": "x", "constraintoward": "top", **square}
    traces = [cells.trace(bar_below(cells.bar, cells.scale, length=220))]
    return figure_of(traces, 440, x=x, y=y, top=10, bottom=60)


def distance_figure(settings: DistanceLaw, model: DistanceLaw) -> go.Figure:
    """Draw the dot product over the distance, as a share of its value at distance 0, so that two sizes compare."""
    curves = []
    for law, name, colour, dash in (
        (settings, SETTINGS_NAME, SETTINGS_COLOUR, "solid"),
        (model, MODEL_NAME, MODEL_COLOUR, "dash"),
    ):
        distances, cosines = np.arange(len(law.means), dtype=np.int16), (law.means / law.means[0]).astype(np.float32)
        hover = f"{name}<br>%{{x}} positions apart<br>cosine <b>%{{y:.3f}}</b><extra></extra>"
        line = {"color": colour, "width": 2, "dash": dash}
        curves.append(scatter(distances, cosines, "lines", line=line, name=name, hovertemplate=hover))
    longest = max(len(settings.means), len(model.means))
    x = {**GRID, "title": "distance q − p, positions", "range": [-0.5, longest - 0.5]}
    y = {**GRID, "title": "PE(p) · PE(q) / (d_model / 2)", "zeroline": True, "zerolinecolor": SOLID_GREY}
    return _curves(curves, 320, x, y)


def wavelengths_figure(settings: Encoding, model: Encoding) -> go.Figure:
    """Draw the wavelength of every pair on a log axis; a line for the steps of each length, longer pairs hollow."""
    traces = []
    most = max(settings.d_model, model.d_model) // 2
    fast = min(settings.base, model.base) < 1  # then most pairs turn by more than a full circle a position
    digits = ".2~r" if fast else ".1f"
    for encoding, name, colour, symbol, dash in (
        (settings, SETTINGS_NAME, SETTINGS_COLOUR, "circle", "dash"),
        (model, MODEL_NAME, MODEL_COLOUR, "diamond", "dot"),
    ):
        wavelengths = encoding.wavelengths
        hollow = [f"{symbol}-open" if wavelength > encoding.length - 1 else symbol for wavelength in wavelengths]
        steps, pairs = encoding.length - 1, np.arange(len(wavelengths), dtype=np.int16)
        look = {"marker": {"color": colour, "symbol": hollow, "size": 7}, "name": f"{name}: d_model {encoding.d_model}"}
        hover = f"{name}<br>pair %{{x}}<br>wavelength <b>%{{y:,{digits}}}</b> positions<extra></extra>"
        traces.append(scatter(pairs, wavelengths.astype(np.float32), "markers", hovertemplate=hover, **look))
        look = {"line": {"color": colour, "width": 1.5, "dash": dash}, "name": f"first to last position: {steps}"}
        hover = f"{name}: {steps} steps from the first position to the last<extra></extra>"
        traces.append(scatter([-0.5, most - 0.5], [steps, steps], "lines", hovertemplate=hover, **look))
    x = {**GRID, "title": "pair i (dimensions 2i and 2i + 1)", "range": [-0.5, most - 0.5]}
    y = {**GRID, "title": "wavelength, positions", "type": "log", "dtick": 1, "tickformat": "~g" if fast else ",d"}
    return _curves(traces, 440, x, y)


def rotation_figure(encoding: Encoding, pair: int, position: int, offset: int) -> go.Figure:
    """Draw the unit circle: sine to the right, cosine upwards, PE(position) and PE(position + offset) as arrows.

    Position 0 points straight up and later ones follow clockwise. Full turns of the angle between both are left out of
    its arc. Raises IndexError for a pair or a position that the encoding has not.
    """
    points = encoding.pairs[:, pair]  # length (sine, cosine)
    angle = encoding.frequencies[pair]
    start, swept = position * angle, (offset * angle) % (2 * np.pi)
    later = position + offset
    traces = [
        _circle(),
        _other_positions(points),
        _arc(start, swept, offset, np.degrees(offset * angle)),
        _arrow(points[position], position, SETTINGS_COLOUR, "solid"),
        _arrow(points[later], later, MODEL_COLOUR, "dash"),
    ]
    x, y = _axis(f"dimension {2 * pair}: sine"), _axis(f"dimension {2 * pair + 1}: cosine")
    return figure_of(traces, 430, x=x, y={**y, "scaleanchor": "x"}, top=10, bottom=10)


def embedding_sum_figure(summed: EmbeddingSum, dimensions: int) -> go.Figure:
    """Draw three blocks of rows, each with its heading, over the first dimensions and on one scale around 0.

    One heatmap with blank rows for the headings: its columns are aligned, and a row's name is all that hovering needs.
    """
    parts = [part[:, :dimensions] for part in (summed.embeddings, summed.positions, summed.total)]
    places = [f"“{token_label(token)}” at position {place}" for place, token in enumerate(summed.tokens)]
    return _blocks(parts, _titles(summed), list(map(token_label, shown_tokens(summed.tokens))), places)


def copies_figure(one: EmbeddingSum, other: EmbeddingSum, copies: Sequence[Repetition], dimensions: int) -> go.Figure:
    """Draw in the same way, of these tokens alone, a row for each of the two places where they stand.

    The first place is in one sentence, the second in the other, which may be the same.
    """
    rows = [each for copy in copies for each in ((copy, one, copy.first, 1), (copy, other, copy.second, 2))]
    parts = [
        np.stack([getattr(summed, name)[place, :dimensions] for _, summed, place, _ in rows])
        for name in ("embeddings", "positions", "total")
    ]
    labels = [f"{_shown(copy)}, position {place}" for copy, _, place, _ in rows]
    sentence = " of sentence {}" if one is not other else ""
    places = [
        f"“{token_label(copy.token)}” at position {place}{sentence.format(number)}" for copy, _, place, number in rows
    ]
    return _blocks(parts, _titles(one), labels, places)


def distances_figure(copies: Sequence[Repetition]) -> go.Figure:
    """Draw a row for each token that stands at two places: how far apart its vectors are with positions and without."""
    rows, gap = np.arange(len(copies)), np.full(len(copies), np.nan)
    after, before = (np.array([getattr(copy, name) for copy in copies]) for name in ("after", "before"))
    ends, heights = (np.stack(columns, axis=1).ravel() for columns in ((before, after, gap), (rows, rows, gap)))
    between = {"line": {"color": MIDDLE_GREY, "width": 3}, "hoverinfo": "skip", "showlegend": False}
    traces = [scatter(ends.astype(np.float32), heights, "lines", **between)]
    for name, values, colour, symbol in (
        ("embeddings alone", before, GREY, "diamond"),
        ("with positions", after, BLUE, "circle"),
    ):
        places = [f"“{token_label(copy.token)}” at positions {copy.first} and {copy.second}" for copy in copies]
        hover = [f"{place}<br>{name}: <b>{value:.4f}</b> apart" for place, value in zip(places, values, strict=True)]
        look = {"marker": {"color": colour, "symbol": symbol, "size": 11}, "hovertext": hover, "hoverinfo": "text"}
        traces.append(scatter(values.astype(np.float32), rows, "markers", name=name, **look))
    most = 1.1 * max(1.0, float(after.max()), float(before.max()))
    x = {**GRID, "title": titled("distance of the two vectors"), "side": "top", "range": [-0.05 * most, most]}
    y = label_rows([f"{_shown(copy)}: {copy.first} → {copy.second}" for copy in copies])
    return figure_of(traces, 30 * len(copies) + 110, x=x, y=y, top=51, legend=LEGEND_BELOW)


def _shown(copy: Repetition) -> str:
    (shown,) = shown_tokens([copy.token])
    return token_label(shown)


def _titles(summed: EmbeddingSum) -> tuple[str, str, str]:
    return part_names(scaled=summed.scaled, normalised=summed.normalised)


def _blocks(
    parts: Sequence[np.ndarray], titles: Sequence[str], labels: Sequence[str], places: Sequence[str]
) -> go.Figure:
    """Draw parts [tokens, dimensions] one above the other; a row has a short label and says its place on hovering."""
    tokens = len(labels)
    row = max(7, min(20, _TALLEST // (3 * tokens + 3)))
    gap = -(-20 // row)  # blank rows, enough of them for a heading
    blank = np.full((gap, parts[0].shape[1]), np.nan, dtype=np.float32)
    canvas = np.concatenate([block for part in parts for block in (blank, part)])  # 3 (gap + tokens) dimensions
    names = _row_names(titles, places, gap)
    headings = {"text": [f"<b>{title}</b>" for title in titles], "textposition": "middle right"}
    look = {"textfont": {"size": 14}, "hoverinfo": "skip", "showlegend": False, "cliponaxis": False}
    beside = scatter([-0.5] * 3, [f"{title} {gap // 2}" for title in titles], "text", **headings, **look)
    written = range(0, tokens, -(-11 // row))  # labels closer than 11 pixels run into one another
    ticks = {
        "tickvals": [part * (gap + tokens) + gap + place for part in range(3) for place in written],
        "ticktext": [labels[place] for place in written] * 3,
        "tickfont": {"size": 12},
    }
    x = {**integer_axis(canvas.shape[1], "dimension"), "side": "top"}
    y = {**label_rows(names), **ticks, "type": "category"}
    return figure_of([_values(canvas, names), beside], row * len(names) + 82, x=x, y=y, top=52, bottom=76)


def embedding_norms_figure(summed: EmbeddingSum) -> go.Figure:
    """Draw the norms of all three for each token as bars, the cosine between embedding and sum above them."""
    norms = summed.norms
    places = np.arange(len(summed.tokens))
    named = [f"“{token_label(token)}” at position {place}" for place, token in enumerate(summed.tokens)]
    traces = []
    for values, name, colour in zip(norms, _SHORT_NAMES, _PART_COLOURS, strict=True):
        hover = f"{name} of %{{customdata}}<br>norm <b>%{{y:.2f}}</b><extra></extra>"
        marker, shown = {"color": colour}, values.astype(np.float32)
        traces.append(bars(places, shown, name=name, customdata=named, marker=marker, hovertemplate=hover))
    mode = "text" if len(places) <= MOST_NUMBERS else "none"
    cosines = [f"{cosine:.2f}" for cosine in summed.cosines]
    texts = {"text": cosines, "textposition": "top center", "textfont": {"size": 12}, "showlegend": False}
    hover = "cosine between embedding and sum of %{customdata}: <b>%{text}</b><extra></extra>"
    traces.append(scatter(places, norms.max(axis=0), mode, customdata=named, hovertemplate=hover, **texts))
    keys = token_axis(summed.tokens, every=-(-len(places) // 60))
    x = {**keys, "tickangle": -60, "range": [-0.5, len(places) - 0.5]}
    y = {**GRID, "title": "Euclidean norm", "range": [0, float(norms.max()) * 1.15]}
    return figure_of(traces, 360, x=x, y=y, top=10, bottom=10, barmode="group")


def _curves(traces: list[dict], height: int, x: dict, y: dict) -> go.Figure:
    """Return a figure of curves, with a legend for a single one too."""
    return figure_of(traces, height, x=x, y=y, top=10, bottom=10, showlegend=True, hoverlabel=LEFT)


def _circle() -> dict:
    angles = np.linspace(0, 2 * np.pi, 91)
    line = {"color": MIDDLE_GREY, "width": 1}
    return scatter(np.sin(angles), np.cos(angles), "lines", line=line, hoverinfo="skip", showlegend=False)


def _other_positions(points: np.ndarray) -> dict:
    x, y = points.T.astype(np.float32)
    marker, places = {"color": MIDDLE_GREY, "size": 5}, np.arange(len(points), dtype=np.int16)
    hover = "position %{customdata}<br>sine %{x:.4f}, cosine %{y:.4f}<extra></extra>"
    look = {"name": "other positions", "marker": marker, "customdata": places, "hovertemplate": hover}
    return scatter(x, y, "markers", **look)


def _arc(start: float, swept: float, offset: int, degrees: float) -> dict:
    angles = np.linspace(start, start + swept, 61)
    x, y = _ARC_RADIUS * np.sin(angles), _ARC_RADIUS * np.cos(angles)
    look = {"line": {"color": GREY, "width": 3, "dash": "dot"}, "marker": _arrowhead(GREY, [0] * 60 + [12])}
    return scatter(x, y, "lines+markers", name=f"{offset} steps: {degrees:,.1f}°", hoverinfo="skip", **look)


def _arrow(point: np.ndarray, place: int, colour: str, dash: str) -> dict:
    x, y = [0, point[0]], [0, point[1]]
    look = {"line": {"color": colour, "width": 3, "dash": dash}, "marker": _arrowhead(colour, [0, 16])}
    hover = f"PE({place})<br>sine %{{x:.4f}}, cosine %{{y:.4f}}<extra></extra>"
    return scatter(x, y, "lines+markers", name=f"PE({place})", hovertemplate=hover, **look)


def _arrowhead(colour: str, sizes: list[int]) -> dict:
    return {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": colour, "opacity": 1}


def _axis(name: str) -> dict:
    lines = {"showgrid": False, "zeroline": True, "zerolinecolor": LINE_GREY}
    size = {"range": [-1.15, 1.15], "tickvals": [-1, 0, 1], "automargin": True, "constrain": "domain"}
    return {"title": {"text": name}, **size, **lines}


def _row_names(titles: Sequence[str], places: Sequence[str], gap: int) -> list[str]:
    """Return a name for each row of all three blocks, blank ones included; equal names would fall into one row."""
    names = []
    for long, short in zip(titles, _SHORT_NAMES, strict=True):
        names += [f"{long} {number}" for number in range(gap)]
        names += [f"{short} of {place}" for place in places]
    return names


def _values(canvas: np.ndarray, names: list[str]) -> dict:
    # A few values of embeddings are far larger than all others; as the end of the scale they would pale the positions.
    limit = float(np.nanpercentile(np.abs(canvas), 99))
    scale = diverging(limit)
    ends = {"ticktext": [f"≤ −{limit:.1f}", "0", f"≥ {limit:.1f}"]}
    cells = Cells(canvas, "%{y}<br>dimension %{x}<br>value <b>%{z:.4f}</b>", scale)
    return cells.trace(bar_below("value", scale, length=220) | ends) | {"y": names}


def positions(translator: Translator, stack: Stack | str = "encoder", *, length: int = 64) -> go.Figure:
    """Draw the vectors that a model adds at the first `length` positions of a side, learned or by a formula.

    Rows are positions from 0, columns dimensions. `stack` is "encoder" or "decoder"; ValueError for another.
    """
    return table_figure(_rows(translator, stack, length))


def position_cosines(translator: Translator, stack: Stack | str = "encoder", *, length: int = 64) -> go.Figure:
    """Draw the cosine of every two of these vectors; options and errors as for `positions`."""
    return cosines_figure(_rows(translator, stack, length))


def sinusoids(
    translator: Translator,
    *,
    dimensions: Sequence[int] = (0, 1, 4, 5),
    length: int = 64,
    d_model: int | None = None,
    base: float | None = None,
) -> go.Figure:
    """Draw some dimensions of the sinusoidal positional encoding over the first `length` positions (paper, 3.5).

    Of the model's own encoding, or of one with `d_model` dimensions or another `base` than 10,000. Raises ValueError
    where the model has no such encoding, and ConfigError, a ValueError too, for settings that cannot be.
    """
    return curves_figure(_encoding(translator, length, d_model, base), list(dimensions))


def sinusoid_matrix(
    translator: Translator, *, length: int = 64, d_model: int | None = None, base: float | None = None
) -> go.Figure:
    """Draw all dimensions of that encoding: positions by dimensions; options and errors as for `sinusoids`."""
    return table_figure(_encoding(translator, length, d_model, base).table, limit=1.0)


def sinusoid_products(
    translator: Translator, *, length: int = 64, d_model: int | None = None, base: float | None = None
) -> go.Figure:
    """Draw the dot products of all positions of that encoding; options and errors as for `sinusoids`."""
    return products_figure(dot_products(_encoding(translator, length, d_model, base)))


def sinusoid_distance(
    translator: Translator, *, length: int = 64, d_model: int | None = None, base: float | None = None
) -> go.Figure:
    """Draw the cosine of two positions over their distance, beside the model's own; options as for `sinusoids`."""
    both = _encoding(translator, length, d_model, base), _encoding(translator, length, None, None)
    return distance_figure(*(distance_law(dot_products(each)) for each in both))


def sinusoid_wavelengths(
    translator: Translator, *, length: int = 64, d_model: int | None = None, base: float | None = None
) -> go.Figure:
    """Draw in positions how long each pair of dimensions takes to repeat; options and errors as for `sinusoids`."""
    both = _encoding(translator, length, d_model, base), model_encoding(translator.model)
    return wavelengths_figure(*both)


def sinusoid_rotation(
    translator: Translator,
    *,
    pair: int = 4,
    position: int = 0,
    offset: int = 5,
    length: int = 64,
    d_model: int | None = None,
    base: float | None = None,
) -> go.Figure:
    """Draw a pair of dimensions on the unit circle at `position` and `offset` positions later: a shift is a rotation.

    `pair` and `position` count from 0; the other options and errors as for `sinusoids`.
    """
    shown = _encoding(translator, length, d_model, base)
    for name, value, count in (
        ("pair", pair, shown.d_model // 2),
        ("position", position, shown.length),
        ("position + offset", position + offset, shown.length),
    ):
        require_index(name, value, count)
    return rotation_figure(shown, pair, position, offset)


def embedding_sum(translator: Translator, trace: Trace, *, dimensions: int = 32) -> go.Figure:
    """Draw the first `dimensions` of the source's embeddings, of the positions, and of their sum, a row per token."""
    (summed,) = _sums(translator, trace)
    return embedding_sum_figure(summed, dimensions)


def embedding_norms(translator: Translator, trace: Trace) -> go.Figure:
    """Draw the Euclidean norms of these three for each source token, and the cosine of embedding and sum."""
    return embedding_norms_figure(*_sums(translator, trace))


def shared_tokens(translator: Translator, trace: Trace, other: Trace, *, dimensions: int = 32) -> go.Figure:
    """Draw the same of each source token that both traces have, a row for its position in either sentence."""
    one, two = _sums(translator, trace, other)
    return copies_figure(one, two, tables.shared_tokens(one, two), dimensions)


def shared_token_distances(translator: Translator, trace: Trace, other: Trace) -> go.Figure:
    """Draw how far apart the two vectors of each of these tokens are, with positions and without."""
    return distances_figure(tables.shared_tokens(*_sums(translator, trace, other)))


def _sums(translator: Translator, *traces: Trace) -> list[EmbeddingSum]:
    return [tables.embedding_sum(translator.model, each.source_ids, each.source_tokens) for each in traces]


def _encoding(translator: Translator, length: int, d_model: int | None, base: float | None) -> Encoding:
    """Return the model's own encoding, or the one of these settings."""
    if d_model is None and base is None:
        return model_encoding(translator.model).first(length)
    size = translator.model.config.d_model if d_model is None else d_model
    return tables.encoding(length, size, tables.MODEL_BASE if base is None else float(base))


def _rows(translator: Translator, stack: Stack | str, length: int) -> np.ndarray:
    return position_rows(translator.model, Stack(stack))[:length]
