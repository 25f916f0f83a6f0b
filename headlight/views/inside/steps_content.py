"""What the steps of one attention block show: matrices, how each cell came about, words, and a page of their own."""

import base64
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from headlight.components.standalone import Words, standalone
from headlight.plots.text import KIND_NAMES, percent, quoted_at, signed
from transformer.arrays import entropy
from transformer.interpret.attention_block import BlockParameters, Stages, split_heads
from transformer.interpret.trace import Trace


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
class Matrix:
    """A matrix of a step: what its rows and columns are, how a cell came about, and its colours: around 0 or 0 to 1."""

    array: str
    rows: str
    columns: str
    recipe: dict | None = None
    scale: Literal["signed", "weights"] = "signed"


@dataclass(frozen=True)
class Step:
    """A step's words and the matrices it makes; formula and purpose may have fields of the block, in curly brackets."""

    title: str
    formula: str
    purpose: str
    makes: tuple[Matrix, ...]


def _projected(left: str, name: str, *, of_head: bool) -> dict:
    return {"kind": "projected", "left": left, "right": f"w_{name}", "bias": f"b_{name}", "of_head": of_head}


_INPUT, _MEMORY = Matrix("residual", "queries", "model"), Matrix("memory", "keys", "model")
_QKV = (("query", "queries", "x"), ("key", "keys", "memory"), ("value", "keys", "memory"))
_LAYER_NORM = "(z − mean(z)) / √(variance(z) + ε) · γ + β"
STEPS = {
    "input": Step("Input X", "{inputs}", "{input}", (_INPUT,)),
    "norm_first": Step(
        "LayerNorm first",
        f"X′ = {_LAYER_NORM}",
        "With pre-norm the block reads the vectors after LayerNorm, and the residual connection carries its input past "
        "it unchanged (Xiong et al. 2020).",
        (Matrix("x", "queries", "model", {"kind": "normalised", "of": "residual"}),),
    ),
    "project": Step(
        "Queries, keys and values",
        "Q = {x} W<sub>Q</sub> + b<sub>Q</sub>, \u2002K = {memory} W<sub>K</sub> + b<sub>K</sub>, \u2002"
        "V = {memory} W<sub>V</sub> + b<sub>V</sub>",
        "Three learned matrices make three vectors of each token: the query, what it looks for; the key, what it is "
        "found by; the value, what it contributes where it is attended to. The chosen head's columns are framed.",
        tuple(Matrix(name, rows, "model", _projected(left, name, of_head=True)) for name, rows, left in _QKV),
    ),
    "split": Step(
        "Split into heads",
        "h = {head}: columns {first} to {last} of Q, K and V",
        "Nothing is computed here: each head takes its own columns, and works alone until the heads are concatenated.",
        tuple(Matrix(f"head_{name}", rows, "head", {"kind": "cut", "of": name}) for name, rows, _ in _QKV),
    ),
    "products": Step(
        "Every query times every key",
        "S = Q<sub>h</sub> K<sub>h</sub><sup>T</sup>",
        "A dot product for each pair: large where query and key point in the same direction.",
        (Matrix("products", "queries", "keys", {"kind": "dot", "left": "head_query", "right": "head_key"}),),
    ),
    "scale": Step(
        "Divided by √d_k",
        "S / √d<sub>k</sub>",
        "A sum of d_k products of independent terms with mean 0 and variance 1 has a standard deviation of √d_k. The "
        "paper suspects that for large d_k softmax would otherwise be pushed to where its gradients are extremely "
        "small (3.2.1); see “why √d_k” for what is measured at this model's.",
        (Matrix("scores", "queries", "keys", {"kind": "divided", "of": "products"}),),
    ),
    "mask": Step(
        "The mask",
        "s<sub>ij</sub> = −∞ where query i may not attend to key j",
        "{mask}",
        (Matrix("scores", "queries", "keys", {"kind": "masked", "of": "scores"}),),
    ),
    "softmax": Step(
        "Softmax: scores become weights",
        "a<sub>ij</sub> = exp(s<sub>ij</sub>) / Σ<sub>n</sub> exp(s<sub>in</sub>)",
        "Each row becomes shares that sum to 1. One much larger score takes nearly all.",
        (Matrix("weights", "queries", "keys", {"kind": "softmax", "of": "scores"}, "weights"),),
    ),
    "values": Step(
        "Weights times values",
        "O<sub>h</sub> = A V<sub>h</sub>",
        "Each query gets the average of the values, weighted by its row: the only place where information moves from "
        "one token to another.",
        (Matrix("head_output", "queries", "head", {"kind": "weighted", "left": "weights", "right": "head_value"}),),
    ),
    "concatenate": Step(
        "Concatenate heads",
        "O = {heads}",
        "Every head has written its own columns; together they are as wide as the input.",
        (Matrix("concatenated", "queries", "model", {"kind": "placed", "of": "head_output"}),),
    ),
    "output": Step(
        "Output projection W_O",
        "Y = O W<sub>O</sub> + b<sub>O</sub>",
        "A last learned matrix combines the heads, so that each can write anywhere into the vector.",
        (Matrix("output", "queries", "model", _projected("concatenated", "output", of_head=False)),),
    ),
    "residual": Step(
        "Residual connection",
        "Z = X + Y",
        "The block does not replace the vectors, it adds to them (paper, 5.4). Dropout, which is for training only, "
        "comes before this sum.",
        (Matrix("total", "queries", "model", {"kind": "sum", "of": ["residual", "output"]}),),
    ),
    "norm_last": Step(
        "LayerNorm",
        _LAYER_NORM,
        "Each vector alone is normalised to mean 0 and standard deviation 1, then scaled by γ and shifted by β, one "
        "learned number a dimension.",
        (Matrix("result", "queries", "model", {"kind": "normalised", "of": "total"}),),
    ),
}
# What a step takes besides what the step before it made, in the order of its formula. X is X′ with pre-norm.
_TAKES = {
    "project": (Matrix("x", "queries", "model"), _MEMORY),
    "products": STEPS["split"].makes[:2],
    "values": (*STEPS["softmax"].makes, STEPS["split"].makes[2]),
    "residual": (_INPUT, *STEPS["output"].makes),
}
_MASKS = {
    "decoder": "A query may attend to its own token and those before it: later ones are what it is to predict.",
    "toy": "Choose a cell, or go there with the arrow keys and press Enter, to mask it or to unmask it again.",
}
_NO_MASK = "Padding would be masked here; a sentence alone has none, and every token of it may be attended to."
_INPUTS = {
    "cross": "X are the decoder's vectors after its masked self-attention, one for each input token; the memory M is "
    "the output of the encoder's last layer for the source. Queries come from X, keys and values from M.",
    "toy": "One made-up vector a token, a row. In a model these are the embeddings plus the positions.",
}
_SYMBOLS = {f"head_{name}": f"{name[0].upper()}<sub>h</sub>" for name in ("query", "key", "value", "output")} | {
    "residual": "X",
    "x": "X′",
    "memory": "M",
    "query": "Q",
    "key": "K",
    "value": "V",
    "products": "S",
    "scores": "S / √d<sub>k</sub>",
    "weights": "A",
    "concatenated": "O",
    "output": "Y",
    "total": "Z",
    "result": "LayerNorm(Z)",
}
_LOOK_FOR = (
    "Go from step to step with the arrow keys, and point at any cell: the sum behind it is written out with the "
    "numbers of the step before."
)


