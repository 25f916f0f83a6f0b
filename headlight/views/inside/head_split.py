"""The view that splits a small tensor into heads, cell by cell, the right way and the wrong one."""

import html

import numpy as np
import streamlit as st

from headlight.app.choices import one_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_finding
from headlight.plots.palette import SERIES_COLOURS, see_through
from headlight.plots.text import Finding
from transformer.experiments.attention import Layout, misplaced_cells, split_right, split_wrong


def show(_request: TranslationRequest) -> None:
    """Show sizes, the tensor before and after, and the bare reshape beside it."""
    st.markdown(
        "A head is not computed, it is **cut out**: `view` gives the last axis a second one, `transpose` swaps it "
        "before the tokens. Every cell has its number in memory, every token its colour. These are PyTorch's own "
        "tensors."
    )
    with st.container(horizontal=True, gap="medium"):
        tokens = int(one_of("Tokens", ("2", "3", "4", "5"), "split_tokens"))
        heads = int(one_of("Heads", ("1", "2", "3", "4"), "split_heads"))
        d_k = int(one_of("d_k", ("1", "2", "3", "4"), "split_d_k"))
    before, viewed, right = split_right(tokens, heads, d_k)
    wrong, d_model = split_wrong(tokens, heads, d_k), heads * d_k
    _show("Before", before, d_model)
    _show("1. The last axis becomes two: nothing moves, not even in the order of counting", viewed, d_model)
    columns = st.columns(2, gap="large")
    with columns[0]:
        _show("2. Heads before tokens: right", right, d_model)
    with columns[1]:
        _show("The wrong way: one bare reshape to the same shape", wrong, d_model)
    show_finding(
        describe(wrong, d_model),
        "1 head: the mistake is gone. Then look at the strides: transpose only swaps two of them, and merging the "
        "heads again needs a copy (contiguous, or reshape), because memory is no longer read in order.",
    )


def _show(title: str, layout: Layout, d_model: int) -> None:
    st.markdown(f"**{title}**")
    st.code(layout.made_by, language="python")
    st.html(tables_html(layout, d_model))
    st.caption(plain(facts(layout)))
    st.html(memory_html(layout, d_model))


def tables_html(layout: Layout, d_model: int) -> str:
    """Return the tensor of one sentence: a table of tokens, or one a head, every cell with its number in memory."""
    cells = layout.cells[0]
    if cells.ndim == 2:
        blocks = [("", cells)]
    else:
        heads = cells.swapaxes(0, 1) if layout.axes[1] == "tokens" else cells
        blocks = [(f"head {number}", head) for number, head in enumerate(heads, start=1)]
    return '<div class="numbered">' + "".join(_table(name, block, d_model) for name, block in blocks) + "</div>"


def memory_html(layout: Layout, d_model: int) -> str:
    """Return the cells one after the other as the axes are counted through, last axis fastest."""
    cells = "".join(_cell("span", int(number), d_model) for number in layout.cells.flatten())
    return f'<div class="row_of_cells">{cells}</div>'


def facts(layout: Layout) -> str:
    """Return the shape with the names of its axes, strides, and whether the cells are in the order of memory."""
    axes = ", ".join(f"{name} {size}" for name, size in zip(layout.axes, layout.shape, strict=True))
    order = "in the order of memory" if layout.contiguous else "memory unchanged, read in another order"
    return f"shape ({axes}), strides {layout.strides}: {order}"


def describe(wrong: Layout, d_model: int) -> Finding:
    """Return how many cells of the bare reshape are misplaced."""
    mixed = int(misplaced_cells(wrong, d_model).sum())
    if not mixed:
        return Finding("With one head, or one token, both ways agree.", "So tests with such sizes find nothing.")
    return Finding(
        f"The bare reshape puts {mixed} of {wrong.cells.size} cells into another token's row.",
        f"Both ways give the shape {wrong.shape}, so nothing fails, but attention would compare pieces of one token "
        "with pieces of another.",
    )


def _table(name: str, block: np.ndarray, d_model: int) -> str:
    rows = "".join(
        f'<tr><th scope="row">token {row}</th>{"".join(_cell("td", int(number), d_model) for number in line)}</tr>'
        for row, line in enumerate(block, start=1)
    )
    return f"<table><caption>{html.escape(name)}</caption><tbody>{rows}</tbody></table>"


def _cell(tag: str, number: int, d_model: int) -> str:
    token = number // d_model
    colour = see_through(SERIES_COLOURS[token % len(SERIES_COLOURS)], 0.45)
    title = f"token {token + 1}, dimension {number % d_model + 1}"
    return f'<{tag} style="background: {colour}" title="{title}">{number}</{tag}>'
