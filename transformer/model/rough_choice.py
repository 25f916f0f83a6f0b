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
        """Whether this processor sums products of bytes in 32 bits; older ones lose digits, or are slower so."""
        return torch.cpu._is_vnni_supported()

    @np.errstate(all="ignore")
    def choose(self, x: Tensor, never: Sequence[int], of_all: Callable[[], Tensor]) -> Tensor:
        """Return the token of the greatest logit in each row, none of `never`: x [rows, d_model] -> [rows].

        of_all: computes the same from all logits, for rows that are too close to call, and for what is no number.
        """
        vectors = x.numpy()  # whose small operations take a third of PyTorch's time
        unit = np.abs(vectors).max(axis=1, keepdims=True) / _LARGEST
        digits = np.rint(vectors / unit)
        products = torch._int_mm(torch.from_numpy(digits.astype(np.int8)), self._columns).numpy()
        for token in never:
            products[:, token] = _NEVER
        # Rounded to w' and x', w = w' + r and x = x' + s: w x is w' x' + r x + w' s, off by |r| |x| + |w'| |s| at most.
        length = _lengths(vectors)
        close = _CLOSE * self._longest * length
        bound = self._farthest * length + self._longest * _lengths(vectors - digits * unit) + close
        chosen, rows = products.argmax(axis=1), np.arange(len(products))
        greatest = products[rows, chosen]
        least = greatest - 2 * bound / (unit[:, 0] * self._unit)
        products[rows, chosen] = _NEVER
        is_open = ~(products.max(axis=1) < least)
        if is_open.any():
            products[rows, chosen] = greatest
            for row in np.flatnonzero(is_open):
                found = self._among(np.flatnonzero(products[row] >= least[row]), x[row], close[row])
                if found is None:
                    return of_all()
                chosen[row] = found
        return torch.from_numpy(chosen)

    def _among(self, tokens: np.ndarray, x: Tensor, close: np.floating) -> int | None:
        """Return the one of these tokens whose logit is the greatest, None where another one's is as good as equal."""
        if len(tokens) < 2:
            return None
        logits = (self._weight[torch.from_numpy(tokens)] @ x).numpy()
        best, second = np.argpartition(-logits, 1)[:2]
        return int(tokens[best]) if logits[best] - logits[second] > close else None


def _lengths(vectors: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of each row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))
