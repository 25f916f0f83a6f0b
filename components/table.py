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
) -> None:
    """Rows with their names, `corner` above these; a cell of which `closed` is True, padding or masked, is hatched.

    `label` names the whole for screen readers.
    """
    closed = closed or [[False] * len(header)] * len(rows)
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in header)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{_cells(cells, marks)}</tr>'
        for (name, cells), marks in zip(rows, closed, strict=True)
    )
    st.html(
        f'<div class="places" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f'<table><thead><tr><th scope="row">{html.escape(corner)}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(cells: Sequence[str], marks: Sequence[bool]) -> str:
    return "".join(
        f'<td class="{"closed" if mark else ""}">{html.escape(text)}</td>'
        for text, mark in zip(cells, marks, strict=True)
    )
