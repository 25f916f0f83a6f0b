"""Sentences on batches, computed from how a checkpoint's sample of sentence pairs is batched."""

from headlight.plots.text import counted, percent, quoted
from transformer.data.batching import OpenedBatch, Padding


def describe_batch(batch: OpenedBatch, padding: Padding, budget: int) -> str:
    """How large the batch is on both sides, how much of it is padding, and how its size follows from the budget."""
    sentences, source, target = len(batch.source_tokens), len(batch.source_tokens[0]), len(batch.fed_tokens[0])
    longest = max(source, target)
    text = (
        f"{counted(sentences, 'sentence')}: {sentences} x {source} cells of source and {sentences} x {target} of "
        f"target. Of these {padding.cells:,}, {padding.padding:,} {'is' if padding.padding == 1 else 'are'} padding: "
        f"{percent(padding.ratio)} of the cells are computed for nothing. "
    )
    if sentences * longest > budget:
        return f"{text}This one sentence is longer than the budget, so it stands alone."
    return (
        f"{text}The longer side counts for the budget: {sentences} x {longest} = {sentences * longest:,} of at most "
        f"{budget:,} tokens."
    )


def describe_shapes(batch: OpenedBatch) -> str:
    """The shapes of what training hands to the model for this batch."""
    sentences, source, target = len(batch.source_tokens), len(batch.source_tokens[0]), len(batch.fed_tokens[0])
    return (
        f"source {[sentences, source]}, target fed and target predicted {[sentences, target]}; source_mask "
        f"{list(batch.source_mask.shape)}, the same for every head and query; target_mask "
        f"{list(batch.target_mask.shape)}, the padding mask {list(batch.target_padding_mask.shape)} and the causal "
        f"mask {list(batch.causal_mask.shape)} together."
    )


def describe_both_ways(paddings: dict[str, Padding], counts: dict[str, int]) -> str:
    """What bucketing by length saves: padding and updates, for all batches of the sample."""
    (one, bucketed), (other, shuffled) = paddings.items()
    text = (
        f"Batched {one}, {percent(bucketed.ratio)} of the cells are padding; {other}, {percent(shuffled.ratio)}. "
        f"The same {bucketed.tokens:,} tokens take {bucketed.cells:,} cells in {_batches(counts[one])}, or "
        f"{shuffled.cells:,} in {_batches(counts[other])}"
    )
    ratio = shuffled.cells / bucketed.cells
    return f"{text}: {ratio:.3g} times as many cells." if ratio >= 1.01 else f"{text}."


def _batches(count: int) -> str:
    return f"{count:,} batch" if count == 1 else f"{count:,} batches"


def describe_size(part: int, part_padding: Padding, whole: int, whole_padding: Padding, trained: int | None) -> str:
    """How the padding shrinks with the number of pairs that are batched, in the sample itself."""
    few, all_of_it = (f"{padding.ratio * 100:.1f} %" for padding in (part_padding, whole_padding))
    verb = "has" if part == 1 else "have"
    text = f"{part} of these pairs alone, bucketed by length, {verb} {few} of padding; all {whole} have {all_of_it}."
    if part_padding.ratio <= whole_padding.ratio or few == all_of_it:
        return text
    text += " The more pairs there are, the more of them have the same length"
    return f"{text}." if trained is None else f"{text}, and training had {trained:,}."


def describe_source(batch: OpenedBatch, row: int) -> str:
    """What the source mask of one sentence hides, and for whom."""
    width, real = len(batch.source_tokens[row]), batch.source_lengths[row]
    masked = int((~batch.source_mask[row]).sum())
    if not masked:
        return f"All {width} positions are tokens: the sentence is as long as the batch is wide, nothing is masked."
    return (
        f"{real} of {width} positions are tokens, so the source mask hides {counted(masked, 'column')}: no encoder "
        f"head and no cross-attention head reads {'it' if masked == 1 else 'them'}, whichever token asks."
    )


def describe_target(batch: OpenedBatch, row: int) -> str:
    """How many cells of the target mask are masked, and by which of the two masks."""
    size = len(batch.fed_tokens[row])
    causal = ~batch.causal_mask
    padding = (~batch.target_padding_mask[row, 0]).repeat(size, axis=0)
    together = int((~batch.target_mask[row, 0]).sum())
    return (
        f"Of {size * size} cells the causal mask hides {int(causal.sum())}, the padding mask {int(padding.sum())}, "
        f"both together {together}."
    )


def describe_shift(batch: OpenedBatch, row: int) -> str:
    """The shift in words: what the first and the last step are fed and must predict, and what does not count."""
    steps, width = batch.target_lengths[row], len(batch.fed_tokens[row])
    fed, following = batch.fed_tokens[row], batch.next_tokens[row]
    text = (
        f"One sentence, {counted(steps, 'task')} at once: fed {quoted(fed[0])}, predict {quoted(following[0])}; … fed "
        f"{quoted(fed[steps - 1])}, predict {quoted(following[steps - 1])}. "
        if steps > 1
        else f"A single task: fed {quoted(fed[0])}, predict {quoted(following[0])}. "
    )
    if steps == width:
        return f"{text}All {width} positions count in the loss."
    verb = "predicts padding and counts" if width - steps == 1 else "predict padding and count"
    return (
        f"{text}The {counted(width - steps, 'position')} after them {verb} for nothing in the loss; at position "
        f"{steps + 1}, {quoted(fed[steps])} is fed only because the batch is wider."
    )
