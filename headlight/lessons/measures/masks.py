"""Measures of the masks: what a row may read, and what leaks where it may read what comes later."""

from collections.abc import Iterable

import numpy as np

from headlight.app import results
from headlight.app.results import measures
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure
from headlight.plots.numbers import format_probability, percent, pluralize
from headlight.plots.tokens import quoted, quoted_at
from transformer.data.tokenizer import SPACE
from transformer.interpret.mask_ablation import MaskedPass, leaked_weights, leakiest_head, rows_that_may_leak
from transformer.interpret.trace import Trace

from .wording import MOST_OPTIONS, NEAR, NEAR_CHANCES, head_names, readable


@measure
def open_cells(run: Run) -> Answer:
    """Ask how many tokens a row of the decoder's self-attention may read, in the middle of the translation.

    names: layer and head of the decoder to begin with and its first dimension, row (from 1), fed (its own token), and
    length, how many are fed.
    """
    trace = run.trace
    length = len(trace.decoder_input_tokens)
    if length < 5:
        raise Undecided("This translation is too short: its rows are all nearly the first or the last.")
    row = _plain_rows(trace, range(2, length - 1))[0] + 1
    layer, head = results.default_head(run.request, "decoder")
    mask = measures.padded_batch(run.request, run.request.text).target_mask[0, 0]
    may_read = int(mask[row - 1].sum())
    told = {
        may_read: "",
        may_read - 1: "That leaves out the row's own token, which it is fed.",
        may_read + 1: "That would be one too many: the very token that it is to predict.",
        length: "Then it could read the whole translation.",
    }
    return Answer(
        Kind.ONE,
        f"Row {row} may read {pluralize(may_read, 'token')}: its own and all before it.",
        f"Row {row} is fed token {row}: it and the {row - 1} before it are open, the {length - row} after it are not.",
        tuple(Option(str(count), pluralize(count, "token"), words) for count, words in told.items()),
        frozenset({str(may_read)}),
        names={
            **head_names(layer, head),
            "dimension": str(head * run.translator.model.config.d_k + 1),
            "row": str(row),
            "fed": readable(trace.decoder_input_tokens)[row - 1],
            "length": str(length),
        },
    )


@measure
def leak_effect(run: Run) -> Answer:
    """Ask what becomes of the next tokens' probabilities when every row may read what comes later.

    names: layer and head of the decoder to begin with.
    """
    before, after, _ = _probabilities(run)
    mean, without = float(before.mean()), float(after.mean())
    if abs(mean - without) < NEAR_CHANCES:
        raise Undecided("Without the mask the probabilities of this sentence stay nearly the same.")
    right = "fall" if without < mean else "rise"
    told = {
        "rise": "That would be copying. When should it have learned that?",
        "fall": "Then a look ahead would disturb it more than help.",
        "same": "Then a look ahead would count for nothing.",
    } | {right: ""}
    return Answer(
        Kind.ONE,
        f"Their mean goes from {percent(mean)} to {percent(without)}. In training the mask was on: it never had a "
        "later token to read.",
        f"Their mean over {pluralize(len(before), 'step')} is {percent(mean)} with the mask and {percent(without)} "
        "without it.",
        (
            Option("rise", "they rise", told["rise"]),
            Option("fall", "they fall", told["fall"]),
            Option("same", "they hardly change", told["same"]),
        ),
        frozenset({right}),
        names=_first_head(run),
    )


@measure
def leak_spared(run: Run) -> Answer:
    """Ask which token almost keeps its probability when rows may read what comes later: the last, with no later one.

    names: layer and head of the decoder to begin with, and token, the one that is spared.
    """
    before, after, steps = _probabilities(run)
    tokens, last = readable(run.trace.target_tokens), len(steps) - 1
    losses = before - after
    losing = [int(at) for at in np.argsort(-losses[:last], kind="stable")[: MOST_OPTIONS - 1] if losses[at] > NEAR]
    if len(losing) < 2 or abs(losses[last]) > NEAR_CHANCES:
        raise Undecided("Without the mask this sentence does not lose enough to tell its last token from the others.")
    labels = {at: quoted_at(tokens, steps[at], "step") for at in (*losing, last)}
    changes = _changes(before, after, labels)
    return Answer(
        Kind.ONE,
        f"{labels[last]} goes {changes[last]}: its row is the last one, with nothing after it to be read.",
        _all_changes(labels, changes),
        tuple(
            Option(str(steps[at] + 1), label, "" if at == last else f"Its probability goes {changes[at]}.")
            for at, label in labels.items()
        ),
        frozenset({str(steps[last] + 1)}),
        names={**_first_head(run), "token": tokens[steps[last]]},
    )


