"""Measures of the masks: the tokens that a row may read, and the leaks from later ones without the causal mask."""

from typing import Any
from zlib import crc32

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure
from headlight.plots.names import one_head_name
from headlight.plots.numbers import format_probability, percent, pluralize
from headlight.plots.tokens import quoted, quoted_at
from transformer.data.tokenizer import SPACE
from transformer.interpret.mask_ablation import MaskedPass, leaked_weights, rows_that_may_leak
from transformer.interpret.trace import Trace

from .wording import NEAR, NEAR_CHANCES, head_names, in_percent, readable


@measure
def open_cells(run: Run) -> Answer:
    """Ask how many tokens a row of the decoder's self-attention may read, in the middle of the translation.

    names: layer and head of the decoder to begin with and its first dimension, row, fed (its own token), and length,
    how many are fed.
    """
    trace = run.trace
    length = len(trace.decoder_input_tokens)
    if length < 5:
        raise Undecided("This translation is too short: its rows are all nearly the first or the last.")
    row = _plain_rows(trace, range(2, length - 1))[0]
    layer, head = results.default_head(run.request, "decoder").index
    mask = run.study.beside(run.study).target_mask[0, 0]
    may_read = int(mask[row].sum())
    feedback = {
        may_read: "",
        may_read - 1: "That leaves out the row's own token, which it is fed.",
        may_read + 1: "That would be one too many: the very token that it is to predict.",
        length: "Then it could read the whole translation.",
    }
    return Answer(
        Kind.ONE,
        f"Row {row + 1} may read {pluralize(may_read, 'token')}: its own and all before it.",
        f"Row {row + 1} is fed token {row + 1}: it and the {row} before it are open, the {length - row - 1} after it "
        "are not.",
        tuple(Option(str(count), pluralize(count, "token"), text) for count, text in feedback.items()),
        {str(may_read)},
        names=head_names(layer, head)
        | {"dimension": head * run.translator.model.config.d_k, "row": row, "length": length}
        | {"fed": readable(trace.decoder_input_tokens)[row]},
    )


@measure
def leak_effect(run: Run) -> Answer:
    """Ask for the mean of the next tokens' probabilities when every row may read what comes later.

    names: layer and head of the decoder to begin with, both means, with_mask and without_mask, and example and change,
    the token that changes most like the mean, and how.
    """
    before, after, steps = _probabilities(run)
    mean, without = float(before.mean()), float(after.mean())
    if mean - without < NEAR_CHANCES:
        raise Undecided("Without the mask the probabilities of this sentence stay nearly the same.")
    example = int(np.abs(before - after - (mean - without)).argmin())
    return Answer(
        Kind.NUMBER,
        f"Their mean falls from {percent(mean)} to {percent(without)}. In training the mask was on: the model never "
        "had a later token to read.",
        f"Over {pluralize(len(before), 'step')} their probabilities without the mask are "
        f"{', '.join(format_probability(float(each)) for each in after)}: the mean is {percent(without)}.",
        **in_percent(without),
        names=_first_head(run)
        | {"with_mask": mean, "without_mask": without, "change": _from_to(before[example], after[example])}
        | {"example": quoted_at(readable(run.trace.target_tokens), steps[example], "step")},
    )


@measure
def lost_to_leak(run: Run) -> Answer:
    """Ask which token's probability falls most when rows may read what comes later.

    The last row does not count: it has nothing later to read. names: layer and head of the decoder to begin with, and
    token, the one that loses most.
    """
    before, after, steps = _probabilities(run)
    before, after = before[:-1], after[:-1]
    tokens, losses = readable(run.trace.target_tokens), before - after
    ranked = [int(at) for at in np.argsort(-losses, kind="stable")]
    behind = [at for at in ranked if losses[ranked[0]] - losses[at] >= NEAR]
    if losses[ranked[0]] < NEAR or len(behind) < 2:
        raise Undecided("Without the mask no token of this translation loses plainly more than all others.")
    shown = [ranked[0], behind[0], behind[len(behind) // 2], behind[-1]]
    labels = {at: quoted_at(tokens, steps[at], "step") for at in shown}
    changes = {at: _from_to(before[at], after[at]) for at in labels}
    listed = "; ".join(f"{labels[at]} {changes[at]}" for at in sorted(labels))
    return Answer(
        Kind.ONE,
        f"{labels[ranked[0]]} loses most: it goes {changes[ranked[0]]}.",
        f"The probabilities with the mask and without: {listed}.",
        tuple(
            Option(str(steps[at] + 1), label, f"Its probability goes {changes[at]}.", float(losses[at]))
            for at, label in labels.items()
        ),
        {str(steps[ranked[0]] + 1)},
        names=_first_head(run) | {"token": tokens[steps[ranked[0]]]},
    )


@measure
def leaked_weight(run: Run) -> Answer:
    """Ask what percentage of its weight a row gives to later tokens without the mask: in another head per sentence.

    names: layer and head, leakiest and most: the head that leaks most, and how much.
    """
    masked, disabled = _passes(run)
    if len(run.trace.target_tokens) < 3:
        raise Undecided("This translation is too short for anything to leak.")
    rows = rows_that_may_leak(masked, disabled, "decoder", 0)
    leaked = leaked_weights(masked, disabled, "decoder", 0)[..., rows]
    means = {head: float(leaked[head].mean()) for head in np.ndindex(leaked.shape[:2])}
    leakiest = max(means, key=means.__getitem__)
    heads = [head for head in means if NEAR <= means[head] <= means[leakiest] - NEAR]
    if not heads:
        raise Undecided("Without the mask no head of this model reads later tokens much here.")
    head = heads[crc32(run.request.text.encode()) % len(heads)]
    leaks, mean = leaked[head], means[head]
    return Answer(
        Kind.NUMBER,
        f"Without the mask a row of this head gives {percent(mean)} of its weight to later tokens on average.",
        f"Row by row, without the last, it leaks {', '.join(map(percent, leaks))}. Their mean is {percent(mean)}.",
        **in_percent(mean),
        names=head_names(*head) | {"leakiest": one_head_name(*leakiest), "most": means[leakiest]},
    )


@measure
def shifted_row(run: Run) -> Answer:
    """Ask which token a row of the decoder is to predict in training, by the token that it is fed.

    names: row, fed, following, layer and head of the decoder to begin with.
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
        f"The tokens fed are {', '.join(map(quoted, fed))}. Each row predicts the next one.",
        tuple(Option(token, quoted(token), feedback) for token, feedback in options.items()),
        {following[row]},
        names=_first_head(run) | {"row": row, "fed": fed[row], "following": following[row]},
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
    masked, disabled = (run.study.masked(run.study, mask) for mask in ("nothing", "causal"))
    return masked, disabled


def _probabilities(run: Run) -> tuple[np.ndarray, np.ndarray, range]:
    """Return the next tokens' probabilities with the causal mask and without it, and their steps, forced ones aside."""
    masked, disabled = _passes(run)
    steps = masked.scored_steps[0]
    if len(steps) < 3:
        raise Undecided("This translation is too short for the mask to matter.")
    before, after = (each.target_probabilities[0, steps].astype(np.float64) for each in (masked, disabled))
    return before, after, steps


def _from_to(before: float, after: float) -> str:
    return f"from {format_probability(float(before))} to {format_probability(float(after))}"


def _first_head(run: Run) -> dict[str, Any]:
    """Return layer and head of the decoder to begin with."""
    return head_names(*results.default_head(run.request, "decoder").index)
