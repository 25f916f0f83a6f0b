"""What is said of each step of an attention block: its title, formula, shape and meaning."""

from transformer.interpret.attention_block import Stages, split_heads

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
    "residual": "X", "x": "LayerNorm(X)", "memory": "M", "query": "Q", "key": "K", "value": "V",
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
            parts = [
                _axes(("batch", "queries", "d_model"), (stages.residual if step == "input" else stages.query).shape)
            ]
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


def _axes(names: tuple[str, ...], shape: tuple[int, ...]) -> str:
    return " · ".join(f"{name} {size}" for name, size in zip(names, shape, strict=True))


def gap_words(gap: float) -> str:
    """How closely a stage was recomputed."""
    return "exactly" if not gap else f"within {gap:.0e}"
