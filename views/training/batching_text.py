"""Sentences on batches, computed from how a checkpoint's sample of sentence pairs is packed."""

from plots.text import counted, percent, quoted
from transformer.data.batching import Fill, OpenedBatch


def describe_batch(batch: OpenedBatch, filled: Fill, budget: int) -> str:
    """How large the batch is on both sides, how much of it is padding, and how its size follows from the budget."""
    sentences, source, target = len(batch.source_tokens), len(batch.source_tokens[0]), len(batch.fed_tokens[0])
    longest = max(source, target)
    text = (
        f"{counted(sentences, 'sentence')}: {sentences} x {source} cells of source and {sentences} x {target} of "
        f"target. Of these {filled.cells:,}, {filled.padding:,} are padding: {percent(filled.share)} of what the model "
        f"computes here is for nothing. "
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
        f"{list(batch.target_mask.shape)}, the padding mask {list(batch.padding_mask.shape)} and the causal mask "
        f"{list(batch.causal_mask.shape)} together."
    )


def describe_packings(fills: dict[str, Fill], counts: dict[str, int]) -> str:
    """What packing by length saves: padding and updates, for all batches of the sample."""
    (one, sorted_fill), (other, random_fill) = fills.items()
    text = (
        f"Packed {one}, {percent(sorted_fill.share)} of the cells are padding; {other}, {percent(random_fill.share)}. "
        f"The same {sorted_fill.tokens:,} tokens take {sorted_fill.cells:,} cells in {counts[one]} batches, or "
        f"{random_fill.cells:,} in {counts[other]}"
    )
    ratio = random_fill.cells / sorted_fill.cells
    return f"{text}: {ratio:.2g} times as many." if ratio >= 1.01 else f"{text}."


def describe_size(part: int, part_fill: Fill, whole: int, whole_fill: Fill, trained: int | None) -> str:
    """How the padding shrinks with the number of pairs that are packed, in the sample itself."""
    few, all_of_it = (f"{fill.share * 100:.1f} %" for fill in (part_fill, whole_fill))
    text = f"{part} of these pairs alone, packed by length, have {few} of padding; all {whole} have {all_of_it}."
    if part_fill.share <= whole_fill.share:
        return text
    text += " The more pairs there are, the more of them have the same length"
    return f"{text}." if trained is None else f"{text}, and training had {trained:,}."


def describe_source(batch: OpenedBatch, row: int) -> str:
    """What the source mask of one sentence closes, and for whom."""
    width, real = len(batch.source_tokens[row]), batch.source_lengths[row]
    closed = int((~batch.source_mask[row]).sum())
    if not closed:
        return f"All {width} places are tokens: this sentence is as long as the batch is wide, and its mask is open."
    return (
        f"{real} of {width} places are tokens, so the source mask closes {counted(closed, 'column')}: no encoder head "
        f"and no cross-attention head reads {'it' if closed == 1 else 'them'}, whichever token asks."
    )


def describe_target(batch: OpenedBatch, row: int) -> str:
    """How many cells of the target mask are closed, and by which of the two masks."""
    size = len(batch.fed_tokens[row])
    causal = ~batch.causal_mask
    padding = (~batch.padding_mask[row, 0]).repeat(size, axis=0)
    together = int((~batch.target_mask[row, 0]).sum())
    return (
        f"Of {size * size} cells the causal mask closes {int(causal.sum())}, the padding mask {int(padding.sum())}, "
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
