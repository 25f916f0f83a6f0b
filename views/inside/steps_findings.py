"""What to see in each step of an attention block, found in the numbers of this very example."""

import numpy as np

from plots.palette import signed
from plots.text import quoted
from transformer.interpret.attention_block import Stages, split_heads


class Findings:
    """What stands out in the steps of one head of one sentence (a `stages.View`)."""

    def __init__(self, stages: Stages, view):
        self.stages, self.view = stages, view
        self.head_number = view.head + 1

    def see(self, step: str) -> str:
        """What to see in the numbers of this very example; empty where nothing is worth saying."""
        say = getattr(self, f"_see_{step}", None)
        return say() if say else ""

    def _of(self, array: np.ndarray) -> np.ndarray:
        return np.asarray(array[self.view.sentence], dtype=np.float64)

    def _head(self, array: np.ndarray) -> np.ndarray:
        return self._of(array)[self.view.head]

    def _lengths(self, array: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self._of(array), axis=-1)

    def _see_input(self) -> str:
        lengths = self._lengths(self.stages.residual)
        longest, shortest = int(lengths.argmax()), int(lengths.argmin())
        queries = self.view.queries
        return (
            f"The longest vector is that of {quoted(queries[longest])} ({lengths[longest]:.1f}), the shortest that of "
            f"{quoted(queries[shortest])} ({lengths[shortest]:.1f})."
        )

    def _see_split(self) -> str:
        of_head = [
            np.linalg.norm(split_heads(part, self.stages.num_heads)[self.view.sentence, self.view.head], axis=-1).mean()
            for part in (self.stages.query, self.stages.key, self.stages.value)
        ]
        return (
            f"In head {self.head_number} a query is {of_head[0]:.1f} long on average, a key {of_head[1]:.1f}, a value "
            f"{of_head[2]:.1f}."
        )

    def _see_products(self) -> str:
        products = self._head(self.stages.products)
        (row, column), (low, lowest) = _place(products.argmax(), products), _place(products.argmin(), products)
        return (
            f"{self._pair(row, column)} suit each other best: {signed(products[row, column], 2)}. Least: "
            f"{self._pair(low, lowest)}, {signed(products[low, lowest], 2)}."
        )

    def _see_scale(self) -> str:
        before, after = self._head(self.stages.products).std(), self._head(self.stages.scores).std()
        root = np.sqrt(self.stages.d_k)
        return (
            f"√{self.stages.d_k} = {root:.4f}: the spread of this head's scores falls from {before:.2f} to {after:.2f}."
        )

    def _see_mask(self) -> str:
        closed = ~self.stages.unmasked[self.view.sentence]
        if not closed.any():
            return f"None of the {closed.size} cells is closed, so nothing changes in this step."
        return (
            f"{int(closed.sum())} of {closed.size} cells are closed. Their scores were computed, and are thrown away."
        )

    def _see_softmax(self) -> str:
        weights = self._head(self.stages.weights)
        keys = self.stages.unmasked[self.view.sentence].sum(axis=-1)
        if not keys.all():
            row = quoted(self.view.queries[int(keys.argmin())])
            return f"The row of {row} has no open key, so there is nothing to share out: see below the steps."
        rows = keys > 1
        if not rows.any():
            return "Each row has a single open cell, which gets all."
        logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
        entropies = np.where(rows, -(weights * logs).sum(axis=-1), np.nan)
        sharp, flat = int(np.nanargmin(entropies)), int(np.nanargmax(entropies))
        return (
            f"{quoted(self.view.queries[sharp])} reads most sharply: {weights[sharp].max():.2f} of its row goes to "
            f"{quoted(self.view.keys[int(weights[sharp].argmax())])}. {quoted(self.view.queries[flat])} spreads most, "
            f"as if over {np.exp(entropies[flat]):.1f} keys evenly."
        )

    def _see_concatenate(self) -> str:
        whole = self._of(self.stages.concatenated)
        own = split_heads(self.stages.concatenated, self.stages.num_heads)[self.view.sentence, self.view.head]
        if not whole.any():
            return "Every number of O is 0."
        share = float((np.asarray(own, dtype=np.float64) ** 2).sum() / (whole**2).sum())
        return (
            f"Head {self.head_number} of {self.stages.num_heads} holds {share:.0%} of the squared length of O; an "
            f"equal share would be {1 / self.stages.num_heads:.0%}."
        )

    def _see_residual(self) -> str:
        before = self._lengths(self.stages.residual)
        if not before.all():
            return "A vector of length 0 came in: what is added is all there is of it now."
        shares = self._lengths(self.stages.output) / before
        most = int(shares.argmax())
        return (
            f"What is added is {shares.mean():.2f} times as long as what came in, on average; most for "
            f"{quoted(self.view.queries[most])}: {shares[most]:.2f}."
        )

    def _see_norm_last(self) -> str:
        return self._norms(self.stages.total, self.stages.result)

    def _see_norm_first(self) -> str:
        return self._norms(self.stages.residual, self.stages.x)

    def _norms(self, before: np.ndarray, after: np.ndarray) -> str:
        first, second = self._lengths(before), self._lengths(after)
        return (
            f"Vectors from {first.min():.1f} to {first.max():.1f} long become vectors from {second.min():.1f} to "
            f"{second.max():.1f}."
        )

    def _pair(self, row: int, column: int) -> str:
        return f"Query {quoted(self.view.queries[row])} and key {quoted(self.view.keys[column])}"


def _place(index: np.integer, array: np.ndarray) -> tuple[int, int]:
    row, column = np.unravel_index(int(index), array.shape)
    return int(row), int(column)
