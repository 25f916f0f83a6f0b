"""Sentences on masks, computed from a pass over a batch: what they cover, what leaks without them, what to try."""

import numpy as np

from headlight.plots.text import apart, chance_words, counted, head_name, percent, quoted, signed, tiny
from transformer.data.batching import OpenedBatch
from transformer.interpret import mask_ablation
from transformer.interpret.mask_ablation import MaskedHead, MaskedPass

ROUNDING = 1e-6  # probabilities of two passes that differ by less have not changed


def describe_shapes(batch: OpenedBatch) -> str:
    """The batch in numbers: its shapes, the masks' shapes, and how much of it is padding."""
    sentences, source = len(batch.source_tokens), len(batch.source_tokens[0])
    target = len(batch.fed_tokens[0])
    padded = sentences * (source + target) - sum(batch.source_lengths) - sum(batch.target_lengths)
    verb = "is" if padded == 1 else "are"
    return (
        f"source {[sentences, source]}, decoder input {[sentences, target]}; {padded} of "
        f"{sentences * (source + target)} positions {verb} padding. source_mask {list(batch.source_mask.shape)} is "
        "broadcast over all heads and queries; target_mask "
        f"{list(batch.target_mask.shape)} is the target's padding mask {list(batch.target_padding_mask.shape)} "
        f"and the causal mask {list(batch.causal_mask.shape)}, cell by cell."
    )


def describe_masks(batch: OpenedBatch, sentence: int) -> str:
    """How many cells each of the decoder's masks covers in this sentence, and which rows the padding mask concerns."""
    size, real = len(batch.fed_tokens[sentence]), batch.target_lengths[sentence]
    padding = int((~batch.target_padding_mask[sentence, 0, 0]).sum()) * size
    causal, together = int((~batch.causal_mask).sum()), int((~batch.target_mask[sentence, 0]).sum())
    counts = (
        f"Sentence {sentence + 1}, {counted(real, 'token')} in a batch {size} wide: the padding mask covers {padding} "
        f"of {size * size} cells, the causal mask {causal}, both together {together}."
    )
    if not padding:
        others = any(length < size for length in batch.target_lengths)
        advice = "compare the other sentence" if others else "type a longer or shorter second sentence"
        return f"{counts} It fills the whole width, so there is no padding to mask here: {advice}."
    if not mask_ablation.padding_only_concerns_padding(batch, sentence):
        return f"{counts} The padding mask covers cells of real tokens that the causal mask does not."
    rows, whose = counted(size - real, "row"), "its" if size - real == 1 else "their"
    return (
        f"{counts} In the {counted(real, 'row')} of real tokens both together are the causal mask alone, because "
        f"padding on the right is always later. Only the {rows} of padding could attend to padding, and {whose} "
        "output is discarded."
    )


def describe_source_mask(batch: OpenedBatch, sentence: int) -> str:
    """What the padding mask of the source covers in the encoder and in cross-attention, where no other mask applies."""
    source, target = len(batch.source_tokens[sentence]), len(batch.fed_tokens[sentence])
    masked = int((~batch.source_mask[sentence, 0, 0]).sum())
    return (
        f"It covers {masked} of {source} columns for sentence {sentence + 1}: {masked * source} of {source * source} "
        f"cells in every encoder head, {masked * target} of {target * source} in every cross-attention head."
    )


def describe_head(head: MaskedHead) -> str:
    """What the mask takes from this head: where the most weight would have gone to masked cells."""
    masked = int((~head.unmasked).sum())
    if not masked:
        return (
            f"All {head.unmasked.size} cells are unmasked: this sentence has no padding to attend to, and no other "
            "mask applies. The maps differ by softmax alone; choose the other sentence, or the decoder, for masked "
            "cells."
        )
    share = mask_ablation.masked_share(head)
    row = int(share.argmax())
    rows = ~head.unmasked[: head.real_queries].all(axis=1)
    where = "a row's weight" if rows.all() else "the weight of a row that has masked cells"
    return (
        f"The mask covers {masked} of {head.unmasked.size} cells. On these very scores, softmax without it would give "
        f"them {percent(float(share[rows].mean()))} of {where} on average, and {percent(float(share[row]))} in row "
        f"{row + 1}{_row_name(head, row)}. With it they get exactly 0, and the unmasked cells share all of it."
    )


