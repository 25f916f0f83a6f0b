"""One attention block as the plain values that the component draws: arrays, steps, and how each cell came about."""

import base64
from dataclasses import dataclass

import numpy as np

from transformer.interpret.attention_block import BlockParameters, Stages, split_heads

from .steps_findings import Findings
from .steps_text import Words

# What a step's matrices are drawn with: any number around 0, or weights from 0 to 1.
SIGNED, WEIGHTS = "signed", "weights"


@dataclass(frozen=True)
class View:
    """What of a block is shown: sentence of the batch and head, both counted from 0, and its labels.

    `predicted` names what a decoder row predicts, None for the encoder; `toy` tells numbers that nobody trained.
    """

    kind: str
    layer: int
    head: int
    sentence: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    predicted: tuple[str, ...] | None = None
    toy: bool = False


def stages_payload(
    stages: Stages, parameters: BlockParameters, gaps: dict[str, float], view: View, editable: bool = False
) -> dict:
    """Everything the component shows of one head, ready for JSON: each step with its matrices.

    `gaps` are the largest differences of every stage from its recomputation in float64 (`stages.differences`). Arrays
    travel as bytes in base64: float32, and float16 where that holds the same numbers. A matrix says how one of its
    cells came about (`recipe`), so that the page can write out the sum behind any of them. `editable` lets cells of
    the mask be clicked.
    """
    words, findings = Words(stages, view, parameters.norm), Findings(stages, view)
    arrays = {name: _travelling(array) for name, array in _arrays(stages, parameters, view).items()}
    return {
        "id": f"{view.kind} {view.layer} {view.sentence}",
        "queries": list(view.queries),
        "keys": list(view.keys),
        "predicts": list(view.predicted) if view.predicted else None,
        "own": view.kind != "cross",  # queries and keys are the same tokens
        "arrays": arrays,
        "steps": [_step(step, words, findings, gaps) for step in _order(view.kind, parameters.norm)],
        "head": view.head,
        "heads": stages.num_heads,
        "d_k": stages.d_k,
        "epsilon": parameters.epsilon,
        "editable": editable,
        "whose": "The float32 number here" if view.toy else "The model",
    }


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
    return {
        "rows": array.shape[0],
        "columns": array.shape[1],
        "half": exact,
        "bytes": base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode("ascii"),
    }


def _order(kind: str, norm: str) -> list[str]:
    """The steps as the model takes them: LayerNorm first with pre-norm, last with post-norm."""
    middle = ["project", "split", "products", "scale", "mask", "softmax", "values", "concatenate", "output", "residual"]
    return ["input", "norm_first", *middle] if norm == "pre" else ["input", *middle, "norm_last"]


def _step(step: str, words: Words, findings: Findings, gaps: dict[str, float]) -> dict:
    panels = _panels(step, words)
    names = [name.removeprefix("head_") for name in (panel["array"] for panel in panels)]
    shown = [gaps[name] for name in names if name in gaps]
    return {
        "name": step,
        "title": words.title(step),
        "formula": words.formula(step),
        "shape": words.shape(step),
        "why": words.why(step),
        "see": findings.see(step),
        "gap": max(shown) if shown else None,
        "panels": panels,
    }


def _panels(step: str, words: Words) -> list[dict]:
    """The matrices of a step: what is drawn, what its rows and columns are, and the recipe of a cell."""

    def panel(array: str, rows: str, columns: str, recipe: dict | None, scale: str = SIGNED) -> dict:
        return {
            "array": array, "symbol": words.symbol(array), "rows": rows, "columns": columns, "scale": scale,
            "recipe": recipe,
        }  # fmt: skip

    if step == "input":
        first = panel("residual", "queries", "model", None)
        return [first, panel("memory", "keys", "model", None)] if words.cross else [first]
    if step in ("norm_first", "norm_last"):
        before, after = ("residual", "x") if step == "norm_first" else ("total", "result")
        return [panel(after, "queries", "model", {"kind": "normalised", "of": before})]
    if step == "project":
        return [
            panel(
                name, rows, "model",
                {"kind": "projected", "left": source, "right": f"w_{name}", "bias": f"b_{name}", "of_head": True},
            )
            for name, rows, source in (
                ("query", "queries", "x"), ("key", "keys", "memory"), ("value", "keys", "memory"),
            )
        ]  # fmt: skip
    if step == "split":
        return [
            panel(f"head_{name}", rows, "head", {"kind": "cut", "of": name})
            for name, rows in (("query", "queries"), ("key", "keys"), ("value", "keys"))
        ]
    if step == "concatenate":
        return [panel("concatenated", "queries", "model", {"kind": "placed", "of": "head_output"})]
    if step == "output":
        recipe = {
            "kind": "projected",
            "left": "concatenated",
            "right": "w_output",
            "bias": "b_output",
            "of_head": False,
        }
        return [panel("output", "queries", "model", recipe)]
    if step == "residual":
        return [panel("total", "queries", "model", {"kind": "sum", "of": ["residual", "output"]})]
    if step == "values":
        return [panel("head_output", "queries", "head", {"kind": "weighted", "left": "weights", "right": "head_value"})]
    return [
        {
            "products": panel(
                "products", "queries", "keys", {"kind": "dot", "left": "head_query", "right": "head_key"}
            ),
            "scale": panel("scores", "queries", "keys", {"kind": "divided", "of": "products"}),
            "mask": panel("scores", "queries", "keys", {"kind": "masked", "of": "scores"}),
            "softmax": panel("weights", "queries", "keys", {"kind": "softmax", "of": "scores"}, WEIGHTS),
        }[step]
    ]
