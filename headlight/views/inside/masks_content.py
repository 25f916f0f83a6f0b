"""Findings on masks from a pass over a batch: the cells they cover, and the weights that leak without them."""

import numpy as np

from headlight.app.finding import Finding, Templates
from headlight.plots.numbers import LEAST_SHOWN, format_probability
from transformer.data.batching import BatchView
from transformer.interpret import mask_ablation
from transformer.interpret.mask_ablation import DisabledMask, MaskedHead, MaskedPass
from transformer.model.heads import Head

TEMPLATES = Templates.beside(__file__)


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
    other = Head(head.kind, *leakiest)
    return finding, TEMPLATES.text("try_leakiest", other=other, largest=means.max())


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
    return finding, TEMPLATES.text(f"try_{disabled.disabled}")


def describe_no_padding(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Return the largest change of a sentence without padding when the padding mask is disabled, and what to try."""
    steps = masked.target_lengths[sentence]
    change = float(np.abs(disabled.target_probabilities - masked.target_probabilities)[sentence, :steps].max())
    finding = TEMPLATES("no_padding").followed_by(TEMPLATES("rounding", change=change))
    return finding, TEMPLATES.text("try_no_padding")


def _row_name(head: MaskedHead, row: int) -> Finding:
    if head.predicted is None:
        return TEMPLATES("fed", fed=head.fed[row])
    return TEMPLATES("fed_and_predicted", fed=head.fed[row], predicted=head.predicted[row])
