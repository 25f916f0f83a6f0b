"""One attention block as the plain values that the component draws: arrays, steps, and how each cell came about."""

import base64
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from headlight.plots.text import KIND_NAMES
from transformer.interpret.attention_block import BlockParameters, Stages, split_heads

from .steps_findings import Findings
from .steps_text import BlockText, View


@dataclass(frozen=True)
class Matrix:
    """A matrix of a step: what its rows and columns are, how a cell came about, and its colours: around 0 or 0 to 1."""

    array: str
    rows: str
    columns: str
    recipe: dict | None = None
    scale: Literal["signed", "weights"] = "signed"


_INPUT, _MEMORY = Matrix("residual", "queries", "model"), Matrix("memory", "keys", "model")
_SIDES = {"query": "queries", "key": "keys", "value": "keys"}
_LEFT = {"query": "x", "key": "memory", "value": "memory"}


def _projected(left: str, name: str, of_head: bool) -> dict:
    return {"kind": "projected", "left": left, "right": f"w_{name}", "bias": f"b_{name}", "of_head": of_head}


PANELS = {
    "input": (_INPUT,),
    "norm_first": (Matrix("x", "queries", "model", {"kind": "normalised", "of": "residual"}),),
    "project": tuple(Matrix(name, rows, "model", _projected(_LEFT[name], name, True)) for name, rows in _SIDES.items()),
    "split": tuple(Matrix(f"head_{name}", rows, "head", {"kind": "cut", "of": name}) for name, rows in _SIDES.items()),
    "products": (Matrix("products", "queries", "keys", {"kind": "dot", "left": "head_query", "right": "head_key"}),),
    "scale": (Matrix("scores", "queries", "keys", {"kind": "divided", "of": "products"}),),
    "mask": (Matrix("scores", "queries", "keys", {"kind": "masked", "of": "scores"}),),
    "softmax": (Matrix("weights", "queries", "keys", {"kind": "softmax", "of": "scores"}, "weights"),),
    "values": (
        Matrix("head_output", "queries", "head", {"kind": "weighted", "left": "weights", "right": "head_value"}),
    ),
    "concatenate": (Matrix("concatenated", "queries", "model", {"kind": "placed", "of": "head_output"}),),
    "output": (Matrix("output", "queries", "model", _projected("concatenated", "output", False)),),
    "residual": (Matrix("total", "queries", "model", {"kind": "sum", "of": ["residual", "output"]}),),
    "norm_last": (Matrix("result", "queries", "model", {"kind": "normalised", "of": "total"}),),
}


# What a step takes: the matrices of the steps before, in the order of its formula. X is X′ with pre-norm.
INPUTS = {
    "norm_first": (_INPUT,),
    "project": (Matrix("x", "queries", "model"), _MEMORY),
    "split": PANELS["project"],
    "products": PANELS["split"][:2],
    "scale": PANELS["products"],
    "mask": PANELS["scale"],
    "softmax": PANELS["mask"],
    "values": (*PANELS["softmax"], PANELS["split"][2]),
    "concatenate": PANELS["values"],
    "output": PANELS["concatenate"],
    "residual": (_INPUT, *PANELS["output"]),
    "norm_last": PANELS["residual"],
}


def stages_payload(
    stages: Stages, parameters: BlockParameters, gaps: dict[str, float], view: View, editable: bool = False
) -> dict:
    """Everything the component shows of one head, ready for JSON: each step with its matrices.

    `gaps` are the largest differences of every stage from its recomputation in float64 (`stages.differences`). Arrays
    travel as bytes in base64: float32, and float16 where that holds the same numbers. A matrix says how one of its
    cells came about (`recipe`), so that the page can write out the sum behind any of them. `editable` lets cells of
    the mask be clicked.
    """
    texts, findings = BlockText(stages, view, parameters.norm), Findings(stages, view)
    arrays = {name: _travelling(array) for name, array in _arrays(stages, parameters, view).items()}
    return {
        "id": f"{view.kind} {view.layer} {view.sentence}",
        "block": _block_name(view),
        "queries": list(view.queries),
        "keys": list(view.keys),
        "predicts": list(view.predicted) if view.predicted else None,
        "own": view.kind != "cross",  # queries and keys are the same tokens
        "arrays": arrays,
        "steps": [_step(step, texts, findings, gaps) for step in _order(parameters.norm)],
        "head": view.head,
        "heads": stages.num_heads,
        "d_k": stages.d_k,
        "epsilon": parameters.epsilon,
        "editable": editable,
        "whose": "The float32 number here" if view.toy else "The model",
    }


def _block_name(view: View) -> str:
    if view.toy:
        return f"Self-attention over made-up numbers, head {view.head + 1}"
    return f"{KIND_NAMES[view.kind]}, layer {view.layer + 1}, head {view.head + 1}"


def _arrays(stages: Stages, parameters: BlockParameters, view: View) -> dict[str, np.ndarray]:
    """Every matrix and vector that is drawn or that a sum needs, of this sentence and this head."""
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


def _travelling(array: np.ndarray) -> dict:
    numbers = np.asarray(array, dtype=np.float32)
    half = numbers.astype(np.float16)
    exact = np.array_equal(half.astype(np.float32), numbers)
    kept = half.astype("<f2") if exact else numbers.astype("<f4")
    text = base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode("ascii")
    return {"rows": array.shape[0], "columns": array.shape[1], "half": exact, "bytes": text}


def _order(norm: str) -> list[str]:
    """The steps as the model takes them: LayerNorm first with pre-norm, last with post-norm."""
    middle = ["project", "split", "products", "scale", "mask", "softmax", "values", "concatenate", "output", "residual"]
    return ["input", "norm_first", *middle] if norm == "pre" else ["input", *middle, "norm_last"]


def _step(step: str, texts: BlockText, findings: Findings, gaps: dict[str, float]) -> dict:
    panels = (_INPUT, _MEMORY) if step == "input" and texts.cross else PANELS[step]
    names = [panel.array.removeprefix("head_") for panel in panels]
    shown = [gaps[name] for name in names if name in gaps]
    return {
        "name": step,
        "title": texts.title(step),
        "formula": texts.formula(step),
        "shape": texts.shape(step),
        "why": texts.purpose(step),
        "see": findings.see(step),
        "gap": max(shown) if shown else None,
        "panels": [asdict(panel) | {"symbol": texts.symbol(panel.array)} for panel in panels],
        "inputs": [asdict(panel) | {"symbol": texts.symbol(panel.array)} for panel in _inputs(step, texts.cross)],
    }


def _inputs(step: str, cross: bool) -> tuple[Matrix, ...]:
    inputs = INPUTS.get(step, ())
    return inputs if cross else tuple(panel for panel in inputs if panel is not _MEMORY)
