"""A sentence as its pieces: one chip a token, with what is known of it; page.css dresses them.

Token text is escaped, always.
"""

import html
from collections.abc import Sequence

import streamlit as st

from figures.captions import chance_words


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
