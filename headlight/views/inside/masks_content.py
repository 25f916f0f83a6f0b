"""Sentences on masks, computed from a pass over a batch: what they cover, and what leaks without them."""

import numpy as np

from headlight.app.finding import Finding
from headlight.plots.names import head_name
from headlight.plots.numbers import LEAST_SHOWN, format_error, format_probability, pluralize
from headlight.plots.tokens import quoted
from transformer.data.batching import BatchView
from transformer.interpret import mask_ablation
from transformer.interpret.mask_ablation import DisabledMask, MaskedHead, MaskedPass

WORDS = {
    # The head with its mask and without.
    "leak_causal": "Without the mask this head would cheat: {mean} looks ahead.",
    "leak_padding": "Without the mask {mean} of its attention goes to padding.",
    "leak_more": "That is the mean over rows with masked cells; in row {row}{named} it is {most}.",
    "answer": " The next token itself, right of the diagonal, gets {answer} on average.",
    "leaks_most": " No head of this kind leaks more.",
    "try_leakiest": "{head}, where the most leaks of all heads of this kind: {mean} on average.",
    "row_of_encoder": " ({fed})",
    "row_of_decoder": " (input {fed}, output {predicted})",
    "caption": "Orange: cells that the mask closes; the last column is their sum.{outlined} The mask is off in every "
    "layer.",
    "outlined": " Outlined: the token that the row is to predict.",
    # The next tokens.
    "changed": "Without the mask its own words get {now}, not {was}.",
    "unchanged": "Without the mask its own words keep their probability, {was}.",
    "means": "These are mean probabilities of the translation's tokens.",
    "changes_most": "Step {step} changes most: {token} has {now} without the mask, {was} with it.",
    "others": "The top-1 prediction is another one at {others} of {steps}.",
    "why_causal": "The model never learned to copy from later tokens. A model trained without the mask would learn "
    "to, and be useless for decoding, where there are none yet.",
    "why_padding": "The model never attended to padding in training.",
    "try_causal": "",
    "try_padding": "a longer second sentence: without the mask a translation depends on the rest of the batch.",
    "no_padding": "Nothing changes: this sentence has no padding.",
    "rounding": "The largest difference of a probability, {change}, is rounding.",
    "try_no_padding": "a longer or a shorter second sentence.",
    # The batch and its masks.
    "padding_mask": "⟨pad⟩ fills up the shorter sentence and means nothing, so nothing may read it.",
    "causal_mask": "A row predicts the next token. Without this mask it could read the answer.",
    "target_mask": "Open only where both are: the mask of the decoder's self-attention.",
    "begins_with_pad": "This model's decoder begins with ⟨pad⟩: the first one may be read.",
    "begins_with_end": "This model's decoder begins with ⟨end⟩, where the paper's has a begin.",
    "covered": "The causal mask covers {causal} of {cells} cells, the padding mask {padding}.",
    "no_row_padded": "None of its rows is padding: both sentences are equally long.",
    "covered_together": "Both together cover {together}. In the first {rows}, of real tokens, the causal mask alone "
    "decides: padding is always later.",
    "source_mask": "The encoder's self-attention and cross-attention have the padding mask of the source alone: the "
    "whole source is there from the start.",
    "unused_second": "The second sentence cannot be used. {error}",
    "too_long": "These sentences make maps of {queries:,} by {keys:,} tokens, more than the {most:,} cells that this "
    "page draws. Shorten the text, or see its weights on the page Attention.",
}
LABELS = {
    "without": "Without the mask",
    "with": "With the mask",
    "next": "Each next token",
    "batch": "The batch and its masks",
    "second": "Second sentence of the batch",
    "translated": "Translation of the second sentence:",
    "padding_mask": "Padding mask",
    "causal_mask": "Causal mask",
    "target_mask": "Both",
}


def said(name: str, **fields: object) -> str:
    """Fill in a template."""
    return WORDS[name].format(**fields)


def describe_masks(batch: BatchView, sentence: int) -> Finding:
    """Count the cells that each of the decoder's masks covers, and say which rows the padding mask concerns."""
    size, real = len(batch.decoder_input_tokens[sentence]), batch.target_lengths[sentence]
    padding = int((~batch.target_padding_mask[sentence, 0, 0]).sum()) * size
    causal, together = int((~batch.causal_mask).sum()), int((~batch.target_mask[sentence, 0]).sum())
    headline = said("covered", causal=causal, cells=size * size, padding=padding)
    if not padding:
        return Finding(headline, WORDS["no_row_padded"])
    return Finding(headline, said("covered_together", together=together, rows=pluralize(real, "row")))


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
    more = said("leak_more", row=row + 1, named=_row_name(head, row), most=format_probability(leaks.max()))
    if disabled.disabled == DisabledMask.CAUSAL:
        more += said("answer", answer=format_probability(_answer(disabled, head)))
    attempt = ""
    if leakiest in (None, (head.layer, head.head)):
        more += WORDS["leaks_most"]
    else:
        other = head_name(*leakiest, head.layers, head.heads)
        attempt = said("try_leakiest", head=other, mean=format_probability(means.max()))
    return Finding(said(f"leak_{disabled.disabled}", mean=format_probability(leaks.mean())), more), attempt


def _answer(disabled: MaskedPass, head: MaskedHead) -> float:
    """Return a decoder head's mean weight on the token that its row is to predict, one column to the right."""
    rows = np.arange(head.real_queries - 1)
    return float(disabled.decoder.weights[head.layer, head.sentence, head.head, rows, rows + 1].mean())


def describe_predictions(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Say what disabling the mask did to the next tokens' probabilities, forced ones aside, and what to try."""
    steps = masked.scored_steps[sentence]
    before, after = (run.target_probabilities[sentence, steps].astype(np.float64) for run in (masked, disabled))
    now, was = format_probability(after.mean()), format_probability(before.mean())
    is_moved = abs(after.mean() - before.mean()) >= LEAST_SHOWN
    headline = said("changed", now=now, was=was) if is_moved else said("unchanged", was=was)
    at = int(np.abs(after - before).argmax())
    had, has = (format_probability(float(values[at])) for values in (before, after))
    others = sum(masked.best_tokens[sentence][step] != disabled.best_tokens[sentence][step] for step in steps)
    more = [WORDS["means"]]
    if had != has:
        token = quoted(masked.target_tokens[sentence][steps[at]])
        more.append(said("changes_most", step=steps[at] + 1, token=token, now=has, was=had))
    more += [said("others", others=others, steps=pluralize(len(steps), "step")), WORDS[f"why_{disabled.disabled}"]]
    return Finding(headline, " ".join(more)), WORDS[f"try_{disabled.disabled}"]


def describe_no_padding(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Say that disabling the padding mask changed nothing for a sentence without padding, and the largest change."""
    steps = masked.target_lengths[sentence]
    change = float(np.abs(disabled.target_probabilities - masked.target_probabilities)[sentence, :steps].max())
    return Finding(WORDS["no_padding"], said("rounding", change=format_error(change))), WORDS["try_no_padding"]


def _row_name(head: MaskedHead, row: int) -> str:
    if head.predicted is None:
        return said("row_of_encoder", fed=quoted(head.fed[row]))
    return said("row_of_decoder", fed=quoted(head.fed[row]), predicted=quoted(head.predicted[row]))
