"""What the steps of one attention block show: matrices, how each cell came about, words, and a page of their own."""

import base64
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from headlight.components.standalone import Words, standalone
from headlight.plots.names import KIND_NAMES
from headlight.plots.numbers import LEAST_SHOWN, percent, signed
from headlight.plots.relative_positions import distance_words
from headlight.plots.tokens import quoted_at
from transformer.arrays import entropy
from transformer.interpret.attention_block import BlockParameters, Stages, split_heads
from transformer.interpret.trace import Trace

from .block_steps import BIAS, INPUT, MEMORY, STEPS, SYMBOLS, TAKES, Matrix, Step, steps_of, symbols_of


@dataclass(frozen=True)
class View:
    """What of a block is shown: sentence of the batch and head, both counted from 0, and its labels.

    `predicted` names the output token of a decoder row, None for the encoder; `toy` is for made-up numbers; `scaled`
    where √d_model scales the embeddings; `positioned` where positions are added to them; `normalised` where a LayerNorm
    follows; `by_distance` where relative positions are added to scores instead.
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
    by_distance: bool = False


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
_LOOK_FOR = (
    "Go from step to step with the arrow keys, and point at any cell: the sum behind it is written out with the "
    "numbers of the step before."
)


def steps_words() -> dict:
    """Return all that is written of the steps before there are numbers, ready for JSON: the live page fills it in."""
    return {
        "steps": {name: asdict(step) for name, step in STEPS.items()},
        "takes": {name: list(map(asdict, matrices)) for name, matrices in TAKES.items()},
        "memory": asdict(MEMORY),
        "masks": _MASKS,
        "no_mask": _NO_MASK,
        "inputs": _INPUTS,
        "symbols": SYMBOLS,
    }


def stages_payload(
    stages: Stages, parameters: BlockParameters, gaps: dict[str, float], view: View, *, editable: bool = False
) -> dict:
    """Return everything the component shows of one head, ready for JSON: each step with its matrices.

    `gaps` are the largest differences of every stage from its recomputation in float64 (`stages.differences`). Arrays
    travel as bytes in base64: float32, and float16 where that holds the same numbers. A matrix says how one of its
    cells came about (`recipe`), so that the page can write out the sum behind any of them. `editable` lets cells of
    the mask be clicked.
    """
    steps, symbols = steps_of(parameters), symbols_of(parameters)
    fields = _fields(stages, view, "X′" if parameters.norm == "pre" else "X")
    sizes = _sizes(stages)
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
            {
                "name": name,
                "title": step.title,
                "formula": step.formula.format(**fields),
                "shape": _shape(makes, sizes, symbols),
                "why": step.purpose.format(**fields),
                "see": describe_step(name, stages, view, parameters),
                "gap": _gap(makes, gaps),
                "panels": [asdict(panel) | {"symbol": symbols[panel.array]} for panel in makes],
                "inputs": [asdict(panel) | {"symbol": symbols[panel.array]} for panel in takes],
            }
            for name, step, makes, takes in _steps(steps, view)
        ],
        "head": view.head,
        "heads": stages.num_heads,
        "d_k": stages.d_k,
        "epsilon": parameters.epsilon,
        "editable": editable,
        "whose": "The float32 number here" if view.toy else "The model",
    } | ({"rms": True} if parameters.norm_type == "rms" else {})


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
        if parameters.with_biases:
            arrays[f"b_{name}"] = getattr(parameters, f"b_{name}")[None, columns]
    arrays |= {name: getattr(stages, name)[sentence, head] for name in ("products", "scores", "weights")}
    if parameters.relative is not None:
        arrays["bias"] = stages.bias[head]
        arrays["buckets"] = parameters.relative.between(*map(range, stages.bias.shape[1:]))[1]
        arrays |= {"divided": arrays["products"] / parameters.divisor} if parameters.scale_scores else {}
    arrays["open"] = stages.unmasked[sentence]
    arrays["head_output"] = split_heads(stages.concatenated, stages.num_heads)[sentence, head]
    arrays["w_output"], arrays["gamma"] = parameters.w_output, parameters.gamma[None]
    if parameters.with_biases:
        arrays["b_output"] = parameters.b_output[None]
    if parameters.norm_type != "rms":
        arrays["beta"] = parameters.beta[None]
    return arrays


def _packed(array: np.ndarray) -> dict:
    numbers = np.asarray(array, dtype=np.float32)
    half = numbers.astype(np.float16)
    exact = np.array_equal(half.astype(np.float32), numbers)
    kept = half.astype("<f2") if exact else numbers.astype("<f4")
    text = base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode("ascii")
    return {"rows": array.shape[0], "columns": array.shape[1], "half": exact, "bytes": text}


def _steps(steps: dict[str, Step], view: View) -> Iterator[tuple[str, Step, tuple[Matrix, ...], list[Matrix]]]:
    """Yield each step's name, the step, the matrices that it makes, and those that it takes."""
    before: tuple[Matrix, ...] = ()
    for name, step in steps.items():
        makes = (INPUT, MEMORY) if name == "input" and view.kind == "cross" else step.makes
        takes = TAKES.get(name) or ((*before, BIAS) if name == "bias" else before)
        yield name, step, makes, [panel for panel in takes if view.kind == "cross" or panel is not MEMORY]
        before = step.makes


