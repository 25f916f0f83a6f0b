"""Positions that were learned: the table of each side drawn as it is, and how alike its rows are.

No formula made them, so they have no wavelengths, and a shift turns them by no fixed angle.
"""

import numpy as np
import streamlit as st

from headlight.app.figures import show_figure
from headlight.app.widgets import plain, show_finding
from transformer.interpret.positions import position_rows
from transformer.model.names import Stack
from transformer.model.transformer import Transformer

from .learned_figure import similarity_figure, table_figure
from .learned_text import SHOWN, describe_absence, describe_likeness, describe_norms


def show(model: Transformer, view: str) -> None:
    """The table where a view draws tables, the cosines of its rows where it compares them; otherwise why there is
    nothing to draw."""
    tables = {stack: position_rows(model, stack) for stack in Stack}
    st.info(plain(describe_absence(view, tables[Stack.ENCODER])), icon=":material/info:")
    similar = view in ("similarity", "rotation", "wavelengths")
    shown = {stack: table[:SHOWN] for stack, table in tables.items()}
    found = describe_likeness if similar else describe_norms
    see = " ".join(found(stack, np.asarray(table, dtype=np.float64)) for stack, table in shown.items())
    for column, (stack, table) in zip(st.columns(2, gap="medium"), shown.items(), strict=True):
        column.markdown(f"**{stack.capitalize()}**: positions 0 to {len(table) - 1}, d_model {table.shape[1]}")
        figure = similarity_figure(table) if similar else table_figure(table)
        what = "cosines of all pairs of rows" if similar else "values"
        with column:
            show_figure(figure, f"learned_{stack}", f"Learned positions of the {stack}: {what}", see)
    show_finding(see)