def describe_check(head: MaskedHead) -> str:
    """How exactly the scores and the mask explain the weights, and the weights the model's output."""
    difference = tiny(mask_ablation.softmax_difference(head))
    return (
        f"Checked over the whole map: softmax of the masked scores and the weights differ by {difference} at most; "
        f"weights times values and the output of the model's fused kernel, by {tiny(head.kernel_difference)}."
    )


def describe_leak(masked: MaskedPass, disabled: MaskedPass, head: MaskedHead) -> str:
    """How much of this head's weight leaks with the mask disabled, and which head of the kind leaks most.

    "" where no row of the sentence has a masked cell.
    """
    may_leak = mask_ablation.rows_that_may_leak(masked, disabled, head.kind, head.sentence)
    leaked = mask_ablation.leaked_weights(masked, disabled, head.kind, head.sentence)[..., may_leak]
    if not leaked.size:
        return ""
    own = leaked[head.layer, head.head]
    means = leaked.mean(axis=-1)
    layer, number = np.unravel_index(means.argmax(), means.shape)
    row = int(np.flatnonzero(may_leak)[own.argmax()])
    leaked_to = "later tokens" if disabled.disabled == "causal" else "<pad>"
    name = head_name(head.layer, head.head, head.layers, head.heads)
    rows = "a row's weight" if may_leak.all() else "the weight of a row that has masked cells"
    mean, highest, largest = apart(own.mean(), own.max(), means.max())
    most = "the most of all heads of this kind, on average"
    if (layer, number) != (head.layer, head.head):
        other = head_name(int(layer), int(number), head.layers, head.heads)
        most = f"try {other}, where the most leaks on average: {largest}"
    return (
        f"In {name}, {mean} of {rows} now goes to {leaked_to} on average, and {highest} in row "
        f"{row + 1}{_row_name(head, row)}; {most}."
    )


def describe_answer(disabled: MaskedPass, head: MaskedHead) -> str:
    """How much of a decoder head's weight is on the very token that its row is to predict, one column to the right."""
    rows = np.arange(head.real_queries - 1)
    if not len(rows):
        return ""
    answer = disabled.decoder.weights[head.layer, head.sentence, head.head, rows, rows + 1]
    return (
        "In each row but the last the next token itself is now unmasked, one column right of the diagonal: this head "
        f"gives that cell a weight of {answer.mean():.2f} on average."
    )


