"""What is said of each step of an attention block: its title, formula, shape, meaning, and what to see in this one."""

import numpy as np

from transformer.stages import Stages, split_heads

from .captions import quoted

_TITLES = {
    "input": "What comes in",
    "norm_first": "LayerNorm first",
    "project": "Queries, keys and values",
    "split": "Split into heads",
    "products": "Every query against every key",
    "scale": "Divided by √d_k",
    "mask": "The mask",
    "softmax": "Softmax: scores become weights",
    "values": "Weights times values",
    "concatenate": "The heads side by side",
    "output": "Mixed by W_O",
    "residual": "Added to what came in",
    "norm_last": "LayerNorm",
}
_LAYER_NORM = "(z − mean(z)) / √(variance(z) + ε) · γ + β"
_FORMULAS = {
    "products": "S = Q<sub>h</sub> K<sub>h</sub><sup>T</sup>",
    "scale": "S / √d<sub>k</sub>",
    "mask": "s<sub>ij</sub> = −∞ where query i may not read key j",
    "softmax": "a<sub>ij</sub> = exp(s<sub>ij</sub>) / Σ<sub>n</sub> exp(s<sub>in</sub>)",
    "values": "O<sub>h</sub> = A V<sub>h</sub>",
    "output": "Y = O W<sub>O</sub> + b<sub>O</sub>",
    "residual": "Z = X + Y",
}
_WHYS = {
    "norm_first": "With pre-norm the block reads the vectors after LayerNorm, and what comes in goes past it untouched "
    "(Xiong et al. 2020).",
    "project": "Three learned matrices make three vectors of each token: what it looks for, what it offers to be found "
    "by, and what it hands over when it is read. The chosen head's columns are framed.",
    "split": "Nothing is computed here: each head takes its own columns, and from here to step “side by side” every "
    "head works alone.",
    "products": "A dot product for each pair: large where the query points the way of the key.",
    "scale": "A sum of d_k products spreads by about √d_k if its terms are independent; without the division softmax "
    "would start out so steep that hardly any gradient gets through it (paper, 3.2.1).",
    "softmax": "Each row becomes shares that sum to 1. One much larger score takes nearly all.",
    "values": "Each query gets the average of the values, weighted by its row: the only place where information moves "
    "from one token to another.",
    "concatenate": "Every head has written its own columns; together they are as wide as what came in.",
    "output": "A last learned matrix mixes what the heads found, so that they can write anywhere into the vector.",
    "residual": "The block does not replace the vectors, it adds to them (paper, 5.4). Dropout, which is for training "
    "only, stands before this sum.",
    "norm_last": "Each vector alone is brought to mean 0 and spread 1, then stretched by γ and moved by β, one learned "
    "number a dimension.",
}  # fmt: skip
_SYMBOLS = {
    "stream": "X", "x": "LayerNorm(X)", "memory": "M", "query": "Q", "key": "K", "value": "V",
    "head_query": "Q<sub>h</sub>", "head_key": "K<sub>h</sub>", "head_value": "V<sub>h</sub>",
    "head_output": "O<sub>h</sub>", "products": "S", "scores": "S / √d<sub>k</sub>", "weights": "A",
    "concatenated": "O", "output": "Y", "total": "Z", "result": "LayerNorm(Z)",
}  # fmt: skip


