"""Measurements as tables: one row a cell, texts as categories, for a text a row takes fifty bytes and more."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas

Columns = Mapping[str, np.ndarray]


def cell_columns(axes: Sequence[str], **values: np.ndarray) -> dict[str, np.ndarray]:
    """Make the columns of arrays of one shape: the index along each of the `axes`, from 0, and the values there."""
    first = next(iter(values.values()))
    index = np.indices(first.shape, dtype=np.int32).reshape(first.ndim, first.size)
    return {**dict(zip(axes, index, strict=True)), **{name: np.ravel(value) for name, value in values.items()}}


def frame_of(
    part: str, columns: Mapping[str, Columns], texts: Mapping[str, Sequence[str]] | None = None
) -> "pandas.DataFrame":
    """Stack the columns of several parts into one table, whose first column, named `part`, has the part of each row.

    texts: for a column of numbers the texts that they are the indices of; -1 is none. They and the parts are
    categories, in their order.
    """
    import pandas  # not needed to translate

    names = next(iter(columns.values()))
    stacked = {name: np.concatenate([some[name] for some in columns.values()]) for name in names}
    counts = [len(next(iter(some.values()))) for some in columns.values()]
    frame: dict[str, object] = {part: _categories(np.repeat(np.arange(len(counts)), counts), list(map(str, columns)))}
    for name, values in stacked.items():
        frame[name] = _categories(values, list(map(str, texts[name]))) if texts and name in texts else values
    return pandas.DataFrame(frame)


def _categories(indices: np.ndarray, texts: Sequence[str]) -> "pandas.Categorical":
    """Return the text of each index, none at -1; equal texts are one category, unused ones are none."""
    import pandas

    used = np.bincount(indices + 1, minlength=len(texts) + 1)[1:] > 0
    names = list(dict.fromkeys(text for text, is_used in zip(texts, used, strict=True) if is_used))
    codes = {name: code for code, name in enumerate(names)}
    return pandas.Categorical.from_codes(np.array([*(codes.get(text, -1) for text in texts), -1])[indices], names)
