"""Choice of an attention head, shared by all pages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.plots.names import AVERAGE, KIND_NAMES
from transformer.model.head_ref import HeadRef, heads_address
from transformer.model.names import AttentionKind

from . import url_state
from .choices import numbers

# In the session, as in an address: the last chosen head, and its replacement on a page without it.
_CHOSEN, _SHOWN = "head_chosen", "head_shown"
_BUTTONS = "head_buttons_shown"  # in the session: the page and the kinds of the last buttons

Shapes = Mapping[str, tuple[int, ...]]  # layers and heads of each kind
Start = Callable[[str], tuple[int, int]]  # the layer and head of a kind to begin with


def choose_head(shapes: Shapes, start: Start, first: str | None = None, *, averages: bool = False) -> HeadRef:
    """Show rows of buttons for kind, layer and head; return the chosen head.

    shapes: the kinds on offer; a single one has no buttons. start: used where neither address nor another page names
    a head, and when another kind is chosen. first: the kind to begin with. averages: whether all layers or heads may be
    averaged.
    """
    head = head_in_address(shapes, start, first, averages=averages)
    kinds = tuple(kind for kind in KIND_NAMES if kind in shapes)  # the same order on every page
    if len(kinds) > 1:
        _buttons("Kind", kinds, str(head.kind), lambda kind: _begin(kind, start))
    first_option = (AVERAGE,) if averages else ()
    options = [(*first_option, *numbers(count)) for count in shapes[head.kind]]
    _buttons("Layer", options[0], _label(head.layer), lambda label: replace(head, layer=_number(label)))
    _buttons("Head", options[1], _label(head.head), lambda label: replace(head, head=_number(label)))
    return head


def choose_head_of(
    request: TranslationRequest,
    kinds: Sequence[str] = ("cross",),
    first: str | None = None,
    start: Start | None = None,
    *,
    averages: bool = False,
) -> HeadRef:
    """Like `choose_head`, for a translation and its default heads unless `start` names others. Raises UserError."""
    trace = results.trace(request)
    shapes = {kind: trace.attention(kind).shape[:2] for kind in kinds}
    return choose_head(shapes, start or partial(results.default_head, request), first, averages=averages)


def head_in_address(shapes: Shapes, start: Start, first: str | None = None, *, averages: bool = False) -> HeadRef:
    """Return the head of the address or, on coming from another page, of that page; else the one to begin with.

    Of several heads in the address the first counts. For a head that the page does not have, `start` names one of its
    kind.
    """
    text = url_state.in_address("head").get("head", "")
    buttons = url_state.page_shown(), *sorted(shapes)  # a view of other kinds cannot show the head
    is_new = url_state.came_from_another_page() or st.session_state.get(_BUTTONS) != buttons
    st.session_state[_BUTTONS] = buttons
    named = _first_of(text, shapes)
    if named is not None and text != st.session_state.get(_SHOWN):
        st.session_state[_CHOSEN] = text
    if text and named is None:
        url_state.write("head", "")
    # Back to an address without a head: the head to begin with.
    if named is None and is_new:
        text = st.session_state.get(_CHOSEN, "")
        if (named := _first_of(text, shapes)) is not None:
            _show(text)
    if named is None:
        return _begin(first or next(iter(shapes)), start)
    if not named.fits(shapes) or (None in (named.layer, named.head) and not averages):
        named = _begin(named.kind, start)
        _show(named.address)
    return named


def _show(text: str) -> None:
    """Write a head into the address that the visitor did not choose on this page."""
    st.session_state[_SHOWN] = text
    url_state.write_all({"head": text})


def take_head(*heads: HeadRef) -> None:
    """Choose heads in a callback of another widget."""
    st.session_state[_CHOSEN] = text = heads_address(heads)
    url_state.write_all({"head": text})


def _first_of(text: str, shapes: Shapes) -> HeadRef | None:
    """Return the first head of an address; None where it has none of these kinds."""
    head = HeadRef.parse(text.split("-")[0])
    return head if head is not None and head.kind in shapes else None


def _begin(kind: str, start: Start) -> HeadRef:
    return HeadRef(AttentionKind(kind), *start(kind))


def _buttons(label: str, options: tuple[str, ...], chosen: str, head_of: Callable[[str], HeadRef]) -> None:
    """Show a row of buttons for a part of the head in the address, beside its label by page.css."""
    widget = f"{label.lower()}_buttons"  # Streamlit forgets the key where the widget is not drawn
    st.session_state[widget] = chosen

    def choose() -> None:
        take_head(head_of(st.session_state[widget] or chosen))

    st.segmented_control(label, options, required=True, key=widget, on_change=choose, wrap=True)


def _label(number: int | None) -> str:
    return AVERAGE if number is None else str(number + 1)


def _number(label: str) -> int | None:
    return None if label == AVERAGE else int(label) - 1
