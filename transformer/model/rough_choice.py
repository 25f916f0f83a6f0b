"""The token with the greatest logit from products of 8 bits, a quarter of the bytes, and exactly the same token.

A greedy step needs to know which logit is the greatest, not how great. Rounded numbers give each within a bound, and
within it seldom more than one can be the greatest: the logits of the few that can are computed in float32. Where even
these are too close to call, all logits are computed, as without this.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

_LARGEST = 127  # of a signed byte
_NEVER = np.iinfo(np.int32).min
_CLOSE = 1e-4  # of |x| |w|: more than two kernels' logits in float32 differ by, with up to 1,600 terms


class RoughChoice:
    """An output projection W [vocab, d_model], float32 on a CPU, as bytes that all have the same unit."""

    def __init__(self, weight: Tensor):
        self._weight, self._unit = weight, float(weight.abs().max()) / _LARGEST
        digits = (weight / self._unit).round()
        self._columns = digits.to(torch.int8).t()
        self._farthest = float((weight - digits * self._unit).norm(dim=1).max())
        self._longest = float((digits * self._unit).norm(dim=1).max()) + self._farthest

    @staticmethod
    def is_exact_here() -> bool:
        """Return whether this processor sums products of bytes in 32 bits; older ones lose digits, or are slower."""
        return torch.cpu._is_vnni_supported()

    @np.errstate(all="ignore")
    def choose(self, x: Tensor, never: Sequence[int], of_all: Callable[[], Tensor]) -> Tensor:
        """Return the token of the greatest logit in each row, none of `never`: x [rows, d_model] -> [rows].

        of_all: computes the same from all logits, for rows that are too close to call, and for what is no number.
        """
        vectors = x.numpy()  # whose small operations take a third of PyTorch's time
        unit = np.abs(vectors).max(axis=1, keepdims=True) / _LARGEST
        digits = np.rint(vectors / unit)
        products = torch._int_mm(torch.from_numpy(digits.astype(np.int8)), self._columns)
        numbers, each = products.numpy(), np.arange(len(x))
        for token in never:
            numbers[:, token] = _NEVER
        # Rounded to w' and x', w = w' + r and x = x' + s: w x is w' x' + r x + w' s, off by |r| |x| + |w'| |s| at most.
        length = _lengths(vectors)
        close = _CLOSE * self._longest * length
        bound = self._farthest * length + self._longest * _lengths(vectors - digits * unit) + close
        chosen = numbers.argmax(axis=1)
        greatest = numbers[each, chosen]
        least = greatest - 2 * bound / (unit[:, 0] * self._unit)
        if not np.isfinite(least).all():
            return of_all()
        numbers[each, chosen] = _NEVER
        is_open = np.flatnonzero(products.amax(dim=1).numpy() >= least)
        if not len(is_open):
            return torch.from_numpy(chosen)
        numbers[each, chosen] = greatest
        least = np.floor(least[is_open, None]).astype(np.int32)  # NumPy compares numbers of one type the fastest
        rows, tokens = np.divmod(np.flatnonzero(numbers[is_open] >= least), numbers.shape[1])
        if len(tokens) > len(self._weight):
            return of_all()
        logits = np.einsum("ij,ij->i", self._weight.numpy()[tokens], vectors[is_open[rows]])
        order, ends = np.lexsort((logits, rows)), np.searchsorted(rows, each[: len(is_open)], side="right") - 1
        best, second = order[ends], order[ends - 1]  # of a row's at least two
        chosen[is_open] = tokens[best]
        return torch.from_numpy(chosen) if (logits[best] - logits[second] > close[is_open]).all() else of_all()


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))
