"""The explorer of all heads on a page, its choice in the address."""

import streamlit as st

import session
from browser.attention_explorer import attention_explorer
from session import Choice
from transformer.interpret.trace import Trace
from ui.sentences import show_sentences

from .explorer_payload import explorer_blob
from .explorer_state import heads_in, read_choice, write_choice


def show(choice: Choice) -> None:
    """All heads of all kinds, linked; then the way into one of them. Raises UserError."""
    trace = session.trace(choice)
    show_sentences(choice)
    _show_linked(trace, explorer_blob(trace))


@st.fragment  # a choice need not bring the whole page, nor measure every head, again
def _show_linked(trace: Trace, blob: bytes) -> None:
    written = read_choice(trace)
    attention_explorer(blob, written, "explorer", lambda chosen: write_choice(trace, chosen))
    layer, head = heads_in(written["heads"])[0]
    st.page_link(
        "pages/inside.py",
        label=f"Inside this head: layer {layer + 1}, head {head + 1} step by step",
        icon=":material/arrow_forward:",
        query_params=_inside(written, layer, head),
    )


def _inside(written: dict[str, str], layer: int, head: int) -> dict[str, str]:
    """The address of a head on the page Inside attention, with the query or the key where a single one is chosen."""
    query = {"kind": written["kind"], "layer": str(layer + 1), "head": str(head + 1)}
    if written["tokens"] and "-" not in written["tokens"]:
        query["at_query" if written["tokens"][0] == "q" else "at_key"] = written["tokens"][1:]
    return query
