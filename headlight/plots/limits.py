"""How much of a long text a page sends to the browser, and how often it runs the model for it.

No sentence that the shipped checkpoints read, 128 tokens a side, comes near these limits.
"""

import numpy as np

MOST_CELLS = 25_000  # of a map with words for each cell, a hundred bytes or more
MOST_BYTES = 10_000_000  # of the weights of all heads that a component gets at once
MOST_LEFT_OUT = 256  # tokens that are left out one after the other, a run of the model each


def sizes(source: int, target: int) -> str:
    """Return how long a text is: "This text has 512 source and 128 target tokens"."""
    return f"This text has {source:,} source and {target:,} target tokens"


def plain_cells_words(rows: int, columns: int) -> str:
    """Return why the cells of a map have no words; "" where they have."""
    if rows * columns <= MOST_CELLS:
        return ""
    return (
        f"This map has {rows:,} × {columns:,} cells. Pointed at, each says its value alone: with more than "
        f"{MOST_CELLS:,} of them, their tokens are named on the page Attention."
    )


def pooled(maps: np.ndarray, block: int) -> np.ndarray:
    """Return the largest value of each square of `block` cells: [..., rows, columns] -> [..., fewer, fewer].

    NaN where all of a square is NaN; squares at the lower and right edge may be smaller.
    """
    for axis in (-2, -1):
        maps = np.fmax.reduceat(maps, range(0, maps.shape[axis], block), axis=axis)
    return maps


def block_for(rows: int, columns: int, side: int) -> int:
    """Return how many cells a square has across, so that no side of a map has more than `side` squares."""
    return max(1, -(-max(rows, columns) // side))
