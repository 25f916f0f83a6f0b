"""The one choice of kind, layer and head that all pages share: in the address of a page, and kept from page to page.

The address has all its parts together once one of them was chosen; where it has only some, as old links do, the others
are what they were then: the first kind, the average over all, or the first layer and head on a page without averages.
So no part can be a widget that writes itself into the address, leaving out its own default.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.plots.names import AVERAGE, KIND_NAMES

from . import url_state
from .choices import numbers

_NOTED, _SHOWN = "head_noted", "head_shown"  # in the session: what was chosen last; what a page made of it


class Head(NamedTuple):
    """Kind of attention, layer and head counted from 0, None for the average over all of them."""

    kind: str
    layer: int | None
    head: int | None

    def query(self) -> dict[str, str]:
        """Return it as an address has it."""
        numbers = {"layer": self.layer, "head": self.head}
        written = {key: AVERAGE if number is None else str(number + 1) for key, number in numbers.items()}
        return {"kind": self.kind, **written}


def choose_head(
    shapes: Mapping[str, tuple[int, int]],
    start: Callable[[str], tuple[int, int]],
    first: str | None = None,
    *,
    averages: bool = False,
) -> Head:
    """Show rows of buttons for kind, layer and head; return what is chosen.

    shapes: layers and heads of each kind that may be chosen, the one first that an address with a layer and no kind
    means; with a single one there are no buttons for the kind. start: the head of a kind to begin with, where neither
    the address nor another page says one, and when another kind is chosen. first: the kind to begin with. averages:
    whether all layers or heads may be averaged.
    """
    options, chosen = _options(shapes, start, first, averages=averages)
    for key, label in (("kind", "Kind"), ("layer", "Layer"), ("head", "Head")):
        if len(options[key]) > 1 or key != "kind":
            _buttons(label, options[key], key, chosen, start)
    layer, head = (None if chosen[key] == AVERAGE else int(chosen[key]) - 1 for key in ("layer", "head"))
    return Head(chosen["kind"], layer, head)


def head_in_address(
    shapes: Mapping[str, tuple[int, int]], start: Callable[[str], tuple[int, int]]
) -> tuple[str, int, int]:
    """Return the kind, layer and head, from 0, that `choose_head` would, without showing buttons."""
    _, chosen = _options(shapes, start, None, averages=False)
    return chosen["kind"], int(chosen["layer"]) - 1, int(chosen["head"]) - 1


def _options(
    shapes: Mapping[str, tuple[int, int]],
    start: Callable[[str], tuple[int, int]],
    first: str | None,
    *,
    averages: bool,
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return what may be chosen of kind, layer and head, and what is."""
    kinds = tuple(shapes)
    asked = _asked(shapes, start, averages=averages)
    if asked:
        chosen = _completed(asked, kinds, averages=averages)
        if asked != st.session_state.get(_SHOWN):
            st.session_state[_NOTED] = chosen
    else:
        kind = first or kinds[0]
        chosen = Head(kind, *start(kind)).query()
    in_order = tuple(kind for kind in KIND_NAMES if kind in shapes)  # the same on every page
    options = {"kind": in_order, **_numbers_of(shapes[chosen["kind"]], averages=averages)}
    return options, {key: value if value in options[key] else options[key][0] for key, value in chosen.items()}


def choose_head_of(
    request: TranslationRequest,
    kinds: Sequence[str] = ("cross",),
    first: str | None = None,
    start: Callable[[str], tuple[int, int]] | None = None,
    *,
    averages: bool = False,
) -> Head:
    """Do the same for a translation, beginning with its default heads unless `start` names others. Raises UserError."""
    trace = results.trace(request)
    shapes = {kind: trace.attention(kind).shape[:2] for kind in kinds}
    return choose_head(shapes, start or partial(results.default_head, request), first, averages=averages)


def take_head(head: Head) -> None:
    """Choose a head from elsewhere than its buttons; to be called in a callback."""
    note_head(head)
    url_state.write_all(head.query())


def note_head(head: Head) -> None:
    """Remember a head for the pages that follow, without a word in this page's address."""
    st.session_state[_NOTED] = head.query()


def _asked(
    shapes: Mapping[str, tuple[int, int]], start: Callable[[str], tuple[int, int]], *, averages: bool
) -> dict[str, str]:
    """Return what the address says and makes sense here; on coming from another page, else, what was chosen there."""
    largest = tuple(max(numbers) for numbers in zip(*shapes.values(), strict=True))
    options = {"kind": tuple(shapes), **_numbers_of(largest, averages=averages)}
    asked = url_state.asked_for(options)
    if set(asked) == {"kind"} and len(shapes) == 1:
        asked = {}  # a page of one kind needs no word on it
    kinds = " ".join(sorted(shapes))  # a view of other kinds has no say in a head that it could not show
    if (
        not url_state.is_new_here(f"head of {kinds}") or asked
    ):  # Back to an address without a head means the one to begin with
        return asked
    noted = st.session_state.get(_NOTED)
    if noted is None or noted["kind"] not in shapes:
        return {}  # another kind's heads mean nothing here
    kept = {key: value for key, value in noted.items() if value in options[key]}
    if len(kept) == 1 or any(noted[key] != AVERAGE for key in noted.keys() - kept.keys()):  # a larger model's head
        kept = Head(noted["kind"], *start(noted["kind"])).query()
    kept = _completed(kept, tuple(shapes), averages=averages)
    st.session_state[_SHOWN] = kept
    url_state.write_all(kept)
    return kept


def _completed(asked: Mapping[str, str], kinds: tuple[str, ...], *, averages: bool) -> dict[str, str]:
    usual = AVERAGE if averages else "1"
    return {"kind": kinds[0], "layer": usual, "head": usual, **asked}


def _buttons(
    label: str,
    options: tuple[str, ...],
    key: str,
    chosen: dict[str, str],
    start: Callable[[str], tuple[int, int]],
) -> None:
    """Show a row of buttons, beside its name by page.css: it shows what the address says and changes it."""
    widget = _widget(key)
    st.session_state[widget] = chosen[key]

    def choose() -> None:
        value = st.session_state[widget] or chosen[key]
        query = {**chosen, key: value}
        if key == "kind":
            query = Head(value, *start(value)).query()
        st.session_state[_NOTED] = query
        url_state.write_all(query)

    st.segmented_control(label, options, required=True, key=widget, on_change=choose, wrap=True)


def _widget(key: str) -> str:
    return f"{key}_buttons"  # the widget's key, which Streamlit forgets where it is not drawn


def _numbers_of(shape: tuple[int, int], *, averages: bool) -> dict[str, tuple[str, ...]]:
    first = (AVERAGE,) if averages else ()
    return {key: (*first, *numbers(count)) for key, count in zip(("layer", "head"), shape, strict=True)}
