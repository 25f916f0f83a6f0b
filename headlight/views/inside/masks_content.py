"""Sentences on masks, computed from a pass over a batch: what they cover, and what leaks without them."""

import numpy as np

from headlight.app.finding import Finding, Templates
from headlight.plots.numbers import LEAST_SHOWN, format_probability
from transformer.data.batching import BatchView
from transformer.interpret import mask_ablation
from transformer.interpret.mask_ablation import DisabledMask, MaskedHead, MaskedPass
from transformer.model.head_ref import HeadRef

TEMPLATES = Templates(
    {
        "leak_causal": "Without the mask this head would cheat: {mean:probability} looks ahead.",
        "leak_padding": "Without the mask {mean:probability} of its attention goes to padding.",
        "changed": "Unmasked, its own words get {now:probability}, not {was:probability}.",
        "unchanged": "Without the mask its own words keep their probability, {was:probability}.",
        "no_padding": "Nothing changes: this sentence has no padding.",
        "covered": "The causal mask covers {causal} of {cells} cells, the padding mask {padding}.",
    },
    {
        # The head with its mask and without.
        "leak_more": "That is the mean over rows with masked cells; in row {row} ({named}) it is {most:probability}.",
        "answer": "The next token itself, right of the diagonal, gets {answer:probability} on average.",
        "leaks_most": "No head of this kind leaks more.",
        "try_leakiest": "{other:head}, where the most leaks of all heads of this kind: {largest:probability} on "
        "average.",
        "fed": "{fed:token}",
        "fed_and_predicted": "input {fed:token}, output {predicted:token}",
        "caption": "Orange: cells that the mask closes; the last column is their sum.{outlined} The mask is off in "
        "every layer.",
        "outlined": " Outlined: the token that the row is to predict.",
        # The next tokens.
        "means": "These are mean probabilities of the translation's tokens.",
        "changes_most": "Step {step} changes most: {token:token} has {after:probability} without the mask, "
        "{before:probability} with it.",
        "others": "The top-1 prediction is another one at {others} of {steps:count step}.",
        "why_causal": "The model never learned to copy from later tokens. A model trained without the mask would learn "
        "to, and be useless for decoding, where there are none yet.",
        "why_padding": "The model never attended to padding in training.",
        "try_causal": "",
        "try_padding": "a longer second sentence: without the mask a translation depends on the rest of the batch.",
        "rounding": "The largest difference of a probability, {change:error}, is rounding.",
        "try_no_padding": "a longer or a shorter second sentence.",
        # The batch and its masks.
        "padding_mask": "⟨pad⟩ fills up the shorter sentence and means nothing, so nothing may read it.",
        "causal_mask": "A row predicts the next token. Without this mask it could read the answer.",
        "target_mask": "Open only where both are: the mask of the decoder's self-attention.",
        "begins_with_pad": "This model's decoder begins with ⟨pad⟩: the first one may be read.",
        "begins_with_end": "This model's decoder begins with ⟨end⟩, where the paper's has a begin.",
        "no_row_padded": "None of its rows is padding: both sentences are equally long.",
        "covered_together": "Both together cover {together}. In the first {rows:count row}, of real tokens, the "
        "causal mask alone decides: padding is always later.",
        "source_mask": "The encoder's self-attention and cross-attention have the padding mask of the source alone: "
        "the whole source is there from the start.",
        "unused_second": "The second sentence cannot be used. {error}",
        "too_long": "These sentences make maps of {queries:,} by {keys:,} tokens, more than the {most_cells:,} cells "
        "that this page draws. Shorten the text, or see its weights on the page Attention.",
    },
)
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


