"""How heads develop over the snapshots of a training: how sharply they attend, and which one reads the right key."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .head_patterns import mean_maxima, rows_with_choice


@dataclass(frozen=True, eq=False)
class Focus:
    """The mean row maximum, over rows that have more than one key, of all heads of a kind.

    steps: [snapshots]; values: [snapshots, layers, heads], from 0 to 1, NaN if no row has a choice; `uniform` is the
    baseline, the value of a head that spreads every row evenly.
    """

    steps: np.ndarray
    values: np.ndarray
    uniform: float

    @property
    def known(self) -> bool:
        """Whether any row has more than one key to attend to."""
        return bool(np.isfinite(self.uniform))

    def changes(self) -> np.ndarray:
        """Return the difference of each snapshot to the one before it: [snapshots - 1, layers, heads]."""
        return np.diff(self.values, axis=0)

    def most_changed(self) -> tuple[int, int]:
        """Return layer and head, from 0, whose value differs most between the first snapshot and the last."""
        return _largest(np.abs(self.values[-1] - self.values[0]))

    def step_of_half(self) -> list[int]:
        """Return for each layer the step by which at least half of its heads made their largest change."""
        jumps = np.sort(np.abs(self.changes()).argmax(axis=0) + 1, axis=1)  # layers heads
        return self.steps[jumps[:, (jumps.shape[1] + 1) // 2 - 1]].tolist()


def measure_focus(steps: np.ndarray, weights: np.ndarray) -> Focus:
    """Return the focus of every head at every snapshot.

    weights: [snapshots, layers, heads, queries, keys], masked cells NaN.
    """
    rows = rows_with_choice(weights[0, 0, 0])
    keys = (~np.isnan(weights[0, 0, 0])).sum(axis=-1)[rows]
    return Focus(steps, mean_maxima(weights), float((1 / keys).mean()) if rows.any() else float("nan"))


def count_hits(weights: np.ndarray, positions: Sequence[set[int]]) -> np.ndarray:
    """Count the rows whose largest weight lies on one of the keys that are right for it.

    weights: [..., queries, keys]; positions: for each of the first queries, its right keys -> [...].
    """
    largest = weights[..., : len(positions), :].argmax(axis=-1)
    right = [np.isin(largest[..., row], list(keys)) for row, keys in enumerate(positions)]
    return np.sum(right, axis=0)


def best_reader(weights: np.ndarray, positions: Sequence[set[int]]) -> tuple[int, int]:
    """Return layer and head, from 0, of the most hits in [layers, heads, queries, keys]."""
    return _largest(count_hits(weights, positions))


def _largest(values: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    return int(layer), int(head)
