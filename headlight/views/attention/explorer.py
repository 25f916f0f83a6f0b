"""The explorer: all heads of a sentence, its choice in the address."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import offer_view
from headlight.app.head_choice import Head, head_in_address, take_head
from headlight.app.model_queue import fragment
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_page, offer_table, show_translation
from headlight.components.show import attention_explorer
from transformer.interpret.trace import Trace

from .explorer_content import CROSS_FIRST, OPTIONS, addressed_choice, explorer_blob, explorer_page, heads_in
from .long_explorer import LongExplorer, long_words


def show(request: TranslationRequest) -> None:
    """Show all heads of all kinds, linked, and the ways on from one of them. Raises UserError."""
    show_heads(request, show_translation(request))


def show_heads(request: TranslationRequest, trace: Trace) -> None:
    """Show a trace, perhaps another one than the request's."""
    roles = results.roles(request.checkpoint)
    blob = LongExplorer(trace, roles) if long_words(trace) else explorer_blob(trace, roles)
    _show_linked(request, trace, blob)


@fragment  # a choice need not bring the whole page, nor measure every head, again
def _show_linked(request: TranslationRequest, trace: Trace, blob: bytes | LongExplorer) -> None:
    choice = read_choice(request, trace)
    sent = blob.blob(choice) if isinstance(blob, LongExplorer) else blob
    if sent is not blob:
        st.caption(long_words(trace))
    attention_explorer(sent, choice, "explorer", write_choice)
    head = Head(choice["kind"], *heads_in(choice["heads"])[0])
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        _show_ways(head, choice["tokens"])
        if sent is not blob:
            return  # all weights at once would be too many here, too
        files = request.checkpoint
        offer_page(lambda: explorer_page(trace, files.name, results.roles(files), choice), "attention.html")
        offer_table("Every weight as CSV", trace.to_frame, "attention.csv")


def _show_ways(head: Head, tokens: str) -> None:
    step = {"at_step": "softmax"}
    if tokens and "-" not in tokens:
        step["at_query" if tokens[0] == "q" else "at_key"] = tokens[1:]
    label, query = "Inside this head, step by step", {**head.query(), **step}
    offer_view("This head over a corpus", "attention", "one head")
    st.page_link("pages/inside.py", label=label, icon=":material/arrow_forward:", query_params=query, width="content")


def read_choice(request: TranslationRequest, trace: Trace) -> dict[str, str]:
    """Return the explorer's choice for this sentence, as valid texts by name.

    The head is that of all pages. Further heads are in the address by themselves.
    """
    shapes = {kind: trace.attention(kind).shape[:2] for kind in CROSS_FIRST}
    kind, layer, head = head_in_address(shapes, partial(results.default_head, request))
    address = {name: url_state.read(name) for name in (*OPTIONS, "heads", "tokens")}
    return addressed_choice(trace, {**address, "kind": kind}, f"{layer + 1}.{head + 1}")


def write_choice(choice: Mapping[str, str]) -> None:
    """Put the explorer's choice into the address; to be called in a callback."""
    first, *others = heads_in(choice["heads"])
    for name in (*OPTIONS, "tokens"):
        url_state.write(name, choice[name])
    url_state.write("heads", choice["heads"] if others else "")
    take_head(Head(choice["kind"], *first))