def describe_masks(batch: BatchView, sentence: int) -> Finding:
    """Count the cells that each of the decoder's masks covers, and the rows that the padding mask concerns."""
    size, real = len(batch.decoder_input_tokens[sentence]), batch.target_lengths[sentence]
    padding = int((~batch.target_padding_mask[sentence, 0, 0]).sum()) * size
    causal, together = int((~batch.causal_mask).sum()), int((~batch.target_mask[sentence, 0]).sum())
    finding = TEMPLATES("covered", causal=causal, cells=size * size, padding=padding)
    if not padding:
        return finding.followed_by(TEMPLATES("no_row_padded"))
    return finding.followed_by(TEMPLATES("covered_together", together=together, rows=real))


def describe_leak(masked: MaskedPass, disabled: MaskedPass, head: MaskedHead) -> tuple[Finding, str] | None:
    """Return the weight of a head that leaks without its mask, and the head that leaks most, to try; None for no leak.

    The attempt is empty where no head leaks more.
    """
    may_leak = mask_ablation.rows_that_may_leak(masked, disabled, head.kind, head.sentence)
    leaked = mask_ablation.leaked_weights(masked, disabled, head.kind, head.sentence)[..., may_leak]
    if not leaked.size:
        return None
    leaks, means = leaked[head.layer, head.head], leaked.mean(axis=-1)
    leakiest = mask_ablation.leakiest_head(masked, disabled, head.kind, head.sentence)
    row = int(np.flatnonzero(may_leak)[leaks.argmax()])
    finding = TEMPLATES(f"leak_{disabled.disabled}", mean=leaks.mean()).followed_by(
        TEMPLATES("leak_more", row=row + 1, named=_row_name(head, row), most=leaks.max())
    )
    if disabled.disabled == DisabledMask.CAUSAL:
        finding = finding.followed_by(TEMPLATES("answer", answer=_answer(disabled, head)))
    if leakiest in (None, (head.layer, head.head)):
        return finding.followed_by(TEMPLATES("leaks_most")), ""
    other = HeadRef(head.kind, *leakiest)
    return finding, str(TEMPLATES("try_leakiest", other=other, largest=means.max()))


def _answer(disabled: MaskedPass, head: MaskedHead) -> float:
    """Return a decoder head's mean weight on the token that its row is to predict, one column to the right."""
    rows = np.arange(head.real_queries - 1)
    return float(disabled.decoder.weights[head.layer, head.sentence, head.head, rows, rows + 1].mean())


def describe_predictions(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Return the change of the next tokens' probabilities without the mask, forced ones aside, and what to try."""
    steps = masked.scored_steps[sentence]
    before, after = (run.target_probabilities[sentence, steps].astype(np.float64) for run in (masked, disabled))
    now, was = after.mean(), before.mean()
    finding = TEMPLATES("changed" if abs(now - was) >= LEAST_SHOWN else "unchanged", now=now, was=was)
    finding = finding.followed_by(TEMPLATES("means"))
    at = int(np.abs(after - before).argmax())
    if format_probability(before[at]) != format_probability(after[at]):
        token = masked.target_tokens[sentence][steps[at]]
        changes = TEMPLATES("changes_most", step=steps[at] + 1, token=token, after=after[at], before=before[at])
        finding = finding.followed_by(changes)
    others = sum(masked.best_tokens[sentence][step] != disabled.best_tokens[sentence][step] for step in steps)
    reason = TEMPLATES(f"why_{disabled.disabled}")
    finding = finding.followed_by(TEMPLATES("others", others=others, steps=len(steps)), reason)
    return finding, TEMPLATES.texts[f"try_{disabled.disabled}"]


def describe_no_padding(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Return the largest change of a sentence without padding when the padding mask is disabled, and what to try."""
    steps = masked.target_lengths[sentence]
    change = float(np.abs(disabled.target_probabilities - masked.target_probabilities)[sentence, :steps].max())
    finding = TEMPLATES("no_padding").followed_by(TEMPLATES("rounding", change=change))
    return finding, TEMPLATES.texts["try_no_padding"]


def _row_name(head: MaskedHead, row: int) -> Finding:
    if head.predicted is None:
        return TEMPLATES("fed", fed=head.fed[row])
    return TEMPLATES("fed_and_predicted", fed=head.fed[row], predicted=head.predicted[row])
