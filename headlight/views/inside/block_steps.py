"""The steps of an attention block in words: the paper's, and those of a block that has been built otherwise."""

from dataclasses import dataclass, replace
from typing import Literal

from transformer.config import Norm, NormType
from transformer.interpret.attention_block import BlockParameters


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


INPUT, MEMORY = Matrix("residual", "queries", "model"), Matrix("memory", "keys", "model")
_QKV = (("query", "queries", "x"), ("key", "keys", "memory"), ("value", "keys", "memory"))
_LAYER_NORM = "(z − mean(z)) / √(variance(z) + ε) · γ + β"
STEPS = {
    "input": Step("Input X", "{inputs}", "{input}", (INPUT,)),
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
TAKES = {
    "project": (Matrix("x", "queries", "model"), MEMORY),
    "products": STEPS["split"].makes[:2],
    "values": (*STEPS["softmax"].makes, STEPS["split"].makes[2]),
    "residual": (INPUT, *STEPS["output"].makes),
}
SYMBOLS = {f"head_{name}": f"{name[0].upper()}<sub>h</sub>" for name in ("query", "key", "value", "output")} | {
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

_RMS_NORM = "z / √(mean(z²) + ε) · γ"
_RMS_PURPOSE = (
    "RMSNorm divides each vector by its root mean square and scales each dimension by a learned γ. LayerNorm would "
    "also subtract the mean and add a β; Zhang and Sennrich 2019 find that models do as well without."
)
# For the names of steps that are the same but for the norm: what stands in their place with an RMSNorm.
_RMS_STEPS = {
    "norm_first": ("RMSNorm first", f"X′ = {_RMS_NORM}", f"{_RMS_PURPOSE} It comes first, with pre-norm."),
    "norm_last": ("RMSNorm", _RMS_NORM, _RMS_PURPOSE),
}
_UNDIVIDED = (
    " The paper would divide these products by √d_k; this model does not: T5 begins its training with queries that are "
    "smaller by that factor."
)
_BY_DISTANCE = Step(
    "Plus the bias of the distance",
    "{before} + b<sub>h</sub>(bucket of j − i)",
    "No position was added to the embeddings: here order comes in. How far key j stands from query i chooses one of a "
    "few learned numbers of this head, the same in all layers of the stack, and it "
    "is added to the score. Near distances have a number each, far ones share one: a bucket of distances.",
    (Matrix("scores", "queries", "keys", {"kind": "biased"}),),
)
BIAS = Matrix("bias", "queries", "keys")


def steps_of(parameters: BlockParameters) -> dict[str, Step]:
    """Return the steps of a block in their order, by name: those of the paper as far as it has them."""
    steps = dict(STEPS)
    del steps["norm_last" if parameters.norm == Norm.PRE else "norm_first"]
    if parameters.norm_type == NormType.RMS:
        for name, (title, formula, purpose) in _RMS_STEPS.items():
            if name in steps:
                steps[name] = replace(steps[name], title=title, formula=formula, purpose=purpose)
    if not parameters.with_biases:
        for name in ("project", "output"):
            steps[name] = _without_biases(steps[name])
    if not parameters.scale_scores:
        del steps["scale"]
        products = steps["products"]
        steps["products"] = replace(products, purpose=products.purpose + _UNDIVIDED)
    if parameters.w_query.shape[0] != parameters.w_query.shape[1]:
        purpose = "Every head has written its own columns; W_O makes vectors as wide as the input of them."
        steps["concatenate"] = replace(steps["concatenate"], purpose=purpose)
    if parameters.relative is not None:
        steps = _with_distances(steps)
    return steps


def _without_biases(step: Step) -> Step:
    """Return a step of linear maps whose formula and sums have no biases."""
    formula = step.formula
    for name in "QKVO":
        formula = formula.replace(f" + b<sub>{name}</sub>", "")
    makes = tuple(replace(each, recipe={**(each.recipe or {}), "bias": None}) for each in step.makes)
    return replace(step, formula=formula, makes=makes)


def _with_distances(steps: dict[str, Step]) -> dict[str, Step]:
    """Return the steps with the bias of relative positions before the mask."""
    scaled = "scale" in steps
    if scaled:
        (scores,) = steps["scale"].makes
        steps["scale"] = replace(steps["scale"], makes=(replace(scores, array="divided"),))
    of = "divided" if scaled else "products"
    makes = (replace(_BY_DISTANCE.makes[0], recipe={"kind": "biased", "of": of}),)
    formula = _BY_DISTANCE.formula.format(before=SYMBOLS["scores"] if scaled else SYMBOLS["products"])
    ordered: dict[str, Step] = {}
    for name, step in steps.items():
        if name == "mask":
            ordered["bias"] = replace(_BY_DISTANCE, formula=formula, makes=makes)
        ordered[name] = step
    return ordered


def symbols_of(parameters: BlockParameters) -> dict[str, str]:
    """Return by what letters each array of a block goes in formulas, with tags of HTML."""
    symbols = dict(SYMBOLS, bias="b<sub>h</sub>", divided=SYMBOLS["scores"])
    if not parameters.scale_scores:
        symbols["scores"] = symbols["products"]
    if parameters.relative is not None:
        symbols["scores"] += " + b<sub>h</sub>"
    if parameters.norm_type == NormType.RMS:
        symbols["result"] = "RMSNorm(Z)"
    return symbols
