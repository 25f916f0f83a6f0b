"""What to see in each step of an attention block, found in the numbers of this very example."""

import numpy as np

from headlight.plots.text import counted, percent, quoted_at, signed
from transformer.interpret.attention_block import Stages, split_heads

from .steps_text import View

_ALIKE = 1e-6  # products with a smaller standard deviation are equal but for rounding


class Findings:
    """What stands out in the steps of one head of one sentence."""

    def __init__(self, stages: Stages, view: View):
        self.stages, self.view = stages, view
        self.head_number = view.head + 1
        self._findings = {
            "input": self._input,
            "norm_first": lambda: self._norms(stages.residual, stages.x),
            "split": self._split,
            "products": self._products,
            "scale": self._scale,
            "mask": self._mask,
            "softmax": self._softmax,
            "concatenate": self._concatenate,
            "residual": self._residual,
            "norm_last": lambda: self._norms(stages.total, stages.result),
        }

    def see(self, step: str) -> str:
        """What to see in the numbers of this example; "" for a step without a finding."""
        return self._findings[step]() if step in self._findings else ""

    def _input(self) -> str:
        norms = self._norms_of(self.stages.residual)
        largest, smallest = int(norms.argmax()), int(norms.argmin())
        if f"{norms[largest]:.1f}" == f"{norms[smallest]:.1f}":
            return f"{'The norm' if len(norms) == 1 else 'The norm of every vector'} rounds to {norms[largest]:.1f}."
        return (
            f"The largest norm is that of {self._query(largest)} ({norms[largest]:.1f}), the smallest that of "
            f"{self._query(smallest)} ({norms[smallest]:.1f})."
        )

    def _split(self) -> str:
        query, key, value = (
            np.linalg.norm(self._own_columns(part), axis=-1).mean()
            for part in (self.stages.query, self.stages.key, self.stages.value)
        )
        return (
            f"In head {self.head_number} the mean norm of a query is {query:.1f}, of a key {key:.1f}, of a value "
            f"{value:.1f}."
        )

    def _products(self) -> str:
        products = self._head(self.stages.products)
        if products.min() == products.max():
            return f"{'The product' if products.size == 1 else 'Every product'} is {signed(products[0, 0], 2)}."
        largest, smallest = (np.unravel_index(int(at), products.shape) for at in (products.argmax(), products.argmin()))
        return (
            f"The largest product is that of {self._pair(*largest)}: {signed(products[largest], 2)}. The smallest: "
            f"{self._pair(*smallest)}, {signed(products[smallest], 2)}."
        )

    def _scale(self) -> str:
        before, after = (self._head(part).std() for part in (self.stages.products, self.stages.scores))
        if self.stages.d_k == 1:
            return "√1 = 1, so the division changes nothing here."
        root = f"√{self.stages.d_k} = {np.sqrt(self.stages.d_k):.4f}"
        if before < _ALIKE:
            return f"{root}. All products of this head are equal, and so are the scores."
        return f"{root}: the standard deviation is {before:.2f} for this head's products, {after:.2f} for its scores."

    def _mask(self) -> str:
        masked = ~self.stages.unmasked[self.view.sentence]
        count = int(masked.sum())
        if not count:
            none = "The one cell is not" if masked.size == 1 else f"None of the {masked.size} cells is"
            return f"{none} masked, so nothing changes in this step."
        one, many = "is masked. Its score was computed, and is", "are masked. Their scores were computed, and are"
        return f"{count} of {counted(masked.size, 'cell')} {one if count == 1 else many} discarded."

    def _softmax(self) -> str:
        weights = self._head(self.stages.weights)
        keys = self.stages.unmasked[self.view.sentence].sum(axis=-1)
        if not keys.all():
            return f"The row of {self._query(int(keys.argmin()))} has no unmasked key: see below the steps."
        if not (keys > 1).any():
            return "Each row has a single unmasked cell, whose weight is 1."
        logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
        entropies = np.where(keys > 1, -(weights * logs).sum(axis=-1), np.nan)
        sharp, flat = int(np.nanargmin(entropies)), int(np.nanargmax(entropies))
        among = "" if (keys > 1).all() else "Of the rows with more than one unmasked key, "
        if (keys > 1).sum() == 1:
            return (
                f"Only the row of {self._query(sharp)} has more than one unmasked key: its largest weight, "
                f"{weights[sharp].max():.2f}, goes to {self._key(int(weights[sharp].argmax()))}."
            )
        return (
            f"{among}{self._query(sharp)} has the lowest entropy: a weight of {weights[sharp].max():.2f} goes to "
            f"{self._key(int(weights[sharp].argmax()))}. {self._query(flat)} has the highest, as if its "
            f"weight were spread evenly over {np.exp(entropies[flat]):.1f} keys."
        )

    def _concatenate(self) -> str:
        whole, own = self._of(self.stages.concatenated), self._own_columns(self.stages.concatenated)
        if not whole.any():
            return "Every number of O is 0."
        share = float((own**2).sum() / (whole**2).sum())
        return (
            f"Head {self.head_number} of {self.stages.num_heads} holds {percent(share)} of the squared norm of O; an "
            f"equal share would be {percent(1 / self.stages.num_heads)}."
        )

    def _residual(self) -> str:
        before = self._norms_of(self.stages.residual)
        if not before.all():
            return "A vector of the input has norm 0: the block's output is all there is of it now."
        shares = self._norms_of(self.stages.output) / before
        most = int(shares.argmax())
        if len(shares) == 1:
            return f"The norm of what is added is {shares[0]:.2f} times that of the input."
        return (
            f"The norm of what is added is {shares.mean():.2f} times that of the input, on average; most for "
            f"{self._query(most)}: {shares[most]:.2f}."
        )

    def _norms(self, before: np.ndarray, after: np.ndarray) -> str:
        first, second = self._norms_of(before), self._norms_of(after)
        return (
            f"Norms from {first.min():.1f} to {first.max():.1f} become norms from {second.min():.1f} to "
            f"{second.max():.1f}."
        )

    def _of(self, array: np.ndarray) -> np.ndarray:
        return np.asarray(array[self.view.sentence], dtype=np.float64)

    def _head(self, array: np.ndarray) -> np.ndarray:
        return self._of(array)[self.view.head]

    def _own_columns(self, array: np.ndarray) -> np.ndarray:
        return self._head(split_heads(array, self.stages.num_heads))

    def _norms_of(self, array: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self._of(array), axis=-1)

    def _query(self, row: int) -> str:
        return quoted_at(self.view.queries, row, "query")

    def _key(self, column: int) -> str:
        return quoted_at(self.view.keys, column, "key")

    def _pair(self, row: int, column: int) -> str:
        return f"query {self._query(row)} and key {self._key(column)}"
