"""The text of each step of an attention block: its title, formula, shape and purpose."""

from dataclasses import dataclass

import numpy as np

from transformer.interpret.attention_block import Stages, split_heads


@dataclass(frozen=True)
class View:
    """What of a block is shown: sentence of the batch and head, both counted from 0, and its labels.

    `predicted` names the output token of a decoder row, None for the encoder; `toy` is for made-up numbers; `scaled`
    where √d_model scales the embeddings; `positioned` where positions are added to them; `normalised` where a LayerNorm
    follows.
    """

    kind: str
    layer: int
    head: int
    sentence: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    predicted: tuple[str, ...] | None = None
    toy: bool = False
    scaled: bool = True
    positioned: bool = True
    normalised: bool = False


@dataclass(frozen=True)
class StepText:
    """Title, formula and purpose of a step; both may have fields that depend on the block, in curly brackets."""

    title: str
    formula: str
    purpose: str


_LAYER_NORM = "(z − mean(z)) / √(variance(z) + ε) · γ + β"
STEPS = {
    "input": StepText("Input X", "{inputs}", "One vector a token, a row: {origin}."),
    "norm_first": StepText(
        "LayerNorm first",
        f"X′ = {_LAYER_NORM}",
        "With pre-norm the block reads the vectors after LayerNorm, and the residual connection carries its input past "
        "it unchanged (Xiong et al. 2020).",
    ),
    "project": StepText(
        "Queries, keys and values",
        "Q = {x} W<sub>Q</sub> + b<sub>Q</sub>, \u2002K = {memory} W<sub>K</sub> + b<sub>K</sub>, \u2002"
        "V = {memory} W<sub>V</sub> + b<sub>V</sub>",
        "Three learned matrices make three vectors of each token: the query, what it looks for; the key, what it is "
        "found by; the value, what it contributes where it is attended to. The chosen head's columns are framed.",
    ),
    "split": StepText(
        "Split into heads",
        "h = {head}: columns {first} to {last} of Q, K and V",
        "Nothing is computed here: each head takes its own columns, and works alone until the heads are concatenated.",
    ),
    "products": StepText(
        "Every query times every key",
        "S = Q<sub>h</sub> K<sub>h</sub><sup>T</sup>",
        "A dot product for each pair: large where query and key point in the same direction.",
    ),
    "scale": StepText(
        "Divided by √d_k",
        "S / √d<sub>k</sub>",
        "A sum of d_k products of independent terms with mean 0 and variance 1 has a standard deviation of √d_k. The "
        "paper suspects that for large d_k softmax would otherwise be pushed to where its gradients are extremely "
        "small (3.2.1); see “why √d_k” for what is measured at this model's.",
    ),
    "mask": StepText(
        "The mask",
        "s<sub>ij</sub> = −∞ where query i may not attend to key j",
        "Padding would be masked here; a sentence alone has none, and every token of it may be attended to.",
    ),
    "softmax": StepText(
        "Softmax: scores become weights",
        "a<sub>ij</sub> = exp(s<sub>ij</sub>) / Σ<sub>n</sub> exp(s<sub>in</sub>)",
        "Each row becomes shares that sum to 1. One much larger score takes nearly all.",
    ),
    "values": StepText(
        "Weights times values",
        "O<sub>h</sub> = A V<sub>h</sub>",
        "Each query gets the average of the values, weighted by its row: the only place where information moves from "
        "one token to another.",
    ),
    "concatenate": StepText(
        "Concatenate heads",
        "O = {heads}",
        "Every head has written its own columns; together they are as wide as the input.",
    ),
    "output": StepText(
        "Output projection W_O",
        "Y = O W<sub>O</sub> + b<sub>O</sub>",
        "A last learned matrix combines the heads, so that each can write anywhere into the vector.",
    ),
    "residual": StepText(
        "Residual connection",
        "Z = X + Y",
        "The block does not replace the vectors, it adds to them (paper, 5.4). Dropout, which is for training only, "
        "comes before this sum.",
    ),
    "norm_last": StepText(
        "LayerNorm",
        _LAYER_NORM,
        "Each vector alone is normalised to mean 0 and standard deviation 1, then scaled by γ and shifted by β, one "
        "learned number a dimension.",
    ),
}
_CAUSAL_MASK = "A query may attend to its own token and those before it: later ones are what it is to predict."
_CROSS_INPUT = (
    "X are the decoder's vectors after its masked self-attention, one for each input token; the memory M is the output "
    "of the encoder's last layer for the source. Queries come from X, keys and values from M."
)
_TOY_INPUT = "One made-up vector a token, a row. In a model these are the embeddings plus the positions."
_TOY_MASK = "Click a cell, or go there with the arrow keys and press Enter, to mask it or to unmask it again."
_SYMBOLS = {
    "residual": "X",
    "x": "X′",
    "memory": "M",
    "query": "Q",
    "key": "K",
    "value": "V",
    "head_query": "Q<sub>h</sub>",
    "head_key": "K<sub>h</sub>",
    "head_value": "V<sub>h</sub>",
    "head_output": "O<sub>h</sub>",
    "products": "S",
    "scores": "S / √d<sub>k</sub>",
    "weights": "A",
    "concatenated": "O",
    "output": "Y",
    "total": "Z",
    "result": "LayerNorm(Z)",
}
_RESULTS = {  # step -> the array it makes, where that has a row a query and a column a dimension of the model
    "input": "residual",
    "norm_first": "x",
    "concatenate": "concatenated",
    "output": "output",
    "residual": "total",
    "norm_last": "result",
}
_QUERIES, _KEYS = ("batch", "queries", "d_model"), ("batch", "keys", "d_model")
_HEAD_QUERIES, _HEAD_KEYS = ("batch", "heads", "queries", "d_k"), ("batch", "heads", "keys", "d_k")


