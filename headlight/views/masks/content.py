"""Sentences on masks, computed from a pass over a batch: what they cover, and what leaks without them."""

import numpy as np

from headlight.plots.text import (
    format_distinct,
    format_error,
    format_probability,
    head_name,
    percent,
    pluralize,
    quoted,
    signed,
)
from transformer.data.batching import BatchView
from transformer.interpret import mask_ablation
from transformer.interpret.mask_ablation import MaskedHead, MaskedPass

ROUNDING = 1e-6  # probabilities of two passes that differ by less have not changed


def describe_shapes(batch: BatchView) -> str:
    """List the shapes of the batch and of its masks, and how much of it is padding."""
    sentences, source, target = (
        len(batch.source_tokens),
        len(batch.source_tokens[0]),
        len(batch.decoder_input_tokens[0]),
    )
    cells = sentences * (source + target)
    return (
        f"source {[sentences, source]}, decoder input {[sentences, target]}, "
        f"{cells - sum(batch.source_lengths) - sum(batch.target_lengths)} of {cells} positions padding; source_mask "
        f"{list(batch.source_mask.shape)}, the same for all heads and queries; target_mask "
        f"{list(batch.target_mask.shape)}, the target's padding mask {list(batch.target_padding_mask.shape)} and the "
        f"causal mask {list(batch.causal_mask.shape)} together."
    )


def describe_masks(batch: BatchView, sentence: int) -> str:
    """Count the cells that each of the decoder's masks covers, and say which rows the padding mask concerns."""
    size, real = len(batch.decoder_input_tokens[sentence]), batch.target_lengths[sentence]
    padding = int((~batch.target_padding_mask[sentence, 0, 0]).sum()) * size
    causal, together = int((~batch.causal_mask).sum()), int((~batch.target_mask[sentence, 0]).sum())
    counts = (
        f"Of {size * size} cells the padding mask covers {padding}, the causal mask {causal}, both together {together}."
    )
    if not padding:
        return f"{counts} None of its rows is padding: compare with a longer or shorter sentence."
    return (
        f"{counts} In the first {pluralize(real, 'row')}, of real tokens, the causal mask alone decides: padding is "
        "always later. Only rows of padding could attend to padding, and their output is discarded."
    )


def describe_source_mask(batch: BatchView, sentence: int) -> str:
    """Count what the padding mask of the source covers in the encoder and in cross-attention."""
    source, target = len(batch.source_tokens[sentence]), len(batch.decoder_input_tokens[sentence])
    masked = int((~batch.source_mask[sentence, 0, 0]).sum())
    return (
        f"It covers {masked} of {source} columns for sentence {sentence + 1}: {masked * source} of {source * source} "
        f"cells in every encoder head, {masked * target} of {target * source} in every cross-attention head."
    )


def describe_head(head: MaskedHead) -> str:
    """Say what softmax would give to this head's masked cells if they were not masked."""
    masked = int((~head.unmasked).sum())
    if not masked:
        return f"All {head.unmasked.size} cells are unmasked: choose the other sentence or the decoder for masked ones."
    share = mask_ablation.masked_share(head)
    row = int(share.argmax())
    rows = ~head.unmasked[: head.real_queries].all(axis=1)
    return (
        f"The mask covers {masked} of {head.unmasked.size} cells. Without it, softmax of these scores would give them "
        f"{percent(float(share[rows].mean()))} of a row's weight on average over rows with masked cells, and "
        f"{percent(float(share[row]))} in row {row + 1}{_row_name(head, row)}. With it they get exactly 0."
    )


def describe_check(head: MaskedHead) -> str:
    """Say how exactly scores and mask explain the weights, and the weights the model's output."""
    return (
        "Checked over the whole map: softmax of the masked scores differs from the weights by "
        f"{format_error(mask_ablation.softmax_difference(head))} at most, weights times values from the fused kernel's "
        f"output by {format_error(head.kernel_difference)}."
    )


def describe_leak(masked: MaskedPass, disabled: MaskedPass, head: MaskedHead) -> str:
    """Say how much of this head's weight leaks without the mask, and which head leaks most; "" if nothing can."""
    may_leak = mask_ablation.rows_that_may_leak(masked, disabled, head.kind, head.sentence)
    leaked = mask_ablation.leaked_weights(masked, disabled, head.kind, head.sentence)[..., may_leak]
    if not leaked.size:
        return ""
    leaks, means = leaked[head.layer, head.head], leaked.mean(axis=-1)
    layer, number = np.unravel_index(means.argmax(), means.shape)
    row = int(np.flatnonzero(may_leak)[leaks.argmax()])
    mean, highest, largest = format_distinct(leaks.mean(), leaks.max(), means.max())
    most = "No head of this kind leaks more."
    if (layer, number) != (head.layer, head.head):
        other = head_name(int(layer), int(number), head.layers, head.heads)
        most = f"Try {other}, where the most leaks on average: {largest}."
    return (
        f"Without the mask {mean} of a row's weight goes to "
        f"{'later tokens' if disabled.disabled == 'causal' else '<pad>'}, on average over rows with masked cells, and "
        f"{highest} in row {row + 1}{_row_name(head, row)}. {most}"
    )