def stages_payload(
    stages: Stages, parameters: BlockParameters, gaps: dict[str, float], view: View, *, editable: bool = False
) -> dict:
    """Return everything the component shows of one head, ready for JSON: each step with its matrices.

    `gaps` are the largest differences of every stage from its recomputation in float64 (`stages.differences`). Arrays
    travel as bytes in base64: float32, and float16 where that holds the same numbers. A matrix says how one of its
    cells came about (`recipe`), so that the page can write out the sum behind any of them. `editable` lets cells of
    the mask be clicked.
    """
    pre_norm = parameters.norm == "pre"
    order = [name for name in STEPS if name != ("norm_last" if pre_norm else "norm_first")]
    fields = _fields(stages, view, "X′" if pre_norm else "X")
    name = "Self-attention over made-up numbers" if view.toy else f"{KIND_NAMES[view.kind]}, layer {view.layer + 1}"
    return {
        "id": f"{view.kind} {view.layer} {view.sentence}",
        "block": f"{name}, head {view.head + 1}",
        "queries": list(view.queries),
        "keys": list(view.keys),
        "predicts": list(view.predicted) if view.predicted else None,
        "own": view.kind != "cross",  # queries and keys are the same tokens
        "arrays": {name: _packed(array) for name, array in _arrays(stages, parameters, view).items()},
        "steps": [
            _step(name, before, fields, stages, view, gaps)
            for before, name in zip(("", *order[:-1]), order, strict=True)
        ],
        "head": view.head,
        "heads": stages.num_heads,
        "d_k": stages.d_k,
        "epsilon": parameters.epsilon,
        "editable": editable,
        "whose": "The float32 number here" if view.toy else "The model",
    }


def steps_page(payload: dict, chosen: tuple[int, int, int, str], title: str, trace: Trace, checkpoint: str) -> str:
    """Return one HTML file of a block (see `stages_payload`); chosen: query, key and dimension from 1, and a step."""
    words = Words(title, trace.source_text, trace.target_text, checkpoint, _LOOK_FOR)
    return standalone("attention_steps/steps", {**payload, "chosen": list(chosen), "turn": 0}, words)


