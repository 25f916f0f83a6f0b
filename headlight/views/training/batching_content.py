"""Sentences on batches, computed from how a checkpoint's sample of sentence pairs is batched."""

from headlight.plots.text import percent, pluralize, quoted
from transformer.data.batching import BatchView, Padding


def describe_batch(batch: BatchView, padding: Padding, budget: int) -> str:
    """Say how large the batch is on both sides, how much of it is padding, and how the budget limits it."""
    sentences, source, target = (
        len(batch.source_tokens),
        len(batch.source_tokens[0]),
        len(batch.decoder_input_tokens[0]),
    )
    counts = sentences * max(source, target)
    alone = ", more than the budget: one sentence so long stands alone" if counts > budget else ""
    return (
        f"{padding.padding:,} of {padding.cells:,} cells ({percent(padding.ratio)}) are padding, computed for nothing: "
        f"{sentences} x {source} of source and {sentences} x {target} of target. The longer side counts for the budget "
        f"of {budget:,} tokens: {counts:,}{alone}."
    )


def describe_both_ways(paddings: dict[str, Padding], counts: dict[str, int]) -> str:
    """Say what bucketing by length saves: padding and updates, for all batches of the sample."""
    (one, bucketed), (other, shuffled) = paddings.items()
    return (
        f"Batched {one}, {percent(bucketed.ratio)} of the cells are padding; {other}, {percent(shuffled.ratio)}. The "
        f"same {bucketed.tokens:,} tokens take {bucketed.cells:,} cells (batches: {counts[one]:,}) or "
        f"{shuffled.cells:,} ({counts[other]:,}): {shuffled.cells / bucketed.cells:.3g} times as many cells."
    )


def describe_size(part: int, part_padding: Padding, whole: int, whole_padding: Padding, trained: int | None) -> str:
    """Say how the padding changes with the number of pairs that are batched, in the sample itself."""
    few, all_of_it = (f"{padding.ratio * 100:.1f} %" for padding in (part_padding, whole_padding))
    had = "" if trained is None else f" Training had {trained:,} pairs."
    return (
        f"The more pairs there are, the more have the same length. Padding, bucketed by length: {few} with {part} of "
        f"these pairs, {all_of_it} with all {whole}.{had}"
    )


def describe_source(batch: BatchView, row: int) -> str:
    """Say what the source mask of one sentence hides, and from whom."""
    width, real = len(batch.source_tokens[row]), batch.source_lengths[row]
    return (
        f"{real} of {width} positions are tokens; the source mask hides the other {width - real} from every encoder "
        "and cross-attention head."
    )


def describe_shift(batch: BatchView, row: int) -> str:
    """Say what the first and the last step are fed and must predict, and what does not count."""
    steps, width = batch.target_lengths[row], len(batch.decoder_input_tokens[row])
    fed, following = batch.decoder_input_tokens[row], batch.target_tokens[row]
    text = (
        f"{pluralize(steps, 'task')} at once: fed {quoted(fed[0])}, predict {quoted(following[0])}; … fed "
        f"{quoted(fed[steps - 1])}, predict {quoted(following[steps - 1])}. Of {pluralize(width, 'position')} "
        f"{width - steps} predict padding and count for nothing in the loss"
    )
    return f"{text}." if steps == width else f"{text}; {quoted(fed[steps])} is fed only because the batch is wider."
