"""Text from visitors, checkpoints and models, made safe to stand in Markdown."""

import html
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from plots.heatmap import attention_map_figure, map_title
from plots.text import chance_words
from transformer.interpret.trace import AttentionMap

_SIGNS = frozenset(r"\`*_{}[]()<>#+-.!|$:~&")


def plain(text: str) -> str:
    """The text with every sign of Markdown's escaped, so that it shows as it is written."""
    return "".join(f"\\{character}" if character in _SIGNS else character for character in text)


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


def show_pieces(tokens: Sequence[str], ids: Sequence[int], label: str, unknown_id: int | None = None) -> None:
    """Each token over its id; a token of `unknown_id`, which the model cannot read, is outlined."""
    chips = [
        _chip(token, f"id {id}", css="unknown" if id == unknown_id else "", title=f"token {place} of {len(tokens)}")
        for place, (token, id) in enumerate(zip(tokens, ids, strict=True), start=1)
    ]
    _show(chips, label)


def show_probabilities(tokens: Sequence[str], probabilities: Sequence[float], ranks: Sequence[int], label: str) -> None:
    """Each token over the probability it got, as strong in colour as it is probable."""
    chips = []
    for token, probability, rank in zip(tokens, probabilities, ranks, strict=True):
        colour = f"background: rgba(31, 119, 224, {0.04 + 0.6 * float(probability):.3f})"
        chips.append(_chip(token, chance_words(float(probability)), style=colour, title=f"rank {rank} of all pieces"))
    _show(chips, label)


def _chip(token: str, note: str, *, css: str = "", style: str = "", title: str = "") -> str:
    return (
        f'<li class="{css}" style="{style}" title="{html.escape(title)}">'
        f'<span class="token">{html.escape(token)}</span><span class="note">{html.escape(note)}</span></li>'
    )


def _show(chips: list[str], label: str) -> None:
    items = "".join(chips)
    st.html(f'<ol class="pieces" aria-label="{html.escape(label)}">{items}</ol>')


MOST_KEYS_ON_A_PHONE = 10  # with more, page.css leaves the numbers out of the cells on a narrow screen


def phone_container(columns: int, key: str) -> DeltaGenerator:
    """A container for a figure of so many columns of tokens, named for what page.css does to it on a phone."""
    return st.container(key=f"{'crowded' if columns > MOST_KEYS_ON_A_PHONE else 'roomy'}_{key}")


def show_map(chosen: AttentionMap, key: str) -> None:
    """Draw the map with a name for screen readers; hovering or tapping a cell shows its weight in any case."""
    with phone_container(len(chosen.keys), key):
        figure = attention_map_figure(chosen)
        st.plotly_chart(figure, key=key, width="content", alt=f"Heatmap. {map_title(chosen)}")