def _gap(makes: tuple[Matrix, ...], gaps: dict[str, float]) -> float | None:
    shown = [gaps[each] for each in (panel.array.removeprefix("head_") for panel in makes) if each in gaps]
    return max(shown) if shown else None


def _fields(stages: Stages, view: View, x: str) -> dict[str, str]:
    """Return what depends on the block in formulas (with tags of HTML, nothing from a user) and purposes."""
    cross, toy, heads = view.kind == "cross", "toy" * view.toy, stages.num_heads
    embeddings = f"the embeddings{', times √d_model' * view.scaled}{', plus the positions' * view.positioned}"
    embeddings += "; no position is added: the scores get a bias by distance" * view.by_distance
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


def _sizes(stages: Stages) -> dict[str, tuple[str, int]]:
    """Return name and size of the axes of this block's matrices, by what a `Matrix` calls them."""
    _, _, queries, keys = stages.scores.shape
    width = stages.num_heads * stages.d_k
    same = width == stages.residual.shape[-1]
    return {
        "batch": ("batch", len(stages.scores)),
        "heads": ("heads", stages.num_heads),
        "queries": ("queries", queries),
        "keys": ("keys", keys),
        "model": ("d_model", stages.residual.shape[-1]),
        "all heads": ("d_model" if same else "heads · d_k", width),
        "head": ("d_k", stages.d_k),
    }


def _shape(makes: tuple[Matrix, ...], sizes: dict[str, tuple[str, int]], symbols: dict[str, str]) -> str:
    """Return the shape of what a step makes, each axis by its name; of several matrices, each shape by its letters."""
    shapes: dict[str, list[str]] = {}
    for matrix in makes:
        columns = "all heads" if matrix.array in ("query", "key", "value", "concatenated") else matrix.columns
        axes = ("batch", *([] if matrix.columns == "model" else ["heads"]), matrix.rows, columns)
        text = " · ".join(f"{name} {size}" for name, size in map(sizes.__getitem__, axes))
        shapes.setdefault(text, []).append(symbols[matrix.array.removeprefix("head_")])
    return "; ".join(f"{' and '.join(letters)}: {text}" if len(makes) > 1 else text for text, letters in shapes.items())


def describe_step(step: str, stages: Stages, view: View, parameters: BlockParameters | None = None) -> str:
    """Return what to see of a step in the numbers of this example; "" for a step without a finding.

    parameters: needed for the step of relative positions alone.
    """
    if step == "bias" and parameters is not None:
        return _bias(stages, view, parameters)
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
    products, scores = (_of(part, view)[view.head] for part in (stages.products, stages.scores))
    before, after = products.std(), (scores - stages.bias[view.head]).std()
    return (
        f"√{stages.d_k} = {np.sqrt(stages.d_k):.4f}: the standard deviation is {before:.2f} for this head's products, "
        f"{after:.2f} for its scores."
    )


def _bias(stages: Stages, view: View, parameters: BlockParameters) -> str:
    """Say which distances get this head's largest and smallest number, and how many queries it makes look elsewhere."""
    bias, unmasked = np.asarray(stages.bias[view.head], dtype=np.float64), stages.unmasked[view.sentence]
    assert parameters.relative is not None
    _, ranges = parameters.relative.between(*map(range, bias.shape))
    ends = []
    for value in (bias[unmasked].max(), bias[unmasked].min()):
        bucket = int(ranges[unmasked & (bias == value)][0])
        queries, keys = np.nonzero((ranges == bucket) & unmasked)
        ends.append(f"{signed(value, 2)} (bucket {bucket}: {distance_words(keys - queries)})")
    before = np.where(unmasked, _of(stages.products, view)[view.head] / parameters.divisor, -np.inf)
    chosen = (before + bias).argmax(axis=-1)
    # Without positions equal tokens have equal products: a tie is not elsewhere.
    lost = before.max(axis=-1) - np.take_along_axis(before, chosen[:, None], axis=-1)[:, 0]
    moved = int((lost > LEAST_SHOWN).sum())
    return (
        f"This head's largest number here is {ends[0]}, its smallest {ends[1]}. Without them {moved} of {len(bias)} "
        "queries would have their largest score elsewhere."
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
