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

from . import state
from .choices import numbers

Shapes = Mapping[str, tuple[int, ...]]  # layers and heads of each kind
Start = Callable[[str], tuple[int, int]]  # the layer and head of a kind to begin with


def choose_head(shapes: Shapes, start: Start, first: str | None = None, *, averages: bool = False) -> HeadRef:
    """Show rows of buttons for kind, layer and head; return the chosen head.

    shapes: the kinds on offer; a single one has no buttons. start: used where the address names no head that the page
    has, and when another kind is chosen. first: the kind to begin with. averages: whether all layers or heads may be
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
    """Return the head of the address, else the one to begin with.

    Of several heads in the address the first counts. For a head of these kinds that the page does not have, `start`
    names one of its kind.
    """
    head = HeadRef.parse(state.value("head").split("-")[0])
    if head is None or head.kind not in shapes:
        return _begin(first or next(iter(shapes)), start)
    if not head.fits(shapes) or (None in (head.layer, head.head) and not averages):
        return _begin(head.kind, start)
    return head


def take_head(*heads: HeadRef, **changes: str) -> None:
    """Choose heads, with other changes of the address, in a callback of another widget."""
    state.go(head=heads_address(heads), **changes)


def _begin(kind: str, start: Start) -> HeadRef:
    return HeadRef(AttentionKind(kind), *start(kind))


def _buttons(label: str, options: tuple[str, ...], chosen: str, head_of: Callable[[str], HeadRef]) -> None:
    """Show a row of buttons for a part of the head in the address, beside its label by page.css."""
    bound = state.widget(f"{label.lower()}_buttons", chosen, lambda text: {"head": head_of(text or chosen).address})
    st.segmented_control(label, options, required=True, wrap=True, **bound)


def _label(number: int | None) -> str:
    return AVERAGE if number is None else str(number + 1)


def _number(label: str) -> int | None:
    return None if label == AVERAGE else int(label) - 1
