"""The explorer: all heads of a sentence, its choice in the address."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from headlight.app import results, state
from headlight.app.choices import offer_view
from headlight.app.finding import Templates
from headlight.app.head_choice import heads_in_address, take_head
from headlight.app.model_queue import fragment
from headlight.app.results import TranslationRequest
from headlight.app.selection import Selection, shapes_of
from headlight.app.widgets import offer_page, offer_table, plain, show_translation
from headlight.components.show import attention_explorer
from transformer.interpret.trace import Trace
from transformer.model.heads import Heads

from .explorer_content import CROSS_FIRST, OPTIONS, describe_sinks, explorer_blob, explorer_page
from .long_explorer import LongExplorer, long_words

_ARROW = ":material/arrow_forward:"
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show all heads of all kinds, linked, and the ways on from one of them. Raises UserError."""
    show_heads(request, show_translation(request))


def show_heads(request: TranslationRequest, trace: Trace) -> None:
    """Show a trace, perhaps another one than the request's."""
    roles = results.roles(request.checkpoint)
    if sinks := describe_sinks(trace):
        st.caption(plain(sinks))
    blob = LongExplorer(trace, roles) if long_words(trace) else explorer_blob(trace, roles)
    _show_linked(request, trace, blob)


@fragment  # a choice need not bring the whole page, nor measure every head, again
def _show_linked(request: TranslationRequest, trace: Trace, blob: bytes | LongExplorer) -> None:
    selection, options = read_selection(request, trace), read_options()
    sent = blob.blob(selection) if isinstance(blob, LongExplorer) else blob
    if sent is not blob:
        st.caption(long_words(trace))
    attention_explorer(sent, {**selection.address, **options}, "explorer", write_choice)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        _show_ways(selection)
        if sent is not blob:
            return  # all weights at once would be too many here, too
        files = request.checkpoint
        offer_page(lambda: explorer_page(trace, files.name, results.roles(files), selection, options), "attention.html")
        offer_table(TEMPLATES.text("csv"), trace.to_frame, "attention.csv")


def _show_ways(selection: Selection) -> None:
    places = {"query": selection.queries, "key": selection.keys}
    step = {name: str(numbers[0] + 1) for name, numbers in places.items() if len(numbers) == 1}
    query = {"inside": "step by step", "head": selection.head.address, "at_step": "softmax", **step}
    cell = {"research": "why this cell", "head": selection.head.address, **step}
    label = TEMPLATES.text("why")
    st.page_link("pages/research.py", label=label, icon=_ARROW, query_params=cell, width="content")
    offer_view(TEMPLATES.text("over_corpus"), "attention", "one head")
    label = TEMPLATES.text("inside")
    st.page_link("pages/inside.py", label=label, icon=_ARROW, query_params=query, width="content")


def read_selection(request: TranslationRequest, trace: Trace) -> Selection:
    """Return the selection of the address. The first head is that of all pages."""
    shapes = shapes_of(trace, CROSS_FIRST)
    head = heads_in_address(shapes, partial(results.default_head, request))
    return Selection.parse(state.current().values, trace, head)


def read_options() -> dict[str, str]:
    """Return the explorer's other choices as valid texts by name."""
    address = {name: state.value(name) for name in OPTIONS}
    return {name: address[name] if address[name] in values else values[0] for name, values in OPTIONS.items()}


def write_choice(choice: Mapping[str, str]) -> None:
    """Put the explorer's choice into the address; to be called in a callback."""
    heads = (head for each in choice["head"].split("-") if (head := Heads.parse(each)) is not None)
    take_head(*heads, **{name: choice[name] for name in (*OPTIONS, "query", "key")})