def _arrays(stages: Stages, parameters: BlockParameters, view: View) -> dict[str, np.ndarray]:
    """Return every matrix and vector that is drawn or that a sum needs, of this sentence and this head."""
    sentence, head = view.sentence, view.head
    columns = slice(head * stages.d_k, (head + 1) * stages.d_k)
    whole = ("residual", "x", "memory", "query", "key", "value", "concatenated", "output", "total", "result")
    arrays = {name: getattr(stages, name)[sentence] for name in whole}
    for name in ("query", "key", "value"):
        arrays[f"head_{name}"] = split_heads(getattr(stages, name), stages.num_heads)[sentence, head]
        arrays[f"w_{name}"] = getattr(parameters, f"w_{name}")[:, columns]
        arrays[f"b_{name}"] = getattr(parameters, f"b_{name}")[None, columns]
    arrays |= {name: getattr(stages, name)[sentence, head] for name in ("products", "scores", "weights")}
    arrays["open"] = stages.unmasked[sentence]
    arrays["head_output"] = split_heads(stages.concatenated, stages.num_heads)[sentence, head]
    arrays["w_output"], arrays["b_output"] = parameters.w_output, parameters.b_output[None]
    arrays["gamma"], arrays["beta"] = parameters.gamma[None], parameters.beta[None]
    return arrays


def _packed(array: np.ndarray) -> dict:
    numbers = np.asarray(array, dtype=np.float32)
    half = numbers.astype(np.float16)
    exact = np.array_equal(half.astype(np.float32), numbers)
    kept = half.astype("<f2") if exact else numbers.astype("<f4")
    text = base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode("ascii")
    return {"rows": array.shape[0], "columns": array.shape[1], "half": exact, "bytes": text}


def _step(name: str, before: str, fields: dict[str, str], stages: Stages, view: View, gaps: dict[str, float]) -> dict:
    step, cross = STEPS[name], view.kind == "cross"
    makes = (_INPUT, _MEMORY) if name == "input" and cross else step.makes
    takes = _TAKES.get(name) or (STEPS[before].makes if before else ())
    shown = [gaps[each] for each in (panel.array.removeprefix("head_") for panel in makes) if each in gaps]
    return {
        "name": name,
        "title": step.title,
        "formula": step.formula.format(**fields),
        "shape": _shape(makes, stages),
        "why": step.purpose.format(**fields),
        "see": describe_step(name, stages, view),
        "gap": max(shown) if shown else None,
        "panels": [asdict(panel) | {"symbol": _SYMBOLS[panel.array]} for panel in makes],
        "inputs": [
            asdict(panel) | {"symbol": _SYMBOLS[panel.array]} for panel in takes if cross or panel is not _MEMORY
        ],
    }


def _fields(stages: Stages, view: View, x: str) -> dict[str, str]:
    """Return what depends on the block in formulas (with tags of HTML, nothing from a user) and purposes."""
    cross, toy, heads = view.kind == "cross", "toy" * view.toy, stages.num_heads
    embeddings = f"the embeddings{', times √d_model' * view.scaled}{', plus the positions' * view.positioned}"
    origin = "the output of the layer below" if view.layer else embeddings + ", after a LayerNorm" * view.normalised
    return {
        "inputs": "X, M" if cross else "X",
        "input": _INPUTS.get(toy or view.kind, f"One vector a token, a row: {origin}."),
        "x": x,
        "memory": "M" if cross else x,
        "head": str(view.head + 1),
        "first": str(view.head * stages.d_k + 1),
        "last": str((view.head + 1) * stages.d_k),
        "heads": f"[O<sub>1</sub> … O<sub>{heads}</sub>]" if heads > 1 else "O<sub>1</sub>",
        "mask": _MASKS.get(toy or view.kind, _NO_MASK),
    }


def _shape(makes: tuple[Matrix, ...], stages: Stages) -> str:
    """Return the shape of what a step makes, each axis by its name; of several matrices, each shape by its letters."""
    batch, heads, queries, keys = stages.scores.shape
    sizes = {"queries": queries, "keys": keys, "model": heads * stages.d_k, "head": stages.d_k}
    names = {"model": "d_model", "head": "d_k"}
    shapes: dict[str, list[str]] = {}
    for matrix in makes:
        axes = [(axis, sizes[axis]) for axis in (matrix.rows, matrix.columns)]
        axes = [("batch", batch), *([] if matrix.columns == "model" else [("heads", heads)]), *axes]
        text = " · ".join(f"{names.get(axis, axis)} {size}" for axis, size in axes)
        shapes.setdefault(text, []).append(_SYMBOLS[matrix.array.removeprefix("head_")])
    return "; ".join(f"{' and '.join(letters)}: {text}" if len(makes) > 1 else text for text, letters in shapes.items())


