"""What pages are written with: text made safe for Markdown, findings, figures side by side, tables."""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from .figures import show_figure

_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_{}[]()<>#+-.!|$:~&"})
_MARKUP = re.compile(r"\\([^\w\s])|\*\*")  # of Markdown, what a caption does not have where it goes along as text
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what a cell begins with that spreadsheets take for a formula
# With more columns on a narrow screen, page.css leaves the numbers out of the cells; then every second label, and two
# of three.
MOST_KEYS_ON_A_PHONE, MOST_LABELS_ON_A_PHONE, MOST_OF_SECONDS = 10, 18, 36


def plain(text: str) -> str:
    """A text from users, checkpoints or models with every sign of Markdown's escaped: it shows as it is written."""
    return text.translate(_ESCAPED)


def show_finding(text: str, attempt: str = "") -> None:
    """A sentence computed from this very example, and perhaps what to try with it."""
    st.info(plain(text) + (f"\n\n**Try** {plain(attempt)}" if attempt else ""), icon=":material/search:")


def show_calculation(text: str) -> None:
    """A number of the figure, calculated by hand."""
    st.info(plain(text), icon=":material/calculate:")


def show_attempt(text: str) -> None:
    """Something to try."""
    st.info(plain(text), icon=":material/science:")


def phone_container(columns: int, key: str) -> DeltaGenerator:
    """A container for a figure of so many columns of tokens, named for what page.css does to it on a phone."""
    if columns <= MOST_KEYS_ON_A_PHONE:
        return st.container(key=f"roomy_{key}")
    every = 1 + sum(columns > most for most in (MOST_LABELS_ON_A_PHONE, MOST_OF_SECONDS))
    return st.container(key=f"crowded_{every}_{key}")


@dataclass(frozen=True)
class Panel:
    """A figure under its title, with a caption in Markdown and a name of its own, `key`, where the title may change.

    `columns` says how many columns of tokens it has.
    """

    title: str
    figure: go.Figure
    caption: str = ""
    columns: int = 0
    key: str = ""


def show_panels(what: str, *panels: Panel, see: str = "") -> None:
    """Figures side by side; `what` they show tells screen readers, after each one's title, `see` as for show_figure.

    A panel's own caption goes along with its figure, before `see`.
    """
    for column, panel in zip(st.columns(len(panels)), panels, strict=True):
        key = panel.key or panel.title
        with column, phone_container(panel.columns, key) if panel.columns else column:
            st.markdown(f"**{panel.title}**")
            told = " ".join(filter(None, (_MARKUP.sub(r"\1", panel.caption), see)))
            show_figure(panel.figure, key, f"{panel.title}: {what}", told)
            if panel.caption:
                st.caption(panel.caption)


def offer_download(label: str, data: str | Callable[[], bytes], name: str, kind: str) -> None:
    """A button that saves a file of this MIME type, without running the page again."""
    st.download_button(label, data, name, kind, icon=":material/download:", on_click="ignore")


def offer_page(page: Callable[[], str], name: str) -> None:
    """A button that saves what stands above it as one HTML file, which is made when somebody wants it."""
    offer_download("Download as a page", lambda: page().encode(), name, "text/html")


def offer_table(label: str, table: Callable[[], pd.DataFrame], name: str) -> None:
    """A button that saves a table as CSV; it is made when somebody wants it."""
    offer_download(label, lambda: as_csv(table()), name, "text/csv")


def as_csv(table: pd.DataFrame) -> bytes:
    """A table as CSV in UTF-8, without its index.

    A text that a spreadsheet would calculate, a token such as "=1+1", gets an apostrophe before it, which stands for
    text there.
    """
    texts = {name: table[name].map(_as_text) for name in table.select_dtypes(exclude=["number", "bool"])}
    return table.assign(**texts).to_csv(index=False).encode()


def _as_text(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


def show_table(
    label: str,
    corner: str,
    header: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    masked: Sequence[Sequence[bool]] | None = None,
    shades: Sequence[Sequence[float]] | None = None,
) -> None:
    """Rows with their names, `corner` above these; a cell of which `masked` is True, masked or padding, is hatched.

    `shades`, from 0 to 1, colour the cells; of their texts the first line is bold. `label` names the whole for screen
    readers.
    """
    if shades:
        styles = [[f' class="shaded" style="--shade: {shade:.3f}"' for shade in row] for row in shades]
    else:
        marks = masked or [[False] * len(header)] * len(rows)
        styles = [[' class="closed"' if mark else "" for mark in row] for row in marks]
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
