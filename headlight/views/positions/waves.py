"""The positional encoding itself: its table, and a pair of its dimensions on a circle."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import bar, results
from headlight.app.choices import slider
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding
from transformer.config import Positions
from transformer.interpret.positions import (
    Encoding,
    has_formula,
    model_encoding,
    position_rows,
    rotation,
    rotation_error,
)
from transformer.model.names import Stack
from transformer.model.transformer import Transformer

_SHOWN = 64  # positions that are drawn, more where a later one is chosen
_MOST_LEARNED = 128
_USUAL_PAIR = 4
STILL = 0.1  # a column whose values differ by less than this over all positions hardly tells them apart
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the model's own encoding, waves or a learned table. Raises UserError."""
    bar.hide_sentence()
    model = results.translator(request.checkpoint).model
    if model.config.positions == Positions.LEARNED:
        _show_learned(model)
    elif has_formula(model):
        _show_waves(model_encoding(model))
        if model.config.positions == Positions.MULTIPLIED:
            st.caption(plain(TEMPLATES.text("multiplied")))
    else:
        show_finding(TEMPLATES("no_positions").followed_by(TEMPLATES("nothing_to_draw")))


def _show_waves(encoding: Encoding) -> None:
    last, last_pair = encoding.length - 1, encoding.d_model // 2 - 1
    columns = st.container(key="sliders_of_waves").columns(3, gap="medium")
    with columns[0]:
        pair = slider("pair", (0, last_pair), start=min(_USUAL_PAIR, last_pair))
    with columns[1]:
        position = slider("position", (0, min(_SHOWN - 1, last - 1)), start=min(5, last - 1))
    with columns[2]:
        offset = slider("offset", (1, min(_SHOWN, last)), start=min(3, last))
    offset = min(offset, last - position)
    shown = encoding.first(max(_SHOWN, position + offset + 1))
    see = describe_waves(shown, pair, offset)
    left, right = st.columns([2, 1], gap="medium")
    with left:
        alt = TEMPLATES.text("alt_waves", size=describe_size(shown), pair=pair)
        show_figure(plots.waves(shown, pair, position, offset, theme="page"), "waves", alt, see)
    with right:
        alt = TEMPLATES.text("alt_circle", pair=pair, first=position, second=position + offset)
        show_figure(plots.rotation(shown, pair, position, offset, theme="page"), "rotation", alt, see)
    show_finding(see, TEMPLATES.text("attempt"))
    st.markdown(TEMPLATES.text("read"))
    st.latex(formula(shown))
    st.latex(rotation_formula(shown, pair, position, offset))
    if encoding.first_position:
        st.caption(plain(TEMPLATES.text("first_position", first=encoding.first_position)))


def _show_learned(model: Transformer) -> None:
    """Show each side's learned table."""
    tables = {stack: position_rows(model, stack)[:_MOST_LEARNED] for stack in Stack}
    see = describe_learned(tables)
    for column, (stack, table) in zip(st.columns(2, gap="medium"), tables.items(), strict=True):
        with column:
            size = {"last": len(table) - 1, "width": table.shape[1]}
            st.markdown(TEMPLATES.text("table", stack=stack.capitalize(), **size))
            alt = TEMPLATES.text("alt_learned", stack=stack)
            show_figure(plots.positions(table, theme="page"), f"learned_{stack}", alt, see)
    show_finding(see)


def describe_size(shown: Encoding) -> str:
    """Name a table by its size, such as "d_model 64, positions 0 to 63, base 10,000"."""
    name, base = ("size", shown.base) if shown.base >= 1 else ("size_inverse", 1 / shown.base)
    return TEMPLATES.text(name, width=shown.d_model, last=shown.length - 1, base=base)


def formula(shown: Encoding) -> str:
    """Write the formula of sines and cosines with the table's own base, in LaTeX."""
    base = f"{shown.base:.0f}" if shown.base >= 1 else rf"(1 / {1 / shown.base:.0f})"
    lines = (
        rf"PE_{{(pos,\,2i{then})}} &= \{wave}\big(pos \,/\, {base}^{{2i/d_{{model}}}}\big)"
        for wave, then in (("sin", ""), ("cos", "+1"))
    )
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


def describe_waves(shown: Encoding, pair: int, offset: int) -> Finding:
    """Return the angle of an offset, wavelengths, the count of columns that hardly change, the rotation's error."""
    angle = float(np.degrees(offset * shown.frequencies[pair]))
    turned = TEMPLATES("turned", turns=int(angle // 360), rest=angle % 360) if angle >= 360 else ""
    first_wave, wave, last_wave = shown.wavelengths[[0, pair, -1]]
    still, error = int((np.ptp(shown.table, axis=0) < STILL).sum()), rotation_error(shown, offset)
    columns = {"last": shown.length - 1, "still": still, "columns": shown.d_model, "least_change": STILL}
    return TEMPLATES("shift", offset=offset, pair=pair, angle=angle).followed_by(
        TEMPLATES("anywhere", turned=turned),
        TEMPLATES("wavelengths", pair=pair, wave=wave, first_wave=first_wave, last_wave=last_wave),
        TEMPLATES("still", **columns),
        None if error is None else TEMPLATES("rotation", error=error),
    )


def rotation_formula(shown: Encoding, pair: int, position: int, offset: int) -> str:
    """Write R(k) times a pair at a position, and the same pair k positions on, with their numbers, in LaTeX."""
    before, after = shown.pairs[position, pair], shown.pairs[position + offset, pair]
    matrix = rotation(offset * shown.frequencies[pair])
    factors = _named(matrix, f"R({offset})") + _named(before[:, None], f"PE({position})")
    product, shifted = _matrix((matrix @ before)[:, None]), _named(after[:, None], f"PE({position + offset})")
    return rf"\begin{{aligned}} & {factors} \\ & = {product} \approx {shifted} \end{{aligned}}"  # a phone's width


def describe_learned(tables: Mapping[Stack, np.ndarray]) -> Finding:
    """Return the norms of the rows of learned tables [length, d_model]."""
    lengths = {stack: np.linalg.norm(table, axis=1) for stack, table in tables.items()}
    norms = (
        TEMPLATES("norms", stack=stack, least=each.min(), most=each.max(), longest=int(each.argmax()))
        for stack, each in lengths.items()
    )
    return TEMPLATES("learned").followed_by(TEMPLATES("no_waves"), *norms)


def _named(values: np.ndarray, name: str) -> str:
    return rf"\underbrace{{{_matrix(values)}}}_{{{name}}}"


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(f"{value:.4f}" for value in row) for row in values)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"
