"""Measures of the masks: what a row may read, and what leaks where it may read what comes later."""

from collections.abc import Iterable

import numpy as np

from headlight.app import results
from headlight.app.results import measures
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure
from headlight.plots.numbers import format_probability, percent, pluralize, short_weight
from headlight.plots.tokens import quoted, quoted_at
from transformer.arrays import softmax
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
def masked_weight(run: Run) -> Answer:
    """Ask what weight a row's masked cells have after softmax, in the decoder's head that is shown first.

    names: layer, head and its first dimension, query (from 1), fed (its token), and closed, how many cells are masked.
    """
    layer, head = results.default_head(run.request, "decoder")
    stages, *_ = measures.stages(run.request, "decoder", layer)
    closed = ~stages.unmasked[0]
    scores, weights = stages.scores[0, head], stages.weights[0, head]
    shares = np.where(closed, softmax(scores), 0).sum(axis=-1)
    equal = closed.mean(axis=-1)
    plain = (closed.sum(axis=-1) > 1) & (shares > NEAR) & (equal > NEAR) & (np.abs(shares - equal) > NEAR)
    if not plain.any():
        raise Undecided("In this sentence the masked cells of every row would get too little, or an equal share.")
    row = int(np.where(plain, shares, 0).argmax())
    got = float(weights[row][closed[row]].sum())
    if got:
        raise Undecided("The mask of this model leaves masked cells some weight.")
    count, share = int(closed[row].sum()), float(shares[row])
    return Answer(
        Kind.ONE,
        f"The {pluralize(count, 'masked cell')} of this row get exactly 0. Without the mask, softmax would give "
        f"them {percent(share)} of the row's weight.",
        "Softmax takes exp of each score, and exp(−∞) = 0: nothing of the row's weight is left for such a cell.",
        (
            Option("zero", "exactly zero"),
            Option("scores", f"{percent(share)} in all", "Softmax would give them that if they were not masked."),
            Option("equal", f"{percent(float(equal[row]))} in all", "That would be equal shares for all cells."),
        ),
        frozenset({"zero"}),
        names={
            **head_names(layer, head),
            "dimension": str(head * stages.d_k + 1),
            "query": str(row + 1),
            "fed": readable(run.trace.decoder_input_tokens)[row],
            "closed": str(count),
        },
    )


@measure
def reads_later(run: Run) -> Answer:
    """Ask in which kind of self-attention tokens read what stands after them.

    names: layer and head of the encoder that read most of it.
    """
    later = {kind: _later(run.trace.attention(kind)) for kind in ("encoder", "decoder")}
    means = {kind: float(shares.mean()) if shares.size else 0.0 for kind, shares in later.items()}
    if means["encoder"] < NEAR or len(run.trace.target_tokens) < 3:
        raise Undecided("There is too little after any token here to be read.")
    reading = [kind for kind, mean in means.items() if mean]
    right = reading[0] if len(reading) == 1 else "both"
    told = {
        kind: f"A row of the {kind}'s gives {_exact(mean)} of its weight to later tokens on average."
        for kind, mean in means.items()
    }
    place = np.unravel_index(later["encoder"].argmax(), later["encoder"].shape)
    return Answer(
        Kind.ONE,
        f"A row of the encoder's gives {short_weight(means['encoder'])} of its weight to later tokens on average, one "
        f"of the decoder's {_exact(means['decoder'])}.",
        "The source is there from the start, so that nothing in it is too early to be read; the translation is "
        "written token by token.",
        (
            Option("encoder", "the encoder's alone", told["encoder"] if right != "encoder" else ""),
            Option("decoder", "the decoder's alone", told["decoder"]),
            Option("both", "both", told["decoder"] if right != "both" else ""),
            Option("neither", "neither", told["encoder"]),
        ),
        frozenset({right}),
        names=head_names(int(place[0]), int(place[1])),
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
        "rise": "That would be copying, which the model never learned.",
        "fall": "Then what it reads there would disturb it more than help.",
        "same": "Then what it reads there would count for nothing.",
    } | {right: ""}
    return Answer(
        Kind.ONE,
        f"Their mean goes from {_exact(mean)} to {_exact(without)}. The model was trained with the mask: it never had "
        "a later token to read.",
        f"Their mean over {pluralize(len(before), 'step')} is {_exact(mean)} with the mask and {_exact(without)} "
        "without it.",
        (
            Option("rise", "a rise", told["rise"]),
            Option("fall", "a fall", told["fall"]),
            Option("same", "nearly no change", told["same"]),
        ),
        frozenset({right}),
        names=_first_head(run),
    )


@measure
def leak_worst(run: Run) -> Answer:
    """Ask which next token loses most of its probability when every row may read what comes later.

    names: layer and head of the decoder to begin with, and token, the one that loses most.
    """
    before, after, steps = _probabilities(run)
    tokens = readable(run.trace.target_tokens)
    losses = before - after
    ranked = [int(at) for at in np.argsort(-losses, kind="stable")[:MOST_OPTIONS]]
    if len(ranked) < 3 or losses[ranked[0]] - max(losses[ranked[1]], 0) < NEAR_CHANCES:
        raise Undecided("No token loses clearly more than all others without the mask here.")
    labels = {at: quoted_at(tokens, steps[at], "step") for at in ranked}
    changes = _changes(before, after, ranked)
    worst = ranked[0]
    return Answer(
        Kind.ONE,
        f"{labels[worst]} loses most: its probability goes {changes[worst]}.",
        _all_changes(labels, changes),
        tuple(
            Option(str(steps[at] + 1), labels[at], f"Its probability goes {changes[at]}." if at != worst else "")
            for at in ranked
        ),
        frozenset({str(steps[worst] + 1)}),
        names={**_first_head(run), "token": tokens[steps[worst]]},
    )


@measure
def leak_spared(run: Run) -> Answer:
    """Ask which token keeps its probability when every row may read what comes later: the last, which has no later one.

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
    """Ask what part of its weight a row gives to later tokens without the mask, in the head that leaks most.

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
        f"Without the mask a row of this head gives {_exact(mean)} of its weight to later tokens on average.",
        f"The last column has what each row leaks: {', '.join(map(_exact, leaks))}. Their mean is {_exact(mean)}.",
        value=mean,
        tolerance=NEAR,
        bounds=(0.0, 1.0),
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


def _later(weights: np.ndarray) -> np.ndarray:
    """Return the mean weight on later tokens of all rows but the last: [layers, heads]."""
    later = np.triu(np.asarray(weights, dtype=np.float64), 1).sum(axis=-1)
    return np.asarray(later[..., :-1].mean(axis=-1)) if later.shape[-1] > 1 else np.zeros(0)


def _first_head(run: Run) -> dict[str, str]:
    """Return layer and head of the decoder to begin with."""
    return head_names(*results.default_head(run.request, "decoder"))


def _sequence(tokens: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, tokens))


def _exact(value: float) -> str:
    """Return a share with two decimals; 0 for exactly 0."""
    return f"{value:.2f}" if value else "exactly 0"
