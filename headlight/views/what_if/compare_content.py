"""Two runs side by side in words: which head differs most, where it does, and which tokens were compared."""

import numpy as np

from headlight.plots.text import KIND_NAMES, one_head_name, quoted, signed
from transformer.interpret.trace import Trace, row_and_column_labels
from transformer.interpret.what_if.difference import MapDifference

NOTICED = 0.05  # of a row's weight


def describe_difference(difference: MapDifference, layer: int, head: int, first: Trace, second: Trace) -> str:
    """Say how much one head differs and where most, and which of all heads of its kind does most."""
    values, distances = difference.values[layer, head], difference.distances()
    row, column = np.unravel_index(np.abs(values).argmax(), values.shape)
    weights, reads, keys = [], [], []
    for trace, at, key in zip((first, second), difference.rows[row], difference.columns[column], strict=True):
        weights.append(signed(float(trace.attention(difference.kind)[layer, head, at, key]), 2))
        rows, _, columns = row_and_column_labels(
            difference.kind, trace.source_tokens, trace.decoder_input_tokens, trace.target_tokens
        )
        reads.append(rows[at])
        keys.append(columns[key])
    most, other, distance = difference.ranked()[0]
    return (
        f"{KIND_NAMES[difference.kind]} {one_head_name(layer, head)} differs by {distances[layer, head]:.2f}; most in "
        f"the row that reads {_both(*reads)}, on {_both(*keys)}: {' and '.join(weights)}. Of the {distances.size} "
        f"heads of this kind {one_head_name(most, other)} differs most, by {distance:.2f}; by less than {NOTICED}: "
        f"{(distances < NOTICED).sum()}."
    )


def _both(first: str, second: str) -> str:
    return quoted(first) if first == second else f"{quoted(first)} in the first run, {quoted(second)} in the second"


def matching_words(difference: MapDifference) -> str:
    """Say what a head's difference is, and how rows and columns of both maps found each other."""
    return (
        "By how much a head differs: half the sum of a row's absolute differences, in the mean of its rows. Rows and "
        "columns are matched by position where both runs have as many, whatever the tokens, else by token in the same "
        f"order, the others left out. Here: {len(difference.rows)} rows by {difference.rows_by}, "
        f"{len(difference.columns)} columns by {difference.columns_by}."
    )