def describe_step(step: str, stages: Stages, view: View) -> str:
    """Return what to see of a step in the numbers of this example; "" for a step without a finding."""
    return _FINDINGS[step](stages, view) if step in _FINDINGS else ""


def _input(stages: Stages, view: View) -> str:
    norms = _norms(stages.residual, view)
    high, low = int(norms.argmax()), int(norms.argmin())
    return (
        f"The largest norm is that of {_query(view, high)} ({norms[high]:.1f}), the smallest that of "
        f"{_query(view, low)} ({norms[low]:.1f})."
    )


def _normalised(before: np.ndarray, after: np.ndarray, view: View) -> str:
    first, second = _norms(before, view), _norms(after, view)
    return (
        f"Norms from {first.min():.1f} to {first.max():.1f} become norms from {second.min():.1f} to {second.max():.1f}."
    )


def _split(stages: Stages, view: View) -> str:
    query, key, value = (
        np.linalg.norm(_columns(part, stages, view), axis=-1).mean()
        for part in (stages.query, stages.key, stages.value)
    )
    return f"Mean norms in head {view.head + 1}: {query:.1f} of a query, {key:.1f} of a key, {value:.1f} of a value."


def _products(stages: Stages, view: View) -> str:
    products = stages.products[view.sentence, view.head]
    high, low = (
        f"query {_query(view, row)} and key {_key(view, column)} ({signed(products[row, column], 2)})"
        for row, column in (divmod(int(at), products.shape[1]) for at in (products.argmax(), products.argmin()))
    )
    return f"The largest product is that of {high}, the smallest that of {low}."


def _scale(stages: Stages, view: View) -> str:
    before, after = (_of(part, view)[view.head].std() for part in (stages.products, stages.scores))
    return (
        f"√{stages.d_k} = {np.sqrt(stages.d_k):.4f}: the standard deviation is {before:.2f} for this head's products, "
        f"{after:.2f} for its scores."
    )


def _mask(stages: Stages, view: View) -> str:
    unmasked = stages.unmasked[view.sentence]
    if unmasked.all():
        return f"None of the {unmasked.size} cells is masked."
    return f"Masked: {(~unmasked).sum()} of {unmasked.size} cells; their scores were computed, and are discarded."


def _softmax(stages: Stages, view: View) -> str:
    rows = np.flatnonzero(stages.unmasked[view.sentence].sum(axis=-1) > 1)
    if not len(rows):
        return "No row has more than one unmasked key."
    weights = _of(stages.weights, view)[view.head]
    entropies = entropy(weights[rows])
    sharp, flat = rows[entropies.argmin()], rows[entropies.argmax()]
    return (
        f"Of the rows with more than one unmasked key, {_query(view, sharp)} has the lowest entropy "
        f"({weights[sharp].max():.2f} on {_key(view, weights[sharp].argmax())}), {_query(view, flat)} the highest: as "
        f"if spread evenly over {np.exp(entropies.max()):.1f} keys."
    )


def _concatenate(stages: Stages, view: View) -> str:
    concatenated = stages.concatenated
    whole, own = ((part**2).sum() for part in (_of(concatenated, view), _columns(concatenated, stages, view)))
    return (
        f"Head {view.head + 1} of {stages.num_heads} holds {percent(own / whole if whole else 0)} of the squared norm "
        f"of O; an equal share would be {percent(1 / stages.num_heads)}."
    )


def _residual(stages: Stages, view: View) -> str:
    before, added, after = (_norms(part, view).mean() for part in (stages.residual, stages.output, stages.total))
    return f"Mean norms: {before:.1f} of the input, {added:.1f} of what is added, {after:.1f} of their sum."


_FINDINGS = {
    "input": _input,
    "norm_first": lambda stages, view: _normalised(stages.residual, stages.x, view),
    "split": _split,
    "products": _products,
    "scale": _scale,
    "mask": _mask,
    "softmax": _softmax,
    "concatenate": _concatenate,
    "residual": _residual,
    "norm_last": lambda stages, view: _normalised(stages.total, stages.result, view),
}


def _of(array: np.ndarray, view: View) -> np.ndarray:
    return np.asarray(array[view.sentence], dtype=np.float64)


def _columns(array: np.ndarray, stages: Stages, view: View) -> np.ndarray:
    return _of(split_heads(array, stages.num_heads), view)[view.head]


def _norms(array: np.ndarray, view: View) -> np.ndarray:
    return np.linalg.norm(_of(array, view), axis=-1)


def _query(view: View, row: int) -> str:
    return quoted_at(view.queries, row, "query")


def _key(view: View, column: int) -> str:
    return quoted_at(view.keys, column, "key")
