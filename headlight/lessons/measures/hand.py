"""Measures of the small example that can be computed by hand, and of a head of the model in the same steps."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headlight.app import results
from headlight.app.parameters import PARAMETERS
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure, of_the_page
from headlight.lessons.words import number_words
from headlight.plots.numbers import signed
from headlight.plots.tokens import quoted
from transformer.arrays import softmax
from transformer.experiments.attention import ToyNumbers, ToyShape, toy_numbers
from transformer.interpret.attention_block import Stages, compute_stages
from transformer.interpret.head_patterns import is_word
from transformer.interpret.trace import keys_of

from .alignment import needed_keys
from .attention import translated_keys
from .wording import MOST_OPTIONS, NEAR, head_names, is_whole_word, lead, readable

SHAPE = ToyShape(batch=1, tokens=3, d_model=4, num_heads=1)  # small enough for pencil and paper
SEEDS = range(1, 21)  # that the page offers
NEAR_NUMBERS = 0.05  # between two options that are numbers
BY_HAND = 0.05  # rounding error of a number computed by hand
_TABLES = {"query": "W_Q", "key": "W_K", "value": "W_V"}


@measure
def toy_projection(run: Run, seed: int, token: int, dimension: int, of: str = "query") -> Answer:
    """Ask for one number of a token's query, key or value (`of`) in the small example; all count from 1.

    names: the example's address, token and dimension, table, its column and the token's row as lists, and bias.
    """
    numbers, stages, names = _example(seed, token, dimension)
    if of not in _TABLES:
        raise Undecided(f"The small example has {', '.join(_TABLES)}.")
    row, parameters = numbers.x[0, token - 1], numbers.parameters
    column = getattr(parameters, f"w_{of}")[:, dimension - 1]
    bias = float(getattr(parameters, f"b_{of}")[dimension - 1])
    value = float(getattr(stages, of)[0, token - 1, dimension - 1])
    terms = " + ".join(f"{_factor(x)} × {_factor(weight)}" for x, weight in zip(row, column, strict=True))
    return Answer(
        Kind.NUMBER,
        f"The {of} of token {token} has {number_words(value)} in dimension {dimension}.",
        f"{terms} + {_factor(bias)} = {number_words(value)}.",
        value=value,
        tolerance=BY_HAND,
        names=names
        | {"table": _TABLES[of], "row": _listed(row), "column": _listed(column), "bias": number_words(bias)},
    )


@measure
def toy_best_key(run: Run, seed: int, token: int) -> Answer:
    """Ask which key of the small example has the largest product with a token's query; tokens count from 1.

    names: the example's address, query, and key, the token whose key it is.
    """
    _, stages, names = _example(seed, token)
    products = stages.products[0, 0, token - 1]
    best = _plainest(stages.weights[0, 0, token - 1])
    query = stages.query[0, token - 1]
    sums = [
        f"{_token(key)}: "
        + " + ".join(f"{_factor(q, 2)} × {_factor(k, 2)}" for q, k in zip(query, factors, strict=True))
        + f" = {signed(products[key], 2)}"
        for key, factors in enumerate(stages.key[0])
    ]
    options = tuple(
        Option(str(key + 1), _token(key), _product_words(product, 2), float(product))
        for key, product in enumerate(products)
    )
    return Answer(
        Kind.ONE,
        f"The key of token {best + 1} has the largest product with the query of token {token}: "
        f"{signed(products[best], 2)}.",
        f"{'; '.join(sums)}.",
        options,
        largest(options),
        names=names | {"key": best},
    )


@measure
def toy_score(run: Run, seed: int, token: int) -> Answer:
    """Ask for the score that the division makes of a token's largest product in the small example; tokens count from 1.

    names: the example's address, query, key, product, and d_k.
    """
    _, stages, names = _example(seed, token)
    key = int(stages.products[0, 0, token - 1].argmax())
    product, score = (float(part[0, 0, token - 1, key]) for part in (stages.products, stages.scores))
    root = number_words(np.sqrt(stages.d_k))
    return Answer(
        Kind.NUMBER,
        f"The score of token {token} for token {key + 1} is {signed(score, 2)}.",
        f"{signed(product, 2)} / √{stages.d_k} = {signed(product, 2)} / {root} = {signed(score, 2)}.",
        value=score,
        tolerance=BY_HAND,
        names=names | {"key": key, "product": signed(product, 2), "d_k": stages.d_k},
    )


@measure
def toy_largest_weight(run: Run, seed: int, token: int) -> Answer:
    """Ask how large softmax makes the largest weight of a token's row in the small example; tokens count from 1.

    names: the example's address, query, and key, whose weight it is.
    """
    _, stages, names = _example(seed, token)
    weights = stages.weights[0, 0, token - 1]
    best = _plainest(weights)
    undivided = softmax(stages.products[0, 0, token - 1]).max()
    values = [float(value) for value in (weights[best], undivided, 1 / SHAPE.tokens)]
    if np.diff(np.sort(values)).min() < NEAR_NUMBERS:
        raise Undecided("In this row of the small example the possible answers lie too near one another.")
    feedback = (
        "",
        "Softmax would give that without the division by √d_k.",
        f"That is an equal share of {SHAPE.tokens} tokens; softmax prefers the larger score.",
    )
    scores = stages.scores[0, 0, token - 1].round(2)  # as they are written: a calculator finds the same
    powers = ", ".join(f"exp({signed(score, 2)}) = {np.exp(score):.2f}" for score in scores)
    return Answer(
        Kind.ONE,
        f"Token {token} reads token {best + 1} with the weight {signed(weights[best], 2)}.",
        f"{powers}; {np.exp(scores[best]):.2f} / {np.exp(scores).sum():.2f} = {signed(weights[best], 2)}.",
        tuple(
            Option(name, signed(value, 2), words)
            for name, value, words in zip(("softmax", "undivided", "equal"), values, feedback, strict=True)
        ),
        {"softmax"},
        names=names | {"key": best},
    )


@measure
def toy_output(run: Run, seed: int, token: int, dimension: int) -> Answer:
    """Ask for one number of the output of the small example's head: weights times values; all count from 1.

    names: the example's address, query, dimension, and the values in it as a list.
    """
    _, stages, names = _example(seed, token, dimension)
    weights, values = stages.weights[0, 0, token - 1], stages.value[0, :, dimension - 1]
    output = float(stages.concatenated[0, token - 1, dimension - 1])
    terms = " + ".join(f"{signed(float(w), 2)} × {_factor(v, 2)}" for w, v in zip(weights, values, strict=True))
    return Answer(
        Kind.NUMBER,
        f"The output for token {token} has {signed(output, 2)} in dimension {dimension}.",
        f"{terms} = {signed(output, 2)}.",
        value=output,
        tolerance=BY_HAND,
        names=names | {"values": _listed(values, 2)},
    )


@measure
@of_the_page
def toy_masked(run: Run, seed: int, token: int) -> Answer:
    """Ask for a mask by which a token of the small example reads most the one that it now reads second most.

    names: the example's address, query, key, the token to be read most, most, the token read most now, and flipped, a
    mask that does it.
    """
    numbers, stages, names = _example(seed, token)
    most, target, *_ = np.argsort(-stages.weights[0, 0, token - 1], kind="stable")
    solution = np.zeros((1, SHAPE.tokens, SHAPE.tokens), dtype=bool)
    solution[0, token - 1, most] = True
    solved = _weights_under(numbers, solution)[token - 1]
    if solved.argmax() != target or lead(solved) < NEAR:
        raise Undecided("In this row of the small example two tokens are read nearly alike.")
    weights = _weights_under(numbers, _flipped(run.address, names))[token - 1]
    return Answer(
        Kind.DO,
        f"The weights of token {token} are now {', '.join(map(_share, weights))}.",
        f"The scores of this row are {_listed(stages.scores[0, 0, token - 1], 2)}: mask the largest, in the row of "
        f"token {token} the column of token {most + 1}.",
        done=bool(weights[target] > np.delete(weights, target).max()),
        names=names
        | {
            "key": _token(target),
            "most": _token(most),
            "flipped": "".join("1" if cell else "0" for cell in solution.flatten()),
        },
    )


@measure
def best_key(run: Run, kind: str) -> Answer:
    """Ask which key has the largest product with one query of the head shown first, in its plainest row.

    names: layer, head and its first dimension, query and key, other_key (another one), word (what the row predicts, in
    the encoder the row's own token), read (the token whose key it is), and d_k.
    """
    trace = run.trace
    layer, head = results.default_head(run.request, kind).index
    stages = run.study.stages(kind, layer)
    weights = np.asarray(stages.weights[0, head], dtype=np.float64)
    tokens = readable(keys_of(trace, kind))
    words = readable(trace.source_tokens if kind == "encoder" else trace.target_tokens)
    eligible = [is_word(word) and word != tokens[key] for word, key in zip(words, weights.argmax(1), strict=True)]
    if kind == "cross":
        translated = translated_keys(run)
        plain = eligible & (translated == needed_keys(run)) & (translated == weights.argmax(axis=1))
        eligible = [bool(each) and is_whole_word(trace.target_tokens, row) for row, each in enumerate(plain)]
    row = _plainest_row(weights, eligible)
    products = np.where(stages.unmasked[0, row], stages.products[0, head, row], -np.inf)
    ranked = [int(key) for key in np.argsort(-products, kind="stable")[:MOST_OPTIONS] if np.isfinite(products[key])]
    if len({tokens[key] for key in ranked}) < len(ranked):
        raise Undecided("A word stands here twice, so that its name does not say which key is meant.")
    best = ranked[0]
    options = tuple(
        Option(str(key + 1), quoted(tokens[key]), _product_words(products[key]), float(products[key])) for key in ranked
    )
    return Answer(
        Kind.ONE,
        f"The key of {quoted(tokens[best])} has the largest product with this query: {signed(products[best], 1)}.",
        "The largest products of this row: "
        + ", ".join(f"{quoted(tokens[key])} {signed(products[key], 1)}" for key in ranked)
        + ".",
        options,
        largest(options),
        names=head_names(layer, head)
        | {"dimension": head * stages.d_k, "query": row, "key": best, "other_key": ranked[-1]}
        | {"word": words[row], "read": tokens[best], "d_k": stages.d_k},
    )


def _example(seed: int, token: int, dimension: int = 1) -> tuple[ToyNumbers, Stages, dict[str, Any]]:
    """Return the small example of a seed, its results, and names: its address, the token, its query, the dimension."""
    if seed not in SEEDS or not 1 <= token <= SHAPE.tokens or not 1 <= dimension <= SHAPE.d_model:
        raise Undecided(
            f"The small example has {SHAPE.tokens} tokens of {SHAPE.d_model} dimensions, and seeds from {SEEDS.start} "
            f"to {SEEDS.stop - 1}."
        )
    numbers = toy_numbers(SHAPE, seed)
    names = {"seed": seed, "batch": SHAPE.batch, "tokens": SHAPE.tokens, "d_model": SHAPE.d_model}
    names |= {"heads": SHAPE.num_heads, "token": token - 1, "dimension": dimension - 1}
    return numbers, numbers.stages(), names | {"query": _token(token - 1)}


def _flipped(address: Mapping[str, str], names: Mapping[str, Any]) -> np.ndarray:
    """Return the cells of the example's mask that an address flips; none where it shows another example."""
    example = {
        "toy_block_seed": names["seed"],
        "toy_batch": names["batch"],
        "toy_tokens": names["tokens"],
        "toy_d_model": names["d_model"],
        "toy_num_heads": names["heads"],
        "toy_mask": "none",
    }
    shape = (SHAPE.batch, SHAPE.tokens, SHAPE.tokens)
    digits = address.get("toy_flipped", "")
    is_shown = all(address.get(key, str(PARAMETERS[key].default)) == str(value) for key, value in example.items())
    if not is_shown or not re.fullmatch(f"[01]{{{np.prod(shape)}}}", digits):
        return np.zeros(shape, dtype=bool)
    return np.array([digit == "1" for digit in digits]).reshape(shape)


def _weights_under(numbers: ToyNumbers, flipped: np.ndarray) -> np.ndarray:
    """Return the weights of the example's head under another mask: [tokens, tokens]."""
    stages = compute_stages(numbers.x, None, numbers.unmasked ^ flipped, numbers.parameters)
    return np.asarray(stages.weights[0, 0])


def _plainest(weights: np.ndarray) -> int:
    """Return the key that a row of the small example reads most. Raises Undecided where another is near."""
    if lead(weights) < NEAR:
        raise Undecided("In this row of the small example two tokens are read nearly alike.")
    return int(weights.argmax())


def _plainest_row(weights: np.ndarray, eligible: Sequence[bool]) -> int:
    """Return the eligible row in which one key is read most plainly. Raises Undecided."""
    if weights.shape[1] < 2:
        raise Undecided("There is only one key here, and nothing to compare.")
    leads = [
        lead(row) if is_eligible and np.count_nonzero(row) > 1 else 0.0
        for row, is_eligible in zip(weights, eligible, strict=True)
    ]
    if max(leads) < NEAR:
        raise Undecided("No row of this head reads one word clearly more than all others here.")
    return int(np.argmax(leads))


def _product_words(value: float, digits: int = 1) -> str:
    return f"Its product with this query is {signed(value, digits)}."


def _share(weight: float) -> str:
    """Return a weight of a row, 0 where a cell is masked."""
    return signed(weight, 2) if weight else "0"


def _token(index: int) -> str:
    return f"token {index + 1}"


def _listed(values: np.ndarray, digits: int = 1) -> str:
    return ", ".join(signed(float(value), digits) for value in values)


def _factor(value: float, digits: int = 1) -> str:
    """Return a number within a sum, a negative one in brackets."""
    text = signed(float(value), digits)
    return f"({text})" if value < 0 and text.startswith("−") else text
