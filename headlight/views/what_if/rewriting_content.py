"""Rewritten attention: what is rewritten, as the address has it and as a run takes it; the bars; and in words."""

import re
from collections.abc import Callable

import numpy as np

from headlight.plots.text import format_probability, kind_words, one_head_name, quoted, quoted_at
from transformer.interpret.trace import Trace
from transformer.interpret.what_if import intervention as changes
from transformer.interpret.what_if.intervention import EVERY_ROW, Heads, Intervention, Rows
from transformer.model.names import AttentionKind, Name

from .change_content import outcome_words

_WEIGHTS = re.compile(r"[01](?:\.[0-9]{1,4})?(?:-[01](?:\.[0-9]{1,4})?)*")


class Action(Name):
    """What is done to the weights."""

    FORBID = "forbid a token"
    FOCUS = "all on one token"
    SHIFT = "shift by one"
    UNIFORM = "uniform"
    BY_HAND = "by hand"


# Whose weights: of all heads of the kind, of the chosen one's layer, or its own; in which rows: a decoder's row is a
# step of the decoding, an encoder's a token of the source.
SCOPES = _KIND, _LAYER, _HEAD = "all heads of the kind", "all heads of the layer", "this head alone"
CONCERNED = _EVERY, _ON, _ONE = "every row", "from this row on", "this row alone"

_DRAG = "drag a bar to set the weights by hand"
EXPLAINED = {
    Action.FORBID: "The chosen token gets no weight, and the row is divided by the sum of what is left, as if the "
    f"token were masked; a row with no other token attends to nothing. Click another token to forbid it, or {_DRAG}.",
    Action.FOCUS: "The chosen token gets the weight 1. A row that may not attend to it stays as it is. Click another "
    f"token, or {_DRAG}.",
    Action.SHIFT: "Each weight moves to the next token on the right; what falls beyond the end is lost, and the row is "
    f"divided by the sum of what is left. A row that would lose all stays as it is. Or {_DRAG}.",
    Action.UNIFORM: f"Every token that the row may attend to gets the same weight. Or {_DRAG}.",
    Action.BY_HAND: "Drag a bar: the others are scaled so that the row still sums to 1. All rows that are changed get "
    "these weights, over the tokens that they may attend to.",
}


def heads_of(scope: str, kind: str, layer: int | None, head: int | None) -> Heads:
    """Return the heads whose weights are rewritten; layer and head count from 0."""
    return Heads(AttentionKind(kind), None if scope == _KIND else layer, head if scope == _HEAD else None)


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


def keys_of(trace: Trace, kind: str) -> tuple[str, ...]:
    """Return the tokens that a kind of attention reads."""
    return trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens


def bars_payload(head: tuple[str, int | None, int | None], row: int, key: int, before: Trace, forced: Trace) -> dict:
    """Return what `components.weight_bars` shows, ready for JSON: a row's keys with their weights before and after.

    key: the one that the change is about, -1 for none.
    """
    kind, layer, number = head
    tokens = keys_of(before, kind)[: row + 1 if kind == "decoder" else None]
    old, new = (trace.attention(kind)[layer, number, row, : len(tokens)].tolist() for trace in (before, forced))
    return {
        "tokens": list(tokens),
        "before": [round(weight, 4) for weight in old],
        "after": [round(weight, 4) for weight in new],
        "key": key,
        "title": _row_name(kind, row, before),
    }


def _row_name(kind: str, row: int, trace: Trace) -> str:
    if kind == "encoder":
        return f"the row of {quoted(trace.source_tokens[row])}"
    return f"step {row + 1}, input token {quoted(trace.decoder_input_tokens[row])}"


def describe_rewriting(change: Intervention, before: Trace, forced: Trace, after: Trace) -> str:
    """Say what was done to which weights, and what became of the translation."""
    kind, layer, head = change.heads.kind, change.layer, change.head
    whose = kind_words(kind) if layer is None else f"{kind_words(kind)} layer {layer + 1}"
    whose = f"all heads of {'the ' if layer is None else ''}{whose}"
    if layer is not None and head is not None:
        whose = f"{kind_words(kind)} {one_head_name(layer, head)}"
    key = quoted_at(keys_of(before, kind), getattr(change, "key", 0))
    done, every = {
        changes.Forbid: (f"{key} hidden from {whose}", "in every row that may attend to it"),
        changes.Focus: (f"all weight of {whose} on {key}", "in every row that may attend to it"),
        changes.Shift: (f"the weights of {whose} shifted by one token", "in every row that has another token"),
        changes.Uniform: (f"uniform weights in {whose}", "in every row"),
        changes.SetWeights: (f"these weights in {whose}", "in every row that may attend to their tokens"),
    }[type(change)]
    row = _row_name(kind, change.rows.first, before)
    where = every if change.rows == EVERY_ROW else f"from {row} on" if change.rows.last is None else f"in {row} alone"
    return f"With {done} {where}, {outcome_words(before, forced, after)}"


def describe_next(old: np.ndarray, new: np.ndarray, name: Callable[[int], str]) -> str:
    """Say the most probable next token before and after, and how much probability moved in all."""
    first, now = int(old.argmax()), int(new.argmax())
    moved = float(np.abs(new.astype(np.float64) - old).sum()) / 2
    return (
        f"Most probable before: {quoted(name(first))}, {format_probability(old[first])}, now "
        f"{format_probability(new[first])}. Most probable now: {quoted(name(now))}, {format_probability(new[now])}, "
        f"before {format_probability(old[now])}. In all {format_probability(moved)} of the probability moved."
    )
