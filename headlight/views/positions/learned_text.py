"""Sentences computed from learned positions: what they lack of the formula's, how long they are, and how alike."""

import numpy as np

from headlight.plots.text import signed
from transformer.arrays import cosine

SHOWN = 128  # positions that are drawn, the first ones
_LACKS = {
    "curves": "so its dimensions are no waves: the whole table is drawn below",
    "matrix": "so no column is slower than another by design",
    "similarity": "so nothing makes the product of two rows a function of their distance: see how nearly it is one",
    "wavelengths": "so it has no wavelengths; what distance does to two rows is drawn below in their place",
    "rotation": "so no rotation leads from one position to the next; how alike any two are is drawn below in its place",
}


def describe_absence(view: str, table: np.ndarray) -> str:
    """What a view of the formula cannot say of a table [length, d_model] that was learned."""
    length, d_model = table.shape
    return (
        f"This model's positions are learned: a table of {length:,} rows of {d_model:,} numbers for each side, stored "
        f"with its weights. No formula made it, {_LACKS[view]}."
    )


def describe_norms(stack: str, table: np.ndarray) -> str:
    """How long the rows of a side's table are, and which is the longest."""
    norms = np.linalg.norm(table, axis=1)
    return (
        f"The {stack}'s rows have norms from {norms.min():.2f} to {norms.max():.2f}, {norms.mean():.2f} on average; "
        f"the longest is position {int(norms.argmax())}."
    )


def describe_likeness(stack: str, table: np.ndarray) -> str:
    """The mean cosine of neighbours in a side's table, and of rows that are as far apart as half the table is long."""
    far = max(1, len(table) // 2)
    near, distant = (float(cosine(table[:-apart], table[apart:]).mean()) for apart in (1, far))
    return (
        f"Neighbouring rows of the {stack} have a cosine of {signed(near, 2)} on average, rows {far} apart "
        f"{signed(distant, 2)}."
    )
