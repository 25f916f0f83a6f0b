"""Sentences on attention that was rewritten, and on the next token before and after."""

from collections.abc import Callable

import numpy as np

from headlight.plots.text import chance_words, kind_words, one_head_name, quoted, quoted_at
from transformer.interpret.trace import Trace

from .change_text import outcome_words
from .rewriting_payload import Action, Concerned, Rewriting, Scope, row_name

_DRAG = "drag a bar to set the weights by hand"
EXPLAINED = {
    Action.FORBID: "The chosen token gets no weight, and the row is divided by the sum of what is left, as if the "
    f"token were masked. Click another token to forbid it, or {_DRAG}.",
    Action.FOCUS: "The chosen token gets the weight 1. A row that may not attend to it stays as it is. Click another "
    f"token, or {_DRAG}.",
    Action.SHIFT: "Each weight moves to the next token on the right; what falls beyond the end is lost, and the row is "
    f"divided by the sum of what is left. Or {_DRAG}.",
    Action.UNIFORM: f"Every token that the row may attend to gets the same weight. Or {_DRAG}.",
    Action.BY_HAND: "Drag a bar: the others are scaled so that the row still sums to 1. All rows that are changed get "
    "these weights, over the tokens that they may attend to.",
}


def describe_rewriting(rewriting: Rewriting, before: Trace, forced: Trace, after: Trace) -> str:
    """What was done to which weights, and what became of the translation."""
    if rewriting.intervention is None:
        return "Nothing is changed yet: drag a bar."
    return f"With {_what(rewriting, before)} {outcome_words(before, forced, after)}"


def _what(rewriting: Rewriting, trace: Trace) -> str:
    tokens = trace.fed_tokens if rewriting.kind == "decoder" else trace.source_tokens
    key = quoted_at(tokens, rewriting.key)
    done = {
        Action.FORBID: f"{key} hidden from {_whom(rewriting)}",
        Action.FOCUS: f"all weight of {_whom(rewriting)} on {key}",
        Action.SHIFT: f"the weights of {_whom(rewriting)} shifted by one token",
        Action.UNIFORM: f"uniform weights in {_whom(rewriting)}",
        Action.BY_HAND: f"these weights in {_whom(rewriting)}",
    }[rewriting.action]
    where = {
        Concerned.EVERY: "in every row",
        Concerned.ON: f"from {row_name(rewriting, trace)} on",
        Concerned.ONE: f"in {row_name(rewriting, trace)} alone",
    }[rewriting.concerned]
    return f"{done} {where},"


def _whom(rewriting: Rewriting) -> str:
    name = kind_words(rewriting.kind)
    if rewriting.scope == Scope.KIND:
        return f"all heads of the {name}"
    if rewriting.scope == Scope.LAYER:
        return f"all heads of {name} layer {rewriting.layer + 1}"
    return f"{name} {one_head_name(rewriting.layer, rewriting.head)}"


def describe_next(old: np.ndarray, new: np.ndarray, name: Callable[[int], str]) -> str:
    """The most probable next token before and after, and how much probability moved in all."""
    first, now = int(old.argmax()), int(new.argmax())
    moved = float(np.abs(new.astype(np.float64) - old).sum()) / 2
    fate = f"{quoted(name(first))} goes from {chance_words(old[first])} to {chance_words(new[first])}"
    if now == first:
        fate += " and stays the most probable"
    else:
        chances = f"{chance_words(new[now])} (before {chance_words(old[now])})"
        fate += f"; the most probable is now {quoted(name(now))} with {chances}"
    return f"{fate}. In all {chance_words(moved)} of the probability moved to other tokens."
