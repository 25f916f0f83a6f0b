"""The positional encoding itself: its table, a pair of dimensions as waves, and the same pair on a circle."""

import streamlit as st

import headlight.plots as plots
from headlight.app import bar, results
from headlight.app.choices import slider
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding
from transformer.config import Positions
from transformer.interpret.positions import Encoding, has_formula, model_encoding, position_rows
from transformer.model.names import Stack
from transformer.model.transformer import Transformer

from . import waves_content as content

_SHOWN = 64  # positions that are drawn, more where a later one is chosen
_MOST_LEARNED = 128
_USUAL_PAIR = 4


def show(request: TranslationRequest) -> None:
    """Show the model's own encoding, waves or a learned table. Raises UserError."""
    bar.hide_sentence()
    model = results.translator(request.checkpoint).model
    if model.config.positions == Positions.LEARNED:
        _show_learned(model)
    elif has_formula(model):
        _show_waves(model_encoding(model))
        if model.config.positions == Positions.MULTIPLIED:
            st.caption(plain(content.MULTIPLIED))
    else:
        show_finding(content.NO_POSITIONS)


def _show_waves(encoding: Encoding) -> None:
    last, last_pair = encoding.length - 1, encoding.d_model // 2 - 1
    columns = st.container(key="sliders_of_waves").columns(3, gap="medium")
    with columns[0]:
        pair = slider("Pair of dimensions i", 0, last_pair, "pair", start=min(_USUAL_PAIR, last_pair))
    with columns[1]:
        position = slider("Position p", 0, min(_SHOWN - 1, last - 1), "position", start=min(5, last - 1))
    with columns[2]:
        offset = slider("Offset k", 1, min(_SHOWN, last), "offset", start=min(3, last))
    offset = min(offset, last - position)
    shown = encoding.first(max(_SHOWN, position + offset + 1))
    see = content.describe_waves(shown, pair, offset)
    left, right = st.columns([2, 1], gap="medium")
    with left:
        alt = f"Heatmap of the positional encoding, {content.describe_size(shown)}; beside it pair {pair} as two waves"
        show_figure(plots.waves(shown, pair, position, offset, theme="page"), "waves", alt, see)
    with right:
        alt = f"Unit circle of pair {pair} with the arrows of positions {position} and {position + offset}"
        show_figure(plots.rotation(shown, pair, position, offset, theme="page"), "rotation", alt, see)
    show_finding(see, "another position: both arrows rotate, the angle between them stays the same. Then pair 0.")
    st.markdown(content.READ)
    st.latex(content.formula(shown))
    st.latex(content.rotation_formula(shown, pair, position, offset))
    if encoding.first_position:
        st.caption(plain(content.first_position_words(encoding)))


def _show_learned(model: Transformer) -> None:
    """Show each side's learned table."""
    tables = {stack: position_rows(model, stack)[:_MOST_LEARNED] for stack in Stack}
    see = content.describe_learned(tables)
    for column, (stack, table) in zip(st.columns(2, gap="medium"), tables.items(), strict=True):
        with column:
            st.markdown(f"**{stack.capitalize()}**: positions 0 to {len(table) - 1}, d_model {table.shape[1]}")
            show_figure(
                plots.positions(table, theme="page"),
                f"learned_{stack}",
                f"Learned positions of the {stack}: values",
                see,
            )
    show_finding(see)
