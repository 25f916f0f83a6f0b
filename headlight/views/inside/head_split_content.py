"""Numbered cells of a small tensor as HTML tables, coloured by the token they belong to, and sentences on them."""

import html

import numpy as np

from transformer.experiments.attention import Layout, misplaced_cells

# Okabe and Ito's colours, which colour-blind readers tell apart, thin enough for the page's own text on them.
TOKEN_COLOURS = ("86, 180, 233", "230, 159, 0", "0, 158, 115", "204, 121, 167", "0, 114, 178", "213, 94, 0")


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


def describe(wrong: Layout, d_model: int) -> str:
    """Return how many cells of the bare reshape are misplaced."""
    mixed = int(misplaced_cells(wrong, d_model).sum())
    if not mixed:
        return "With one head, or one token, both ways agree, which is why tests with such sizes find nothing."
    return (
        f"Both have the shape {wrong.shape}, so nothing fails. But the reshape counts on through memory: {mixed} of "
        f"{wrong.cells.size} cells stand in the row of another token, so attention would compare pieces of one token "
        "with pieces of another; training would still go on, only worse."
    )


def _table(name: str, block: np.ndarray, d_model: int) -> str:
    rows = "".join(
        f'<tr><th scope="row">token {row}</th>{"".join(_cell("td", int(number), d_model) for number in line)}</tr>'
        for row, line in enumerate(block, start=1)
    )
    return f"<table><caption>{html.escape(name)}</caption><tbody>{rows}</tbody></table>"


def _cell(tag: str, number: int, d_model: int) -> str:
    token = number // d_model
    colour = TOKEN_COLOURS[token % len(TOKEN_COLOURS)]
    title = f"token {token + 1}, dimension {number % d_model + 1}"
    return f'<{tag} style="background: rgba({colour}, 0.45)" title="{title}">{number}</{tag}>'
