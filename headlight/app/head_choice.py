"""Choice of an attention head, shared by all pages."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.plots.names import AVERAGE, KINDS
from transformer.model.heads import Head, Heads, heads_address

from . import state
from .choices import numbers, option_label
from .finding import Templates
from .selection import shapes_of

TEMPLATES = Templates.beside(__file__)
Shapes = Mapping[str, tuple[int, ...]]  # layers and heads of each kind
Start = Callable[[str], Head]  # of a kind, the head to begin with


def choose_head(shapes: Shapes, start: Start, first: str | None = None) -> Head:
    """Show rows of buttons for kind, layer and head; return the chosen head.

    shapes: the kinds on offer; a single one has no buttons. start: used where the address names no head that the page
    has, and when another kind is chosen. first: the kind to begin with.
    """
    head = head_in_address(shapes, start, first)
    _show_buttons(head, shapes, start, ())
    return head


def choose_head_of(
    request: TranslationRequest, kinds: Sequence[str] = ("cross",), first: str | None = None, start: Start | None = None
) -> Head:
    """Like `choose_head`, for a translation and its default heads unless `start` names others. Raises UserError."""
    return choose_head(shapes_of(results.trace(request), kinds), start or partial(results.default_head, request), first)


def choose_heads_of(request: TranslationRequest, start: Start | None = None) -> Heads:
    """Like `choose_head_of` for cross-attention, where all layers or heads may be averaged, too. Raises UserError."""
    shapes = shapes_of(results.trace(request), ("cross",))
    start = start or partial(results.default_head, request)
    heads = heads_in_address(shapes, start)
    _show_buttons(heads, shapes, start, (AVERAGE,))
    return heads


def head_in_address(shapes: Shapes, start: Start, first: str | None = None) -> Head:
    """Return the head of the address, else the one to begin with, also where the address has several to average."""
    heads = heads_in_address(shapes, start, first)
    return heads if isinstance(heads, Head) else start(heads.kind)


def heads_in_address(shapes: Shapes, start: Start, first: str | None = None) -> Heads:
    """Return the heads of the address that are averaged, or its head, else the one to begin with.

    Of several heads in the address the first counts. For a head of these kinds that the page does not have, `start`
    names one of its kind.
    """
    heads = Heads.parse(state.value("head").split("-")[0])
    if heads is None or heads.kind not in shapes:
        return start(first or next(iter(shapes)))
    return heads if heads.fits(shapes) else start(heads.kind)


def take_head(*heads: Heads, **changes: str) -> None:
    """Choose heads, with other changes of the address, in a callback of another widget."""
    state.go(head=heads_address(heads), **changes)


def _show_buttons(heads: Heads, shapes: Shapes, start: Start, averages: tuple[str, ...]) -> None:
    kinds = tuple(kind for kind in KINDS if kind in shapes)  # the same order on every page
    if len(kinds) > 1:
        _buttons("Kind", kinds, str(heads.kind), start)
    layers, count = ((*averages, *numbers(each)) for each in shapes[heads.kind])
    _buttons("Layer", layers, _label(heads.layer), lambda text: Heads.of(heads.kind, _number(text), heads.head))
    _buttons("Head", count, _label(heads.head), lambda text: Heads.of(heads.kind, heads.layer, _number(text)))


def _buttons(label: str, options: tuple[str, ...], chosen: str, head_of: Callable[[str], Heads]) -> None:
    """Show a row of buttons for a part of the head in the address, beside its label by page.css."""
    bound = state.widget(f"{label.lower()}_buttons", chosen, lambda text: {"head": head_of(text or chosen).address})
    st.segmented_control(TEMPLATES.text(label), options, format_func=option_label, required=True, wrap=True, **bound)


def _label(number: int | None) -> str:
    return AVERAGE if number is None else str(number + 1)


def _number(label: str) -> int | None:
    return None if label == AVERAGE else int(label) - 1
