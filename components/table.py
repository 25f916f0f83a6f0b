"""A table of tokens or numbers under one another; a wide one scrolls sideways. page.css dresses it.

Text is escaped, always.
"""

import html
from collections.abc import Sequence

import streamlit as st


def show_table(
    label: str,
    corner: str,
    header: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    closed: Sequence[Sequence[bool]] | None = None,
    shades: Sequence[Sequence[float]] | None = None,
) -> None:
    """Rows with their names, `corner` above these; a cell of which `closed` is True, padding or masked, is hatched.

    `shades`, from 0 to 1, colour the cells; of their texts the first line is bold. `label` names the whole for screen
    readers.
    """
    if shades:
        styles = [[f' class="shaded" style="--shade: {shade:.3f}"' for shade in row] for row in shades]
    else:
        styles = [
            [' class="closed"' if mark else "" for mark in row] for row in closed or [[False] * len(header)] * len(rows)
        ]
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in header)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{_cells(cells, row_styles)}</tr>'
        for (name, cells), row_styles in zip(rows, styles, strict=True)
    )
    st.html(
        f'<div class="places" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f'<table><thead><tr><th scope="row">{html.escape(corner)}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(cells: Sequence[str], styles: Sequence[str]) -> str:
    return "".join(f"<td{style}>{html.escape(text)}</td>" for text, style in zip(cells, styles, strict=True))
