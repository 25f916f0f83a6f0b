"""Sentences on two runs side by side: which head differs most, where it does, and which tokens were compared."""

import numpy as np

from headlight.plots.text import KIND_NAMES, counted, one_head_name, quoted, signed
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.difference import MapDifference, MatchedBy

NOTICED = 0.05  # of a row's weight


def describe_difference(difference: MapDifference, layer: int, head: int, first: Trace, second: Trace) -> str:
    """Where one head differs most, and which of all heads of its kind does."""
    values, distances = difference.values[layer, head], difference.distances()
    row, column = np.unravel_index(np.abs(values).argmax(), values.shape)
    before, after = (
        trace.attention(difference.kind)[layer, head, difference.rows[row][at], difference.columns[column][at]]
        for at, trace in enumerate((first, second))
    )
    rows = first.source_tokens if difference.kind == "encoder" else first.fed_tokens
    keys = first.fed_tokens if difference.kind == "decoder" else first.source_tokens
    most, other, distance = difference.ranked()[0]
    name = KIND_NAMES[difference.kind]
    still = int((distances < NOTICED).sum())
    one, key = rows[difference.rows[row][0]], keys[difference.columns[column][0]]
    place = f"the row that reads {quoted(one)}, on {quoted(key)}"
    here = f"{signed(float(before), 2)} and {signed(float(after), 2)}"
    return (
        f"{name} {one_head_name(layer, head)} differs by {distances[layer, head]:.2f}, half the sum of a row's "
        f"absolute differences, in the mean of its rows; most in {place}: {here}. Of the "
        f"{counted(distances.size, 'head')} of this kind {one_head_name(most, other)} differs most, by "
        f"{distance:.2f}; {still} {'differs' if still == 1 else 'differ'} by less than {NOTICED}."
    )


def matching_words(difference: MapDifference) -> str:
    """How rows and columns of both maps found each other."""
    sides = {"row": (difference.rows_by, difference.rows), "column": (difference.columns_by, difference.columns)}
    words = {
        MatchedBy.POSITION: "by position, as both runs have as many",
        MatchedBy.TOKEN: "by token, those that stand in both in the same order; the others are left out",
    }
    return " ".join(
        f"The {counted(len(pairs), side)} {'was' if len(pairs) == 1 else 'were'} matched {words[by]}."
        for side, (by, pairs) in sides.items()
    )
