"""Token of the greatest logit, found by products of bytes: exact, with a quarter of the memory traffic of float32.

Greedy decoding needs the token of the greatest logit, not the logit itself. Products of rounded numbers give an upper
and a lower bound of every logit. Usually the bounds leave a single token. Otherwise the logits of the remaining tokens
are computed in float32; where the two greatest of them are too close for float32, all logits are computed.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

_LARGEST = 127  # digit of a rounded vector, a signed byte
_NEVER = np.iinfo(np.int32).min
_CLOSE = 1e-4  # times |x| |w|: above the difference of two kernels' float32 logits, with up to 1,600 terms


class RoughChoice:
    """Output projection W [vocab, d_model], float32 on a CPU, rounded to bytes of one common unit."""

    def __init__(self, weight: Tensor):
        self._weight, self._unit = weight, float(weight.abs().max()) / largest_exact_digit()
        digits = (weight / self._unit).round()
        self._columns = digits.to(torch.int8).t()
        self._farthest = float((weight - digits * self._unit).norm(dim=1).max())
        self._longest = float((digits * self._unit).norm(dim=1).max()) + self._farthest

    @np.errstate(all="ignore")
    def choose(self, x: Tensor, never: Sequence[int], exact: Callable[[], Tensor]) -> Tensor:
        """Return the token of the greatest logit of each row, tokens of `never` excluded: x [rows, d_model] -> [rows].

        exact: computes the result from all logits; called where two logits are too close, or one is not finite.
        """
        vectors = x.numpy()  # small operations take a third of PyTorch's time
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
            return exact()
        numbers[each, chosen] = _NEVER
        is_open = np.flatnonzero(products.amax(dim=1).numpy() >= least)
        if not len(is_open):
            return torch.from_numpy(chosen)
        numbers[each, chosen] = greatest
        least = np.floor(least[is_open, None]).astype(np.int32)  # NumPy compares numbers of one type the fastest
        rows, tokens = np.divmod(np.flatnonzero(numbers[is_open] >= least), numbers.shape[1])
        if len(tokens) > len(self._weight):
            return exact()
        logits = np.einsum("ij,ij->i", self._weight.numpy()[tokens], vectors[is_open[rows]])
        order, ends = np.lexsort((logits, rows)), np.searchsorted(rows, each[: len(is_open)], side="right") - 1
        best, second = order[ends], order[ends - 1]  # of a row's at least two
        chosen[is_open] = tokens[best]
        return torch.from_numpy(chosen) if (logits[best] - logits[second] > close[is_open]).all() else exact()


@functools.cache
def largest_exact_digit() -> int:
    """Return the largest digit for weights with which this processor sums products of bytes exactly; 0 without one.

    AVX2 adds two products in 16 bits, enough for weights of 7 bits; processors with VNNI take 8. The digits are tried
    out, because oneDNN's settings decide which instructions a processor uses.
    """
    if not torch.backends.mkldnn.is_available():
        return 0
    for digit in (_LARGEST, _LARGEST // 2):
        weight = torch.full((256, 32), digit, dtype=torch.int8)
        rows = (torch.full((count, 256), _LARGEST, dtype=torch.int8) for count in (1, 16))  # two kernels
        if all(
            (torch._int_mm(sign * x, weight) == sign * 256 * digit * _LARGEST).all() for x in rows for sign in (1, -1)
        ):
            return digit
    return 0


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))