def describe_predictions(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> str:
    """What disabling the mask did to the next tokens' probabilities: the largest change, the mean, the top-1."""
    steps = masked.target_lengths[sentence]
    before, after = (run.next_probabilities[sentence, :steps] for run in (masked, disabled))
    step = int(np.abs(after - before).argmax())
    if abs(after[step] - before[step]) <= ROUNDING:
        return f"Over {counted(steps, 'step')} no next token's probability changes by more than {tiny(ROUNDING)}."
    token = quoted(masked.next_tokens[sentence][step])
    firsts = zip(masked.best_tokens[sentence][:steps], disabled.best_tokens[sentence][:steps], strict=True)
    changed = [index for index, (one, other) in enumerate(firsts) if one != other]
    had, has = chance_words(float(before[step])), chance_words(float(after[step]))
    means = [chance_words(float(values.mean())) for values in (before, after)]
    text = (
        f"Step {step + 1} changed most: {token} had {had} with the mask and has {has} without it. Over the "
        f"{counted(steps, 'step')} the next token's probability is {means[0]} on average with the mask, {means[1]} "
        f"without; it rose in {int((after - before > ROUNDING).sum())} and fell in "
        f"{int((before - after > ROUNDING).sum())}. "
    )
    if not changed:
        return text + "The top-1 prediction is the same at every step."
    at = step if step in changed else changed[0]
    return text + (
        f"The top-1 prediction is another one at {len(changed)} of {counted(steps, 'step')}, such as "
        f"{quoted(disabled.best_tokens[sentence][at])} instead of {quoted(masked.best_tokens[sentence][at])} at step "
        f"{at + 1}."
    )


def describe_cheating(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> str:
    """Whether attending to the next token helped this model, and what a model trained so would learn."""
    steps = masked.target_lengths[sentence]
    gain = float((disabled.next_probabilities - masked.next_probabilities)[sentence, :steps].mean())
    change = signed(gain, 2) if gain <= 0 else f"+{gain:.2f}"
    verdict = f"{'helped' if gain > 0 else 'did not help'}: {change} on average in the next token's probability"
    if abs(gain) < 0.005:
        verdict = "changed the next token's probability by less than 0.005 on average"
    return (
        f"Here attending to the next token {verdict}. These next tokens are the model's own "
        "choices, made with the mask. It was trained with it and never learned to copy from later tokens. A model "
        "trained without the mask would learn to copy the next column, and be useless for decoding, where that column "
        "does not exist yet."
    )


def describe_no_padding(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> str:
    """That disabling the padding mask changed nothing for a sentence without padding, with the largest change found."""
    steps = masked.target_lengths[sentence]
    change = float(np.abs(disabled.next_probabilities - masked.next_probabilities)[sentence, :steps].max())
    other = next((n for n, size in enumerate(masked.source_lengths) if size < len(masked.source_tokens[0])), None)
    advice = "no sentence of this batch has any: make one of them longer."
    if other is not None:
        advice = f"choose sentence {other + 1}, which has some."
    return (
        f"The source of sentence {sentence + 1} has no padding, so disabling its mask changes nothing (no probability "
        f"by more than {tiny(change)}); {advice}"
    )


def describe_reading_padding(masked: MaskedPass, sentence: int) -> str:
    """What it means that a sentence attends to its padding: its translation depends on the other sentence's length."""
    real, width = masked.source_lengths[sentence], len(masked.source_tokens[sentence])
    verb = "is" if width - real == 1 else "are"
    return (
        "The model never attended to padding in training, and the sentence itself has not changed: the "
        f"{counted(width - real, 'position')} after its {counted(real, 'token')} {verb} there only because the other "
        "sentence is longer. Without the padding mask the probabilities depend on the rest of the batch. Try a longer "
        "second sentence, then a shorter one."
    )


def _row_name(head: MaskedHead, row: int) -> str:
    if head.predicted is None:
        return f" ({quoted(head.fed[row])})"
    return f" (input {quoted(head.fed[row])}, output {quoted(head.predicted[row])})"


def row_by_hand(head: MaskedHead, row: int) -> list[tuple[str, list[str]]]:
    """The lines of the calculation, each with its name and one text a key; the last is the model's own weight."""
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
    """The calculation in a sentence: the sum over the unmasked cells, and the largest weight as an example."""
    powers = np.where(head.unmasked[row], np.exp(head.scores[row].astype(np.float64)), 0.0)
    key = int(powers.argmax())
    total, largest = _power(powers.sum()), _power(powers[key])
    return (
        f"Row {row + 1}{_which_row(head, row)}: exp(score) summed over the "
        f"{counted(int(head.unmasked[row].sum()), 'unmasked cell')} is {total}. The largest term, "
        f"{quoted(head.keys[key])}, is exp({signed(head.scores[row, key])}) = "
        f"{largest}, so its weight is {largest} / {total} = {powers[key] / powers.sum():.4f}; the model's own is "
        f"{head.weights[row, key]:.4f}."
    )


def _which_row(head: MaskedHead, row: int) -> str:
    if row >= head.real_queries:
        return ", padding whose output is discarded"
    return f", {'query' if head.predicted is None else 'input token'} {quoted(head.fed[row])}"


def _power(value: float) -> str:
    """Four digits; large ones whole."""
    return f"{value:.4g}" if value < 1000 else f"{value:,.0f}"


def _weight(value: float) -> str:
    """Four decimals; "0" for nothing at all, which is more than a small weight rounded."""
    return f"{value:.4f}" if value else "0"
