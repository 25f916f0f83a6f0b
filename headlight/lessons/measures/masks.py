"""Measures of the masks: the tokens that a row may read, and the leaks from later ones without the causal mask."""

from typing import Any
from zlib import crc32

import numpy as np

from headlight.app.finding import TokenAt
from headlight.lessons.answer import Answer, Option, Run, Undecided, measure, one_of, percentage
from transformer.data.tokenizer import SPACE
from transformer.interpret.mask_ablation import MaskedPass, leaked_weights, rows_that_may_leak
from transformer.interpret.trace import Trace
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .wording import NEAR, NEAR_CHANCES, first_head, head_names, readable


@measure
def open_cells(run: Run) -> Answer:
    """Ask how many tokens a row of the decoder's self-attention may read, in the middle of the translation.

    names: layer and head of the decoder to begin with and its first dimension, row, fed (its own token), length, how
    many are fed, before and after, how many of these stand before the row's and after it, and count, how many are open.
    """
    fed = run.trace.decoder_input_tokens
    length = len(fed)
    if length < 5:
        raise Undecided("too_few_rows")
    row = _plain_rows(run.trace, range(2, length - 1))[0]
    mask = run.study.beside(run.study).target_mask[0, 0]
    may_read = int(mask[row].sum())
    names = first_head(run, "decoder") | {"row": row, "fed": readable(fed)[row]}
    names |= {"length": length, "before": row, "after": length - row - 1}
    options = {may_read: "right", may_read - 1: "before", may_read + 1: "next", length: "all"}
    return one_of(
        (Option(str(count), values={"count": count}, tells=name) for count, name in options.items()),
        str(may_read),
        **names,
    )


@measure
def leak_effect(run: Run) -> Answer:
    """Ask for the mean of the next tokens' probabilities when every row may read what comes later.

    names: layer and head of the decoder to begin with, both means, with_mask and without_mask, probabilities without
    the mask, steps, how many, and token, the one that changes most like the mean, with its before and after.
    """
    before, after, changes = _probabilities(run)
    mean, without = float(before.mean()), float(after.mean())
    if mean - without < NEAR_CHANCES:
        raise Undecided("no_effect_of_mask")
    example = int(np.abs(before - after - (mean - without)).argmin())
    means = {"with_mask": mean, "without_mask": without}
    probabilities = {"probabilities": tuple(map(float, after)), "steps": len(after)}
    return percentage(without, **first_head(run, "decoder"), **means, **probabilities, **changes[example])


@measure
def lost_to_leak(run: Run) -> Answer:
    """Ask which token's probability falls most when rows may read what comes later.

    The last row does not count: it has nothing later to read. names: layer and head of the decoder to begin with, and
    token, the one that loses most, with its probability before and after, without the mask.
    """
    before, after, changes = _probabilities(run)
    losses = (before - after)[:-1]
    ranked = [int(at) for at in np.argsort(-losses, kind="stable")]
    behind = [at for at in ranked if losses[ranked[0]] - losses[at] >= NEAR]
    if losses[ranked[0]] < NEAR or len(behind) < 2:
        raise Undecided("no_loss")
    chosen = sorted({ranked[0], behind[0], behind[len(behind) // 2], behind[-1]})
    steps = {at: changes[at]["token"].position + 1 for at in chosen}
    options = (Option(str(steps[at]), value=float(losses[at]), values=changes[at]) for at in chosen)
    return one_of(options, **first_head(run, "decoder"))


@measure
def leaked_weight(run: Run) -> Answer:
    """Ask what percentage of its weight a row gives to later tokens without the mask: in another head per sentence.

    names: layer and head, its mean and what each row leaks, leaks, leakiest and most: the head that leaks most, and
    how much.
    """
    masked, disabled = _passes(run)
    if len(run.trace.target_tokens) < 3:
        raise Undecided("no_rows_that_leak")
    rows = rows_that_may_leak(masked, disabled, "decoder", 0)
    leaked = leaked_weights(masked, disabled, "decoder", 0)[..., rows]
    means = {head: float(leaked[head].mean()) for head in np.ndindex(leaked.shape[:2])}
    leakiest = max(means, key=means.__getitem__)
    heads = [head for head in means if NEAR <= means[head] <= means[leakiest] - NEAR]
    if not heads:
        raise Undecided("no_leak")
    head = heads[crc32(run.request.text.encode()) % len(heads)]
    most = {"leakiest": Head(AttentionKind.DECODER, *leakiest), "most": means[leakiest]}
    return percentage(means[head], **head_names(*head), mean=means[head], leaks=tuple(map(float, leaked[head])), **most)


@measure
def shifted_row(run: Run) -> Answer:
    """Ask which token a row of the decoder is to predict in training, by the token that it is fed.

    names: row, fed, following, all_fed (all tokens that are fed), next_fed (that of the next row), layer and head of
    the decoder to begin with.
    """
    row = _distinct_row(run.trace)
    fed, following = readable(run.trace.decoder_input_tokens), readable(run.trace.target_tokens)
    names = first_head(run, "decoder") | {"row": row, "fed": fed[row], "following": following[row]}
    names |= {"all_fed": fed, "next_fed": fed[row + 1]}
    options = {"following": following[row], "fed": fed[row], "before": fed[row - 1], "next": following[row + 1]}
    return one_of(
        (Option(token, values={"token": token}, tells=name) for name, token in options.items()),
        following[row],
        **names,
    )


def _distinct_row(trace: Trace) -> int:
    """Return a row near the middle, from 0, whose token and neighbours are four. Raises Undecided."""
    fed, following = trace.decoder_input_tokens, trace.target_tokens
    for row in _plain_rows(trace, range(2, len(fed) - 1)):
        near = (fed[row - 1], fed[row], following[row], following[row + 1])
        if len(set(near)) == len(near) and fed.count(fed[row]) == 1:
            return row
    raise Undecided("no_different_tokens")


def _plain_rows(trace: Trace, rows: range) -> list[int]:
    """Return the rows in order: first those whose token and the next one begin a word, of these the middle ones."""
    fed, following = trace.decoder_input_tokens, trace.target_tokens
    beginnings = [one.startswith(SPACE) + other.startswith(SPACE) for one, other in zip(fed, following, strict=True)]
    return sorted(rows, key=lambda row: (-beginnings[row], abs(row - len(fed) // 2)))


def _passes(run: Run) -> tuple[MaskedPass, MaskedPass]:
    """Return the pass over the sentence with all masks, and without the causal mask, beside itself: without padding."""
    masked, disabled = (run.study.masked(run.study, mask) for mask in ("nothing", "causal"))
    return masked, disabled


def _probabilities(run: Run) -> tuple[np.ndarray, np.ndarray, list[dict[str, Any]]]:
    """Return the next tokens' probabilities with the causal mask and without it, and names of each token with both.

    Tokens of forced steps have none.
    """
    masked, disabled = _passes(run)
    steps = masked.scored_steps[0]
    if len(steps) < 3:
        raise Undecided("too_few_steps")
    before, after = (each.target_probabilities[0, steps].astype(np.float64) for each in (masked, disabled))
    pairs, tokens = zip(steps, before, after, strict=True), readable(run.trace.target_tokens)
    names = [{"token": TokenAt(tokens, at, "step"), "before": float(b), "after": float(a)} for at, b, a in pairs]
    return before, after, names
