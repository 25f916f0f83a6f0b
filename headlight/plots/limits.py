"""Limits of a long text: on data for the browser, and on runs of the model.

No sentence that the shipped checkpoints read, 128 tokens a side, comes near these limits.
"""

from collections.abc import Sequence

import numpy as np

from headlight.language import texts_beside

MOST_CELLS = 25_000  # of a map with words for each cell, a hundred bytes or more
MOST_BYTES = 10_000_000  # of the weights of all heads that a component gets at once
MOST_REPLAYED = 40_000_000  # weights of a head when all ends of a beam search are read again
MOST_LEFT_OUT = 256  # tokens that are left out one after the other, a run of the model each
_text = texts_beside(__file__)


def sizes(source: int, target: int) -> str:
    """Return how long a text is: "This text has 512 source and 128 target tokens"."""
    return _text("sizes", source=source, target=target)


def left_out_words(source: int, target: int, step: int) -> str:
    """Return why tokens are not left out one after the other, step counted from 0; "" where they are."""
    tokens = source + step + 1
    if tokens <= MOST_LEFT_OUT:
        return ""
    return _text("left_out", sizes=sizes(source, target), tokens=tokens, step=step + 1, most=MOST_LEFT_OUT)


def fits_page(weights: int) -> bool:
    """Return True if so many float32 weights, in base64, are few enough to be sent to a page."""
    return weights * 4 * 4 / 3 <= MOST_BYTES


def replayed_words(source: int, lengths: Sequence[int]) -> str:
    """Return why a beam search is not drawn as a tree, whose ends have these lengths; "" where it is."""
    longest = max(source, *lengths)
    if len(lengths) * longest**2 <= MOST_REPLAYED:
        return ""
    return _text("replayed", sizes=sizes(source, max(lengths)), ends=len(lengths))


def plain_cells_words(rows: int, columns: int) -> str:
    """Return why the cells of a map have no words; "" where they have."""
    return "" if rows * columns <= MOST_CELLS else _text("plain_cells", rows=rows, columns=columns, most=MOST_CELLS)


def pooled(maps: np.ndarray, block: int) -> np.ndarray:
    """Return the largest value of each square of `block` cells: [..., rows, columns] -> [..., fewer, fewer].

    NaN where all of a square is NaN; squares at the lower and right edge may be smaller.
    """
    for axis in (-2, -1):
        maps = np.fmax.reduceat(maps, range(0, maps.shape[axis], block), axis=axis)
    return maps


def block_for(maps: np.ndarray, side: int) -> int:
    """Return how many cells a square of maps [..., rows, columns] has across, for at most `side` squares a side."""
    return max(1, -(-max(maps.shape[-2:]) // side))