class BlockText:
    """The texts for one head of one sentence; `norm` is "post" or "pre"."""

    def __init__(self, stages: Stages, view: View, norm: str):
        self.stages, self.view = stages, view
        self.cross = view.kind == "cross"
        x = "X" if norm == "post" else "X′"
        heads = stages.num_heads
        scaled, normed = " times √d_model," * view.scaled, ", after a LayerNorm" * view.normalised
        embeddings = f"the embeddings,{scaled} plus the positions{normed}"
        if not view.positioned:
            embeddings = f"the embeddings{scaled.rstrip(',')}{normed}"
        self._fields = {
            "inputs": "X, M" if self.cross else "X",
            "origin": "the output of the layer below" if view.layer else embeddings,
            "x": x,
            "memory": "M" if self.cross else x,
            "head": view.head + 1,
            "first": view.head * stages.d_k + 1,
            "last": (view.head + 1) * stages.d_k,
            "heads": f"[O<sub>1</sub> … O<sub>{heads}</sub>]" if heads > 1 else "O<sub>1</sub>",
        }

    def title(self, step: str) -> str:
        """Its heading."""
        return STEPS[step].title

    def formula(self, step: str) -> str:
        """Its formula, with the tags sub and sup of HTML and nothing from a user."""
        return STEPS[step].formula.format(**self._fields)

    def symbol(self, array: str) -> str:
        """The letter of a matrix."""
        return _SYMBOLS[array]

    def shape(self, step: str) -> str:
        """The shape of what the step makes, each axis by its name, read from the arrays."""
        stages = self.stages
        if step in ("products", "scale", "mask", "softmax"):
            return _axes(("batch", "heads", "queries", "keys"), stages.scores)
        if step == "split":
            query, key = (split_heads(part, stages.num_heads) for part in (stages.query, stages.key))
            return f"Q: {_axes(_HEAD_QUERIES, query)}; K and V: {_axes(_HEAD_KEYS, key)}"
        if step == "values":
            return _axes(_HEAD_QUERIES, split_heads(stages.concatenated, stages.num_heads))
        if step == "project":
            return f"Q: {_axes(_QUERIES, stages.query)}; K and V: {_axes(_KEYS, stages.key)}"
        if step == "input" and self.cross:
            return f"X: {_axes(_QUERIES, stages.residual)}; M: {_axes(_KEYS, stages.memory)}"
        return _axes(_QUERIES, getattr(stages, _RESULTS[step]))

    def purpose(self, step: str) -> str:
        """What the step is for."""
        if self.view.toy and step in ("input", "mask"):
            return _TOY_INPUT if step == "input" else _TOY_MASK
        if step == "input" and self.cross:
            return _CROSS_INPUT
        if step == "mask" and self.view.kind == "decoder":
            return _CAUSAL_MASK
        return STEPS[step].purpose.format(**self._fields)


def _axes(names: tuple[str, ...], array: np.ndarray) -> str:
    return " · ".join(f"{name} {size}" for name, size in zip(names, array.shape, strict=True))
