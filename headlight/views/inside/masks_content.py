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
from transformer.config import ModelConfig, Positions
from transformer.data.batching import BatchView
from transformer.interpret import mask_ablation
from transformer.interpret.mask_ablation import DisabledMask, MaskedHead, MaskedPass

from .masks_words import WORDS, said


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
    headline = said("covered", causal=causal, cells=size * size, padding=padding)
    if not padding:
        return Finding(headline, WORDS["no_row_padded"])
    return Finding(headline, said("covered_together", together=together, rows=pluralize(real, "row")))


def describe_source_mask(batch: BatchView, sentence: int) -> str:
    """Say what the padding mask of the source covers in the encoder and in cross-attention."""
    source, target = len(batch.source_tokens[sentence]), len(batch.decoder_input_tokens[sentence])
    masked = int((~batch.source_mask[sentence, 0, 0]).sum())
    counts = {"of_encoder": masked * source, "encoder": source * source}
    counts |= {"of_cross": masked * target, "cross": target * source}
    return said("source_covered", masked=masked, source=source, sentence=sentence + 1, **counts)


def score_words(config: ModelConfig, kind: str) -> str:
    """Say what the scores of a kind of attention are in a model."""
    words = WORDS["scores"]
    if not config.scale_scores:
        words = words.replace("QKᵀ / √d_k", "QKᵀ, here not divided by √d_k")
    if config.positions == Positions.RELATIVE and kind != "cross":
        words = words.replace(", how well", ", plus the bias by distance, how well")
    return words


def describe_head(head: MaskedHead) -> Finding:
    """Say what softmax would give to this head's masked cells if they were not masked."""
    masked = int((~head.unmasked).sum())
    if not masked:
        return Finding(said("all_unmasked", cells=head.unmasked.size), WORDS["try_all_unmasked"])
    share = mask_ablation.masked_share(head)
    row = int(share.argmax())
    rows = ~head.unmasked[: head.real_queries].all(axis=1)
    place = {"row": row + 1, "named": _row_name(head, row), "most": percent(float(share[row]))}
    return Finding(
        said("share", mean=percent(float(share[rows].mean()))),
        said("share_more", masked=masked, cells=head.unmasked.size, **place),
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
    more = said("leak_more", row=row + 1, named=_row_name(head, row), most=highest)
    if causal:
        more += said("answer", answer=f"{_answer(disabled, head):.2f}")
    attempt = ""
    if leakiest and largest:
        other = head_name(*leakiest, head.layers, head.heads)
        attempt = said("try_leakiest", head=other, mean=largest[0])
    else:
        more += WORDS["leaks_most"]
    return Finding(said("leak", mean=mean, to=WORDS["later"] if causal else "<pad>"), more), attempt


def _answer(disabled: MaskedPass, head: MaskedHead) -> float:
    """Return a decoder head's mean weight on the token that its row is to predict, one column to the right."""
    rows = np.arange(head.real_queries - 1)
    return float(disabled.decoder.weights[head.layer, head.sentence, head.head, rows, rows + 1].mean())


def describe_predictions(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Say what disabling the mask did to the next tokens' probabilities, forced ones aside, and what to try."""
    steps = masked.scored_steps[sentence]
    before, after = (run.target_probabilities[sentence, steps].astype(np.float64) for run in (masked, disabled))
    mean, mean_without = before.mean(), after.mean()
    why, unread, attempt = (WORDS[f"{part}_{disabled.disabled}"] for part in ("why", "unread", "try"))
    now, was = format_distinct(mean_without, mean)
    headline = said("next_tokens", now=now, was=was)
    if abs(mean_without - mean) < LEAST_SHOWN:
        headline = said("next_tokens_stay", was=f"{mean:.2f}")
    elif mean_without < mean:
        headline, why = said("never_learned", unread=unread, now=now, was=was), said("means", why=why)
    at = int(np.abs(after - before).argmax())
    had, has = (format_probability(float(values[at])) for values in (before, after))
    more = ""
    if had != has:
        token = quoted(masked.target_tokens[sentence][steps[at]])
        more = said("changes_most", step=steps[at] + 1, token=token, now=has, was=had)
    others = sum(masked.best_tokens[sentence][step] != disabled.best_tokens[sentence][step] for step in steps)
    more += said("others", others=others, steps=pluralize(len(steps), "step"))
    return Finding(headline, f"{more} {why}"), attempt


def describe_no_padding(masked: MaskedPass, disabled: MaskedPass, sentence: int) -> tuple[Finding, str]:
    """Say that disabling the padding mask changed nothing for a sentence without padding, and the largest change."""
    steps = masked.target_lengths[sentence]
    change = float(np.abs(disabled.target_probabilities - masked.target_probabilities)[sentence, :steps].max())
    found = said("no_padding", sentence=sentence + 1), said("rounding", change=format_error(change))
    return Finding(*found), WORDS["try_no_padding"]


def _row_name(head: MaskedHead, row: int) -> str:
    if head.predicted is None:
        return said("row_of_encoder", fed=quoted(head.fed[row]))
    return said("row_of_decoder", fed=quoted(head.fed[row]), predicted=quoted(head.predicted[row]))


def row_by_hand(head: MaskedHead, row: int) -> list[tuple[str, list[str]]]:
    """Return the lines of the calculation, each with its name and a text per key; the last is the model's weight."""
    scores = head.scores[row].astype(np.float64)
    unmasked = head.unmasked[row]
    powers = np.where(unmasked, np.exp(scores), 0.0)
    return [
        (WORDS["line_score"], [signed(score) for score in scores]),
        (WORDS["line_mask"], [signed(s) if u else "−∞" for s, u in zip(scores, unmasked, strict=True)]),
        (WORDS["line_exp"], [_power(power) for power in powers]),
        (said("line_share", total=_power(powers.sum())), [_weight(power / powers.sum()) for power in powers]),
        (WORDS["line_weight"], [_weight(weight) for weight in head.weights[row]]),
    ]


def row_words(head: MaskedHead, row: int) -> str:
    """Put the calculation into a sentence, with the largest weight as an example."""
    powers = np.where(head.unmasked[row], np.exp(head.scores[row].astype(np.float64)), 0.0)
    key = int(powers.argmax())
    total, largest = _power(powers.sum()), _power(powers[key])
    what = quoted(head.fed[row]) if row < head.real_queries else WORDS["padding_row"]
    cells = pluralize(int(head.unmasked[row].sum()), "unmasked cell")
    term = {"key": quoted(head.keys[key]), "score": signed(head.scores[row, key]), "largest": largest, "total": total}
    share, weight = f"{powers[key] / powers.sum():.4f}", f"{head.weights[row, key]:.4f}"
    return said("by_hand", row=row + 1, what=what, cells=cells, **term, share=share, weight=weight)


def _power(value: float) -> str:
    """Write four digits; large numbers whole."""
    return f"{value:.4g}" if value < 1000 else f"{value:,.0f}"


def _weight(value: float) -> str:
    """Write four decimals; "0" for exactly 0, unlike a small weight rounded."""
    return f"{value:.4f}" if value else "0"