def describe_answer(disabled: MaskedPass, head: MaskedHead) -> str:
    """Say how much of a decoder head's weight lies on the token that its row is to predict, one column to the right."""
    rows = np.arange(head.real_queries - 1)
    if not len(rows):
        return ""
    answer = disabled.decoder.weights[head.layer, head.sentence, head.head, rows, rows + 1]
    return f"In this head the next token itself, right of the diagonal, gets {answer.mean():.2f} on average."


def describe_predictions(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> str:
    """Say what disabling the mask did to the next tokens' probabilities: the largest change, the mean, the top-1."""
    steps = masked.target_lengths[sentence]
    before, after = (run.target_probabilities[sentence, :steps] for run in (masked, disabled))
    step = int(np.abs(after - before).argmax())
    if abs(after[step] - before[step]) <= ROUNDING:
        return f"No next token's probability changes by more than {format_error(ROUNDING)}."
    had, has, mean, mean_without = (
        format_probability(float(value)) for value in (before[step], after[step], before.mean(), after.mean())
    )
    firsts = zip(masked.best_tokens[sentence][:steps], disabled.best_tokens[sentence][:steps], strict=True)
    return (
        f"Step {step + 1} changed most: {quoted(masked.target_tokens[sentence][step])} has {has} without the mask, "
        f"{had} with it. Over {pluralize(steps, 'step')} the next token's probability is {mean_without} on average "
        f"without the mask, {mean} with it; it rose in {int((after - before > ROUNDING).sum())} and fell in "
        f"{int((before - after > ROUNDING).sum())}. The top-1 prediction is another one at "
        f"{sum(one != other for one, other in firsts)}."
    )


def describe_cheating(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> str:
    """Say whether attending to the next token helped this model, and what a model trained so would learn."""
    steps = masked.target_lengths[sentence]
    gain = float((disabled.target_probabilities - masked.target_probabilities)[sentence, :steps].mean())
    return (
        f"Attending to the next token changes its probability by {signed(gain, 2)} on average. These tokens are the "
        "model's own choices, made with the mask: it never learned to copy from later tokens. A model trained without "
        "the mask would learn to, and be useless for decoding, where that column does not exist yet."
    )


def describe_no_padding(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> str:
    """Say that disabling the padding mask changed nothing for a sentence without padding, and the largest change."""
    steps = masked.target_lengths[sentence]
    change = float(np.abs(disabled.target_probabilities - masked.target_probabilities)[sentence, :steps].max())
    return (
        f"The source of sentence {sentence + 1} has no padding, so without its mask nothing changes (no probability by "
        f"more than {format_error(change)}). Choose the other sentence if it is shorter, or make it longer."
    )


def describe_reading_padding(masked: MaskedPass, sentence: int) -> str:
    """Say why a sentence that attends to its padding is translated by the other sentence's length."""
    real, width = masked.source_lengths[sentence], len(masked.source_tokens[sentence])
    return (
        f"Only the other sentence's length puts {pluralize(width - real, 'position')} of padding behind this one's "
        f"{pluralize(real, 'token')}, and the model never attended to padding in training. Try a longer second "
        "sentence, then a shorter one: without the padding mask the probabilities depend on the rest of the batch."
    )


def _row_name(head: MaskedHead, row: int) -> str:
    if head.predicted is None:
        return f" ({quoted(head.fed[row])})"
    return f" (input {quoted(head.fed[row])}, output {quoted(head.predicted[row])})"


def row_by_hand(head: MaskedHead, row: int) -> list[tuple[str, list[str]]]:
    """Return the lines of the calculation, each with its name and a text per key; the last is the model's weight."""
    scores = head.scores[row].astype(np.float64)
    unmasked = head.unmasked[row]
    powers = np.where(unmasked, np.exp(scores), 0.0)
    return [
        ("score", [signed(score) for score in scores]),
        ("after the mask", [signed(s) if u else "−∞" for s, u in zip(scores, unmasked, strict=True)]),
        ("exp", [_power(power) for power in powers]),
        (f"exp / {_power(powers.sum())}", [_weight(power / powers.sum()) for power in powers]),
        ("the model's weight", [_weight(weight) for weight in head.weights[row]]),
    ]


def row_words(head: MaskedHead, row: int) -> str:
    """Put the calculation into a sentence, with the largest weight as an example."""
    powers = np.where(head.unmasked[row], np.exp(head.scores[row].astype(np.float64)), 0.0)
    key = int(powers.argmax())
    total, largest = _power(powers.sum()), _power(powers[key])
    what = quoted(head.fed[row]) if row < head.real_queries else "padding, whose output is discarded"
    return (
        f"Row {row + 1}, {what}: exp(score) summed over {pluralize(int(head.unmasked[row].sum()), 'unmasked cell')} is "
        f"{total}. The largest term, {quoted(head.keys[key])}, is exp({signed(head.scores[row, key])}) = {largest}, so "
        f"its weight is {largest} / {total} = {powers[key] / powers.sum():.4f}; the model has "
        f"{head.weights[row, key]:.4f}."
    )


def _power(value: float) -> str:
    """Write four digits; large numbers whole."""
    return f"{value:.4g}" if value < 1000 else f"{value:,.0f}"


def _weight(value: float) -> str:
    """Write four decimals; "0" for exactly 0, unlike a small weight rounded."""
    return f"{value:.4f}" if value else "0"
