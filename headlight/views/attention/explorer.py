"""The explorer of all heads on a page, its choice in the address; what makes no sense there falls back."""

import streamlit as st

from headlight.app import results, url_state
from headlight.app.head_choice import Head, note_head, noted_head
from headlight.app.line import fragment
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_page, offer_table, show_translation
from headlight.components.show import attention_explorer
from transformer.interpret.trace import Trace

from .explorer_content import (
    CROSS_FIRST,
    DEFAULTS,
    FIRST,
    OPTIONS,
    are_heads,
    are_tokens,
    explorer_blob,
    explorer_page,
    heads_in,
    linked_heads,
    one_of,
)
from .long_explorer import LongExplorer, long_words

_PREFIX = "explorer_"  # of the names in the address: other pages have a kind and a head of their own
_SHARED = ("kind", "layer", "head")  # what other pages call one head in their addresses
_FOLLOWED = "explorer_followed"


def show(request: TranslationRequest) -> None:
    """Show all heads of all kinds, linked, and the way into one of them. Raises UserError."""
    trace = show_translation(request)
    show_heads(request, trace)


def show_heads(request: TranslationRequest, trace: Trace) -> None:
    """Show a trace, perhaps another than the request's, beginning with the request's default head."""
    (layer, head), roles = results.default_head(request, "cross"), results.roles(request.checkpoint)
    blob = LongExplorer(trace, roles) if long_words(trace) else explorer_blob(trace, roles)
    _show_linked(request, trace, blob, f"{layer + 1}.{head + 1}")


@fragment  # a choice need not bring the whole page, nor measure every head, again
def _show_linked(request: TranslationRequest, trace: Trace, blob: bytes | LongExplorer, best: str) -> None:
    written = read_choice(trace, best)
    sent = blob.blob(written) if isinstance(blob, LongExplorer) else blob
    if sent is not blob:
        st.caption(long_words(trace))
    attention_explorer(sent, written, "explorer", lambda chosen: write_choice(trace, chosen, best))
    layer, head = heads_in(written["heads"])[0]
    label, query = f"Inside this head: layer {layer + 1}, head {head + 1} step by step", _inside(written, layer, head)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.page_link(
            "pages/inside.py", label=label, icon=":material/arrow_forward:", query_params=query, width="content"
        )
        if sent is not blob:
            return  # all weights at once would be too many here, too
        files = request.checkpoint
        offer_page(lambda: explorer_page(trace, files.name, results.roles(files), written), "attention.html")
        offer_table("Every weight as CSV", trace.to_frame, "attention.csv")


def _inside(written: dict[str, str], layer: int, head: int) -> dict[str, str]:
    """Return the address of a head on the page Inside attention, and of the query or key where one is chosen."""
    query = {**Head(written["kind"], layer, head).query(), "at_step": "softmax"}
    if written["tokens"] and "-" not in written["tokens"]:
        query["at_query" if written["tokens"][0] == "q" else "at_key"] = written["tokens"][1:]
    return query


def read_choice(trace: Trace, best: str) -> dict[str, str]:
    """Return the explorer's choice for this sentence, as valid texts by name; `best` is the head to begin with, where
    neither the address nor another page says anything.
    """
    _follow_others(trace)
    read = {name: one_of(url_state.read(f"explorer_{name}"), options) for name, options in OPTIONS.items()}
    kind = one_of(url_state.read("explorer_kind", _linked_kind()), CROSS_FIRST)
    tokens = url_state.read("explorer_tokens")
    said = {**read, "kind": kind, "tokens": tokens if are_tokens(tokens, trace, kind) else ""}
    first = _first_heads(trace, said, best)
    heads = url_state.read("explorer_heads", first)
    if are_heads(heads, trace, kind) and "explorer_heads" in st.query_params:
        _carry_on(kind, heads)  # a head that came by address, like one that was clicked
    return {**said, "heads": heads if are_heads(heads, trace, kind) else first}


def write_choice(trace: Trace, written: dict[str, str], best: str) -> None:
    """Put what was chosen in the explorer into the address; a single head is that of the other pages, too.

    To be called in a callback.
    """
    kind = written["kind"]
    _carry_on(kind, written["heads"])  # before the address changes: then the page may be left, which ends the callback
    for name in (*OPTIONS, "tokens"):
        url_state.write(f"explorer_{name}", written[name])
    url_state.write("explorer_kind", kind, _linked_kind())
    url_state.write("explorer_heads", written["heads"], _first_heads(trace, written, best))


def _carry_on(kind: str, written: str) -> None:
    """Make a single head that of the pages that follow."""
    ((layer, head), *others) = heads_in(written)
    if not others:
        note_head(Head(kind, layer, head))
        st.session_state[_FOLLOWED] = noted_head()


def _follow_others(trace: Trace) -> None:
    """Begin with the head that a link asks for, or that was chosen on another page since; an average is not followed.

    Only where the address says nothing of the explorer's own.
    """
    if any(name.startswith(_PREFIX) for name in st.query_params):
        return
    kind, heads = _linked_kind(), None
    if any(name in st.query_params for name in _SHARED):
        heads = _linked_heads(trace, kind)
    elif (noted := noted_head()) and st.session_state.get(_FOLLOWED) != noted:
        kind, heads = noted["kind"], f"{noted['layer']}.{noted['head']}"
    st.session_state[_FOLLOWED] = noted_head()
    if heads and are_heads(heads, trace, kind):
        url_state.write("explorer_kind", kind, _linked_kind())
        url_state.write("explorer_heads", heads)
        url_state.write("explorer_tokens", "")


def _first_heads(trace: Trace, said: dict[str, str], best: str) -> str:
    """Return the heads where the address names none: `best` where it says nothing else either.

    With anything else it was always head 1.1, or what a link asks for: such an address is still written and read so.
    """
    usual = {**DEFAULTS, "kind": CROSS_FIRST[0], "tokens": ""}
    is_bare = all(said[name] == value for name, value in usual.items()) and not set(_SHARED) & set(st.query_params)
    return best if is_bare else _linked_heads(trace, said["kind"])


def _linked_kind() -> str:
    """Return the kind that a link from elsewhere asks for, else the default."""
    return one_of(st.query_params.get("kind"), CROSS_FIRST)


def _linked_heads(trace: Trace, kind: str) -> str:
    """Return the heads that a link asks for, else the first."""
    return linked_heads(st.query_params, trace, kind) or FIRST
