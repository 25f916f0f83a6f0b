"""A translation on the page: its text, what to doubt about it, and its tokens."""

import html
from collections.abc import Sequence

import streamlit as st

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.plots.text import format_probability, percent

from .widgets import plain


def one_line(text: str) -> str:
    """Return a translation on one line, safe for Markdown; of an empty one, that the model wrote nothing."""
    return plain(" ".join(text.split())) or "(nothing: the model ended the sentence at once)"


def show_translation(request: TranslationRequest) -> None:
    """The translation alone, on one line, for a page whose sentence stands in the bar above. Raises UserError."""
    trace, data = results.trace(request), results.translator(request.checkpoint).checkpoint.data
    with st.container(key="translation"):
        st.markdown(f"{plain(data.get('target_language', 'Translation'))}: **{one_line(trace.target_text)}**")
    show_doubts(request)


def show_doubts(request: TranslationRequest) -> None:
    """What about a sentence and its translation a user should know: characters unread, or an end not reached."""
    trace = results.trace(request)
    unknown = results.translator(request.checkpoint).unknown_characters(trace.source_text)
    if unknown:
        shown = " ".join(unknown[:10])
        st.warning(
            plain(f"The model has never seen {shown} and reads it as <unk>, a token that stands for anything unknown."),
            icon=":material/help:",
        )
    if not trace.finished:
        words = " ".join(trace.target_text.split()[:4])
        text = f"The translation “{words} …” was cut at the length limit before its end of sentence."
        st.warning(plain(text), icon=":material/cut:")


def show_tokens(tokens: Sequence[str], ids: Sequence[int], label: str, unknown_id: int | None = None) -> None:
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
        chips.append(
            _chip(token, format_probability(float(probability)), style=colour, title=f"rank {rank} of all tokens")
        )
    _show(chips, label)


def show_shares(tokens: Sequence[str], shares: Sequence[float], limit: float, label: str, colour: str) -> None:
    """Each token over its share in percent, as strong in colour as this is of `limit`; colour: "31, 119, 224"."""
    chips = [
        _chip(token, percent(share), style=f"background: rgba({colour}, {0.03 + 0.6 * share / limit:.3f})")
        for token, share in zip(tokens, map(float, shares), strict=True)
    ]
    _show(chips, label)


def _chip(token: str, note: str, *, css: str = "", style: str = "", title: str = "") -> str:
    return (
        f'<li class="{css}" style="{style}" title="{html.escape(title)}">'
        f'<span class="token">{html.escape(token)}</span><span class="note">{html.escape(note)}</span></li>'
    )


def _show(chips: list[str], label: str) -> None:
    items = "".join(chips)
    st.html(f'<ol class="chips" aria-label="{html.escape(label)}">{items}</ol>')
