"""The greatest logit's token from products of bytes: a quarter of the memory traffic, and exactly the same token.

Greedy decoding needs the token of the greatest logit, not the logit itself. Products of rounded numbers bound every
logit. Usually one token alone can be the greatest within these bounds; otherwise the logits of the few candidates are
computed in float32, and where two of them are too close for float32, all logits are.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

_LARGEST = 127  # digit of a rounded vector, a signed byte
_NEVER = np.iinfo(np.int32).min
_CLOSE = 1e-4  # of |x| |w|: more than two kernels' logits in float32 differ by, with up to 1,600 terms


class RoughChoice:
    """An output projection W [vocab, d_model], float32 on a CPU, as bytes that all have the same unit."""

    def __init__(self, weight: Tensor):
        self._weight, self._unit = weight, float(weight.abs().max()) / largest_exact_digit()
        digits = (weight / self._unit).round()
        self._columns = digits.to(torch.int8).t()
        self._farthest = float((weight - digits * self._unit).norm(dim=1).max())
        self._longest = float((digits * self._unit).norm(dim=1).max()) + self._farthest

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


@functools.cache
def largest_exact_digit() -> int:
    """Return the largest digit of a weight whose products with bytes this processor sums exactly; 0 for none.

    AVX2 adds two products in 16 bits, which hold 7 bits of weight times 8 bits of vector; processors with VNNI take 8.
    The products are tried, since oneDNN's settings choose among the instructions of a processor.
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
