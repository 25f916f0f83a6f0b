"""Rewrite attention: other weights for a head, a layer or all heads, and the run with them."""

import re

import numpy as np
import streamlit as st

from headlight.app import results, state
from headlight.app.choices import from_list, slider
from headlight.app.finding import Templates
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest
from headlight.app.selection import parse_numbers
from headlight.app.widgets import show_attempt, show_translation
from headlight.components.show import translation_table, weight_bars
from headlight.plots.names import KINDS
from transformer.interpret.head_patterns import strongest_word_pair
from transformer.interpret.trace import Trace, keys_of
from transformer.interpret.what_if import intervention as changes
from transformer.interpret.what_if.intervention import EVERY_ROW, Intervention, Rows
from transformer.model.heads import Head, Heads
from transformer.model.names import Name

from .facts import outcome_facts, rewriting_facts

_WEIGHTS = re.compile(r"[01](?:\.[0-9]{1,4})?(?:-[01](?:\.[0-9]{1,4})?)*")


class Action(Name):
    """Change of the weights."""

    FORBID = "forbid a token"
    FOCUS = "all on one token"
    SHIFT = "shift by one"
    UNIFORM = "uniform"
    BY_HAND = "by hand"


# Whose weights: of all heads of the kind, of the chosen one's layer, or its own; in which rows: a decoder's row is a
# step of the decoding, an encoder's a token of the source.
SCOPES = _KIND, _LAYER, _HEAD = "all heads", "this layer", "this head"
CONCERNED = _EVERY, _ON, _ONE = "every row", "from this row on", "this row"


TEMPLATES = Templates.beside(__file__)


def heads_of(scope: str, chosen: Head) -> Heads:
    """Return the heads whose weights are rewritten."""
    layer, head = None if scope == _KIND else chosen.layer, chosen.head if scope == _HEAD else None
    return Heads.of(chosen.kind, layer, head)


def rows_of(concerned: str, row: int) -> Rows:
    """Return the rows that are rewritten; the chosen one counts from 0."""
    return EVERY_ROW if concerned == _EVERY else Rows(row, row if concerned == _ONE else None)


def interventions_of(
    action: str, heads: Heads, rows: Rows, key: int, weights: tuple[float, ...] | None
) -> tuple[Intervention, ...]:
    """Return the change that a run is asked for; none by hand without weights."""
    match action:
        case Action.FORBID:
            return (changes.Forbid.of(heads, key=key, rows=rows),)
        case Action.FOCUS:
            return (changes.Focus.of(heads, key=key, rows=rows),)
        case Action.SHIFT:
            return (changes.Shift.of(heads, rows=rows),)
        case Action.UNIFORM:
            return (changes.Uniform.of(heads, rows=rows),)
    return (changes.SetWeights.of(heads, weights=weights, rows=rows),) if weights else ()


def weights_in(text: str, keys: int) -> tuple[float, ...] | None:
    """Return the weights that a text of an address names, "0.5-0.25-0.25", one a key; None where it does not."""
    if len(text) > 10_000 or not _WEIGHTS.fullmatch(text):
        return None
    weights = tuple(map(float, text.split("-")))
    return weights if len(weights) == keys and sum(weights) > 0 else None


def bars_payload(head: Head, row: int, key: int, before: Trace, forced: Trace) -> dict:
    """Return the payload of `components.weight_bars`, ready for JSON: a row's keys with their weights before and after.

    key: the one that the change is about, -1 for none.
    """
    kind = head.kind
    tokens = keys_of(before, kind)[: row + 1 if kind == "decoder" else None]
    old, new = (trace.attention(kind)[head.layer, head.head, row, : len(tokens)].tolist() for trace in (before, forced))
    return {
        "tokens": list(tokens),
        "before": [round(weight, 4) for weight in old],
        "after": [round(weight, 4) for weight in new],
        "key": key,
        "kind": kind,
        "row": row,
        "row_token": (before.source_tokens if kind == "encoder" else before.target_tokens)[row],
    }


def show(request: TranslationRequest) -> None:
    """Show a head's row of weights to change by buttons or by hand, and both runs. Raises UserError."""
    trace = show_translation(request)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="rewriting"):
        head = choose_head_of(request, KINDS, "cross")
        action = from_list([str(each) for each in Action], "rewrite", width=155, visibility="collapsed")
        scope = from_list(SCOPES, "rewrite_heads", width=120, visibility="collapsed")
    left, right = st.columns([8, 12], gap="medium")
    with left:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            row, key, weights = _places(trace, head)
            concerned = from_list(CONCERNED, "rewrite_rows", width=160, visibility="collapsed")
        change = interventions_of(action, heads_of(scope, head), rows_of(concerned, row), key, weights)
        forced = after = trace
        if change:
            forced, after = (results.study(request).under(*change, same_target=same).trace for same in (True, False))
        marked = key if action in (Action.FORBID, Action.FOCUS) else -1
        payload = bars_payload(head, row, marked, trace, forced)
        weight_bars(payload, "weight_bars", lambda key: state.go(rewrite_key=key), _take_by_hand)
        st.caption(TEMPLATES.text(action))
    with right:
        rewriting = rewriting_facts(*change) if change else None
        translation_table(outcome_facts(trace, forced.target_probabilities, after, rewriting), "outcome")
    show_attempt(TEMPLATES.text("attempt"))


def _places(trace: Trace, head: Head) -> tuple[int, int, tuple[float, ...] | None]:
    """Show the choice of a row; return row, key and weights by hand, from the address where they fit the model."""
    weights, is_decoder = trace.attention(head.kind)[head.layer, head.head], head.kind == "decoder"
    others = weights if head.kind == "cross" else weights * ~np.eye(len(weights), dtype=bool)  # than its own token
    row, key = strongest_word_pair(others, keys_of(trace, head.kind)) or (0, 0)
    if len(weights) > 1:
        label = TEMPLATES.text("row") if head.kind == "encoder" else ""
        row = slider("rewrite_row", (1, len(weights)), start=row + 1, label=label) - 1
    keys = row + 1 if is_decoder else weights.shape[1]
    key = next(iter(parse_numbers(state.value("rewrite_key"), weights.shape[1])), key)
    return row, min(key, keys - 1), weights_in(state.value("rewrite_weights"), keys)


def _take_by_hand(weights: str) -> None:
    """Write drawn weights into the address, and choose the change by hand."""
    state.go(rewrite_weights=weights, rewrite=str(Action.BY_HAND))