class Words:
    """The words for one head of one sentence (a `stages.View`); `norm` is "post" or "pre"."""

    def __init__(self, stages: Stages, view, norm: str):
        self.stages, self.view, self.norm = stages, view, norm
        self.cross = view.kind == "cross"
        self.head_number = view.head + 1

    def title(self, step: str) -> str:
        """Its heading."""
        return _TITLES[step]

    def formula(self, step: str) -> str:
        """Its formula, with the tags sub and sup of HTML and nothing from a visitor."""
        source, memory = (
            ("X" if self.norm == "post" else "X′"),
            ("M" if self.cross else "X′" if self.norm == "pre" else "X"),
        )
        if step == "input":
            return "X, M" if self.cross else "X"
        if step == "project":
            parts = zip("QKV", (source, memory, memory), strict=True)
            return ", \u2002".join(f"{name} = {of} W<sub>{name}</sub> + b<sub>{name}</sub>" for name, of in parts)
        if step == "split":
            first, last = self.view.head * self.stages.d_k + 1, self.head_number * self.stages.d_k
            return f"h = {self.head_number}: columns {first} to {last} of Q, K and V"
        if step == "concatenate":
            heads = self.stages.num_heads
            return f"O = [O<sub>1</sub> … O<sub>{heads}</sub>]" if heads > 1 else "O = O<sub>1</sub>"
        if step in ("norm_first", "norm_last"):
            return f"{'X′ = ' if step == 'norm_first' else ''}{_LAYER_NORM}"
        return _FORMULAS[step]

    def symbol(self, array: str) -> str:
        """The letter of a matrix."""
        return "X′" if array == "x" else _SYMBOLS[array]

    def shape(self, step: str) -> str:
        """The shape of what the step makes, each axis by its name, read from the arrays."""
        stages = self.stages
        model = ("batch", "queries", "d_model")
        if step in ("input", "project"):
            parts = [_axes(("batch", "queries", "d_model"), (stages.stream if step == "input" else stages.query).shape)]
            if self.cross and step == "input":
                parts = [f"X: {parts[0]}", f"M: {_axes(('batch', 'keys', 'd_model'), stages.memory.shape)}"]
            if step == "project":
                parts = [f"Q: {parts[0]}", f"K and V: {_axes(('batch', 'keys', 'd_model'), stages.key.shape)}"]
            return "; ".join(parts)
        if step == "split":
            query, key = (split_heads(part, stages.num_heads).shape for part in (stages.query, stages.key))
            names = ("batch", "heads", "queries", "d_k")
            return f"Q: {_axes(names, query)}; K and V: {_axes(('batch', 'heads', 'keys', 'd_k'), key)}"
        if step == "values":
            return _axes(("batch", "heads", "queries", "d_k"), split_heads(stages.concatenated, stages.num_heads).shape)
        if step in ("products", "scale", "mask", "softmax"):
            return _axes(("batch", "heads", "queries", "keys"), stages.scores.shape)
        arrays = {"norm_first": "x", "concatenate": "concatenated", "residual": "total", "norm_last": "result"}
        return _axes(model, getattr(stages, arrays.get(step, step)).shape)

    def why(self, step: str) -> str:
        """What the step is for."""
        if step == "input" and self.view.toy:
            return "One made-up vector a token, a row. In a model these are the embeddings plus the positions."
        if step == "mask" and self.view.toy:
            return "Click a cell, or go there with the arrow keys and press Enter, to close it or to open it again."
        if step == "input":
            first = self.view.layer == 0
            own = "the embeddings, times √d_model, plus the positions" if first else "what the layer below gave"
            if not self.cross:
                return f"One vector a token, a row: {own}."
            return (
                "X are the decoder's vectors after its masked self-attention, one for each token it was fed; the "
                "memory M is what the encoder's last layer gave for the source. Queries come from X, keys and values "
                "from M."
            )
        if step == "mask":
            if self.view.kind == "decoder":
                return "A query may read its own token and those before it: later ones are what it is to predict."
            return "Padding would be closed here; a sentence alone has none, and every token of it may be read."
        return _WHYS[step]

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
        lengths = self._lengths(self.stages.stream)
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
            f"{self._pair(row, column)} suit each other best: {products[row, column]:.2f}. Least: "
            f"{self._pair(low, lowest)}, {products[low, lowest]:.2f}."
        )

    def _see_scale(self) -> str:
        before, after = self._head(self.stages.products).std(), self._head(self.stages.scores).std()
        root = np.sqrt(self.stages.d_k)
        return (
            f"√{self.stages.d_k} = {root:.4f}: the spread of this head's scores falls from {before:.2f} to {after:.2f}."
        )

    def _see_mask(self) -> str:
        closed = ~self.stages.open_cells[self.view.sentence]
        if not closed.any():
            return f"None of the {closed.size} cells is closed, so nothing changes in this step."
        return (
            f"{int(closed.sum())} of {closed.size} cells are closed. Their scores were computed, and are thrown away."
        )

    def _see_softmax(self) -> str:
        weights = self._head(self.stages.weights)
        keys = self.stages.open_cells[self.view.sentence].sum(axis=-1)
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
        share = float((np.asarray(own, dtype=np.float64) ** 2).sum() / (whole**2).sum())
        return (
            f"Head {self.head_number} of {self.stages.num_heads} holds {share:.0%} of the squared length of O; an "
            f"equal share would be {1 / self.stages.num_heads:.0%}."
        )

    def _see_residual(self) -> str:
        shares = self._lengths(self.stages.output) / self._lengths(self.stages.stream)
        most = int(shares.argmax())
        return (
            f"What is added is {shares.mean():.2f} times as long as what came in, on average; most for "
            f"{quoted(self.view.queries[most])}: {shares[most]:.2f}."
        )

    def _see_norm_last(self) -> str:
        return self._norms(self.stages.total, self.stages.result)

    def _see_norm_first(self) -> str:
        return self._norms(self.stages.stream, self.stages.x)

    def _norms(self, before: np.ndarray, after: np.ndarray) -> str:
        first, second = self._lengths(before), self._lengths(after)
        return (
            f"Vectors from {first.min():.1f} to {first.max():.1f} long become vectors from {second.min():.1f} to "
            f"{second.max():.1f}."
        )

    def _pair(self, row: int, column: int) -> str:
        return f"Query {quoted(self.view.queries[row])} and key {quoted(self.view.keys[column])}"


def _axes(names: tuple[str, ...], shape: tuple[int, ...]) -> str:
    return " · ".join(f"{name} {size}" for name, size in zip(names, shape, strict=True))


def _place(index: np.integer, array: np.ndarray) -> tuple[int, int]:
    row, column = np.unravel_index(int(index), array.shape)
    return int(row), int(column)


def gap_words(gap: float) -> str:
    """How closely a stage was recomputed."""
    return "exactly" if not gap else f"within {gap:.0e}"
