"""Sentences on masks, computed from a pass over a batch: what they cover, and what leaks without them."""

import numpy as np

from headlight.plots.text import (
    LEAST_SHOWN,
    Finding,
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
from transformer.interpret.mask_ablation import DisabledMask, MaskedHead, MaskedPass


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


def describe_masks(batch: BatchView, sentence: int) -> Finding:
    """Count the cells that each of the decoder's masks covers, and say which rows the padding mask concerns."""
    size, real = len(batch.decoder_input_tokens[sentence]), batch.target_lengths[sentence]
    padding = int((~batch.target_padding_mask[sentence, 0, 0]).sum()) * size
    causal, together = int((~batch.causal_mask).sum()), int((~batch.target_mask[sentence, 0]).sum())
    headline = f"The causal mask covers {causal} of {size * size} cells, the padding mask {padding}."
    if not padding:
        return Finding(headline, "None of its rows is padding: compare with a longer or shorter sentence.")
    return Finding(
        headline,
        f"Both together cover {together}. In the first {pluralize(real, 'row')}, of real tokens, the causal mask alone "
        "decides: padding is always later. Only rows of padding could attend to it, and their output is discarded.",
    )


def describe_source_mask(batch: BatchView, sentence: int) -> str:
    """Count what the padding mask of the source covers in the encoder and in cross-attention."""
    source, target = len(batch.source_tokens[sentence]), len(batch.decoder_input_tokens[sentence])
    masked = int((~batch.source_mask[sentence, 0, 0]).sum())
    return (
        f"It covers {masked} of {source} columns for sentence {sentence + 1}: {masked * source} of {source * source} "
        f"cells in every encoder head, {masked * target} of {target * source} in every cross-attention head."
    )


def describe_head(head: MaskedHead) -> Finding:
    """Say what softmax would give to this head's masked cells if they were not masked."""
    masked = int((~head.unmasked).sum())
    if not masked:
        return Finding(
            f"All {head.unmasked.size} cells are unmasked.",
            "The other sentence has masked ones if it is shorter, and so has the decoder's self-attention.",
        )
    share = mask_ablation.masked_share(head)
    row = int(share.argmax())
    rows = ~head.unmasked[: head.real_queries].all(axis=1)
    return Finding(
        f"The masked cells would get {percent(float(share[rows].mean()))} of their rows' weight.",
        f"That is what softmax of the same scores gives to {masked} of {head.unmasked.size} cells without the mask, "
        f"most in row {row + 1}{_row_name(head, row)}: {percent(float(share[row]))}. With it they get exactly 0.",
    )


def describe_check(head: MaskedHead) -> str:
    """Say how exactly scores and mask explain the weights, and the weights the model's output."""
    return (
        "Checked over the whole map: softmax of the masked scores differs from the weights by "
        f"{format_error(mask_ablation.softmax_difference(head))} at most, weights times values from the fused kernel's "
        f"output by {format_error(head.kernel_difference)}."
    )


def describe_leak(masked: MaskedPass, disabled: MaskedPass, head: MaskedHead) -> tuple[Finding, str] | None:
    """Say how much of this head's weight leaks without the mask, and name the head to try, which leaks most.

    None where nothing can leak.
    """
    may_leak = mask_ablation.rows_that_may_leak(masked, disabled, head.kind, head.sentence)
    leaked = mask_ablation.leaked_weights(masked, disabled, head.kind, head.sentence)[..., may_leak]
    if not leaked.size:
        return None
    leaks, means = leaked[head.layer, head.head], leaked.mean(axis=-1)
    leakiest = mask_ablation.leakiest_head(masked, disabled, head.kind, head.sentence)
    row = int(np.flatnonzero(may_leak)[leaks.argmax()])
    others = [] if leakiest in (None, (head.layer, head.head)) else [means.max()]
    mean, highest, *largest = format_distinct(leaks.mean(), leaks.max(), *others)
    causal = disabled.disabled == DisabledMask.CAUSAL
    where = f"in row {row + 1}{_row_name(head, row)} it is {highest}"
    more = f"That is in this head, averaged over rows with masked cells; {where}."
    if causal:
        more += f" The next token itself, right of the diagonal, gets {_answer(disabled, head):.2f} on average."
    attempt = ""
    if leakiest and largest:
        other = head_name(*leakiest, head.layers, head.heads)
        attempt = f"{other}, where the most leaks of all heads of this kind: {largest[0]} on average."
    else:
        more += " No head of this kind leaks more."
    to = "later tokens" if causal else "<pad>"
    return Finding(f"Without the mask {mean} of a row's weight leaks to {to}.", more), attempt


def _answer(disabled: MaskedPass, head: MaskedHead) -> float:
    """Return a decoder head's mean weight on the token that its row is to predict, one column to the right."""
    rows = np.arange(head.real_queries - 1)
    return float(disabled.decoder.weights[head.layer, head.sentence, head.head, rows, rows + 1].mean())


def describe_predictions(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Say what disabling the mask did to the next tokens' probabilities, forced ones aside, and what to try."""
    steps = masked.scored_steps[sentence]
    before, after = (run.target_probabilities[sentence, steps].astype(np.float64) for run in (masked, disabled))
    mean, mean_without = before.mean(), after.mean()
    why, unread, attempt = _CHEATING if disabled.disabled == DisabledMask.CAUSAL else _READING_PADDING
    now, was = format_distinct(mean_without, mean)
    headline = f"Without the mask the next tokens' mean probability is {now}, not {was}."
    if abs(mean_without - mean) < LEAST_SHOWN:
        headline = f"Without the mask the next tokens' mean probability stays at {mean:.2f}."
    elif mean_without < mean:
        headline = f"The model never learned to read {unread}: mean probability {now}, not {was}."
        why = f"Both are means over the next tokens, without the mask and with it. {why}"
    at = int(np.abs(after - before).argmax())
    had, has = (format_probability(float(values[at])) for values in (before, after))
    more = ""
    if had != has:
        token = quoted(masked.target_tokens[sentence][steps[at]])
        more = f"Step {steps[at] + 1} changes most: {token} has {has} without the mask, {had} with it. "
    others = sum(masked.best_tokens[sentence][step] != disabled.best_tokens[sentence][step] for step in steps)
    more += f"The top-1 prediction is another one at {others} of {pluralize(len(steps), 'step')}."
    return Finding(headline, f"{more} {why}"), attempt


_CHEATING = (
    "These tokens are the model's own choices, made with the mask, and it never learned to copy from later ones. A "
    "model trained without the mask would learn to, and be useless for decoding, where there are none yet.",
    "ahead",
    "",
)
_READING_PADDING = (
    "The model never attended to padding in training.",
    "padding",
    "a longer second sentence, then a shorter one: without the padding mask the probabilities depend on the rest of "
    "the batch.",
)


def describe_no_padding(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Say that disabling the padding mask changed nothing for a sentence without padding, and the largest change."""
    steps = masked.target_lengths[sentence]
    change = float(np.abs(disabled.target_probabilities - masked.target_probabilities)[sentence, :steps].max())
    return (
        Finding(
            f"The source of sentence {sentence + 1} has no padding: nothing changes.",
            f"The largest difference of a probability, {format_error(change)}, is rounding.",
        ),
        "the other sentence if it is shorter, or make it longer.",
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