@measure
def leaked_weight(run: Run) -> Answer:
    """Ask what percentage of its weight a row gives to later tokens without the mask, in the head that leaks most.

    names: that head's layer and head.
    """
    masked, disabled = _passes(run)
    place = leakiest_head(masked, disabled, "decoder", 0)
    if place is None or len(run.trace.target_tokens) < 3:
        raise Undecided("This translation is too short for anything to leak.")
    rows = rows_that_may_leak(masked, disabled, "decoder", 0)
    leaks = leaked_weights(masked, disabled, "decoder", 0)[place][rows]
    mean = float(leaks.mean())
    if mean < NEAR:
        raise Undecided("Without the mask no head of this model reads later tokens much here.")
    return Answer(
        Kind.NUMBER,
        f"Without the mask a row of this head gives {percent(mean)} of its weight to later tokens on average.",
        f"Row by row, without the last, it leaks {', '.join(map(percent, leaks))}. Their mean is {percent(mean)}.",
        value=100 * mean,
        tolerance=100 * NEAR,
        bounds=(0.0, 100.0),
        names=head_names(*place),
    )


@measure
def shifted_row(run: Run) -> Answer:
    """Ask which token a row of the decoder is to predict in training, by the token that it is fed.

    names: row (from 1), fed, following, layer and head of the decoder to begin with.
    """
    trace = run.trace
    row = _distinct_row(trace)
    fed, following = readable(trace.decoder_input_tokens), readable(trace.target_tokens)
    options = {
        following[row]: "",
        fed[row]: "That is the token that the row is fed: to repeat it is no task.",
        fed[row - 1]: "That stands before the token that the row is fed.",
        following[row + 1]: f"That is the task of the next row, which is fed {quoted(fed[row + 1])}.",
    }
    return Answer(
        Kind.ONE,
        f"The row that is fed {quoted(fed[row])} is to predict {quoted(following[row])}, which stands one cell to the "
        "right of the diagonal: masked.",
        f"The tokens fed are {_sequence(fed)}. Each row predicts the next one.",
        tuple(Option(token, quoted(token), told) for token, told in options.items()),
        frozenset({following[row]}),
        names={
            **_first_head(run),
            "row": str(row + 1),
            "fed": fed[row],
            "following": following[row],
        },
    )


def _distinct_row(trace: Trace) -> int:
    """Return a row near the middle, from 0, whose token and neighbours are four. Raises Undecided."""
    fed, following = trace.decoder_input_tokens, trace.target_tokens
    for row in _plain_rows(trace, range(2, len(fed) - 1)):
        near = (fed[row - 1], fed[row], following[row], following[row + 1])
        if len(set(near)) == len(near) and fed.count(fed[row]) == 1:
            return row
    raise Undecided("This translation has no four different tokens in a row.")


def _plain_rows(trace: Trace, rows: range) -> list[int]:
    """Return the rows in order: first those whose token and the next one begin a word, of these the middle ones."""
    fed, following = trace.decoder_input_tokens, trace.target_tokens
    middle = len(fed) // 2

    def order(row: int) -> tuple[int, int]:
        return sum(not token.startswith(SPACE) for token in (fed[row], following[row])), abs(row - middle)

    return sorted(rows, key=order)


def _passes(run: Run) -> tuple[MaskedPass, MaskedPass]:
    """Return the pass over the sentence with all masks, and without the causal mask, beside itself: without padding."""
    masked, disabled = (measures.masked_pass(run.request, run.request.text, mask) for mask in ("nothing", "causal"))
    return masked, disabled


def _probabilities(run: Run) -> tuple[np.ndarray, np.ndarray, range]:
    """Return the next tokens' probabilities with the causal mask and without it, and their steps, forced ones aside."""
    masked, disabled = _passes(run)
    steps = masked.scored_steps[0]
    if len(steps) < 3:
        raise Undecided("This translation is too short for the mask to matter.")
    before, after = (each.target_probabilities[0, steps].astype(np.float64) for each in (masked, disabled))
    return before, after, steps


def _changes(before: np.ndarray, after: np.ndarray, places: Iterable[int]) -> dict[int, str]:
    """Return from what to what the probability of each of these tokens goes without the mask."""
    return {
        at: f"from {format_probability(float(before[at]))} to {format_probability(float(after[at]))}" for at in places
    }


def _all_changes(labels: dict[int, str], changes: dict[int, str]) -> str:
    listed = "; ".join(f"{labels[at]} {changes[at]}" for at in sorted(labels))
    return f"The probabilities with the mask and without: {listed}."


def _first_head(run: Run) -> dict[str, str]:
    """Return layer and head of the decoder to begin with."""
    return head_names(*results.default_head(run.request, "decoder"))


def _sequence(tokens: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, tokens))
