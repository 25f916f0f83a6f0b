"""Relative positions as arrays: the bias of each head by distance, and a sentence that is moved."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ..arrays import to_array
from ..data.batching import Ids
from ..model.attention import RelativePositions, distance_ranges, padding_mask
from ..model.names import Stack
from ..model.transformer import Transformer


@dataclass(frozen=True, eq=False)
class RelativeBias:
    """Bias of a side's heads on the scores of self-attention: `numbers` [heads, distances] and `buckets` [distances].

    Distances are those of a key from its query, 0 in the middle, keys before the query to the left; with `both_ways`
    False, in a decoder, those after it are masked.
    """

    numbers: np.ndarray
    buckets: np.ndarray
    both_ways: bool

    @property
    def distances(self) -> np.ndarray:
        """List the distances that are not masked, in order."""
        most = self.numbers.shape[1] // 2
        return np.arange(-most, (most if self.both_ways else 0) + 1)

    def at(self, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers [heads, ...] and buckets [...] of keys at these distances from their queries."""
        columns = np.asarray(distances) + self.numbers.shape[1] // 2
        return self.numbers[:, columns], self.buckets[columns]

    def between(self, queries: Sequence[int], keys: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers [heads, queries, keys] and buckets [queries, keys] of queries and keys at these positions."""
        return self.at(np.asarray(keys) - np.asarray(queries)[:, None])

    def holds(self, bucket: int) -> np.ndarray:
        """List the distances, in order, that share this bucket's number."""
        distances = self.distances
        return distances[self.at(distances)[1] == bucket]


@torch.inference_mode()
def relative_bias(model: Transformer, stack: Stack | str) -> RelativeBias:
    """Read the bias of a side; raises ValueError for a model of other positions."""
    relative: nn.Module | None = getattr(model, f"{Stack(stack)}_relative")
    if not isinstance(relative, RelativePositions):
        raise ValueError(f"relative positions expected, got positions of the kind {model.config.positions}")
    most = model.config.max_length - 1
    distances = torch.arange(-most, most + 1, device=model.device)
    buckets = distance_ranges(distances, len(relative.table), relative.furthest, both_ways=relative.both_ways)
    return RelativeBias(to_array(relative.of(distances)), to_array(buckets), relative.both_ways)


@dataclass(frozen=True)
class Moved:
    """Encoder output of a sentence that is moved by `places`, compared with the sentence at the beginning.

    `difference` is the largest of any number of its output, `largest` the largest number of all.
    """

    places: int
    difference: float
    largest: float


def move_sentence(model: Transformer, ids: Ids, places: int) -> Moved:
    """Encode a sentence, and once more with so many tokens of padding before it, which no query may attend to.

    Raises ValueError where that is longer than the model has positions.
    """
    alone, padded = (
        torch.tensor([[model.config.pad_id] * count + list(ids)], device=model.device) for count in (0, places)
    )
    with torch.inference_mode():
        first = to_array(model.encode(alone, None)[0])
        moved = to_array(model.encode(padded, padding_mask(padded, model.config.pad_id))[0, places:])
    return Moved(places, float(np.abs(first - moved).max()), float(np.abs(first).max()))
