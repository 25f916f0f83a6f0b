"""Measures of the small example that can be computed by hand, and of a head of the model in the same steps."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headlight.app.parameters import PARAMETERS
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, one_of
from headlight.lessons.words import Say
from transformer.arrays import softmax
from transformer.experiments.attention import ToyNumbers, ToyShape, toy_numbers
from transformer.interpret.attention_block import Stages, compute_stages
from transformer.interpret.head_patterns import is_word
from transformer.interpret.trace import keys_of

from .alignment import needed_keys
from .attention import translated_keys
from .wording import MOST_OPTIONS, NEAR, first_head, is_whole_word, lead, readable, row_tokens

SHAPE = ToyShape(batch=1, tokens=3, d_model=4, num_heads=1)  # small enough for pencil and paper
SEEDS = range(1, 21)  # that the page offers
NEAR_NUMBERS = 0.05  # between two options that are numbers
BY_HAND = 0.05  # rounding error of a number computed by hand
_TABLES = {"query": "W_Q", "key": "W_K", "value": "W_V"}


@measure
def toy_projection(run: Run, seed: int, token: int, dimension: int, of: str = "query") -> Answer:
    """Ask for one number of a token's query, key or value (`of`) in the small example; all count from 1.

    names: the example's address, token and dimension, of, table, its column, the token's row and the terms that both
    make as tuples, and bias.
    """
    numbers, stages, names = _example(seed, token, dimension)
    if of not in _TABLES:
        raise Undecided("no_such_table", {"tables": tuple(_TABLES)})
    row, column = numbers.x[0, token - 1], getattr(numbers.parameters, f"w_{of}")[:, dimension - 1]
    bias = getattr(numbers.parameters, f"b_{of}")[dimension - 1]
    return Answer(
        Kind.NUMBER,
        value=float(getattr(stages, of)[0, token - 1, dimension - 1]),
        tolerance=BY_HAND,
        names=names
        | {"of": Say(of), "table": _TABLES[of], "row": _floats(row), "column": _floats(column), "bias": float(bias)}
        | {"terms": _terms(row, column)},
    )


@measure
def toy_best_key(run: Run, seed: int, token: int) -> Answer:
    """Ask which key of the small example has the largest product with a token's query; tokens count from 1.

    names: the example's address, key (the token whose key it is), value (its product) and the terms of that.
    """
    _, stages, names = _example(seed, token)
    _plainest(stages.weights[0, 0, token - 1])
    query, keys = stages.query[0, token - 1], stages.key[0]
    return one_of(
        (
            Option(str(key + 1), value=float(product), values={"key": key, "terms": _terms(query, keys[key])})
            for key, product in enumerate(stages.products[0, 0, token - 1])
        ),
        **names,
    )


@measure
def toy_score(run: Run, seed: int, token: int) -> Answer:
    """Ask for the score that the division makes of a token's largest product in the small example; tokens count from 1.

    names: the example's address, key, product, d_k, and root, the divisor.
    """
    _, stages, names = _example(seed, token)
    key = int(stages.products[0, 0, token - 1].argmax())
    product, score = (float(part[0, 0, token - 1, key]) for part in (stages.products, stages.scores))
    names |= {"key": key, "product": product, "d_k": stages.d_k, "root": float(np.sqrt(stages.d_k))}
    return Answer(Kind.NUMBER, value=score, tolerance=BY_HAND, names=names)


@measure
def toy_largest_weight(run: Run, seed: int, token: int) -> Answer:
    """Ask how large softmax makes the largest weight of a token's row in the small example; tokens count from 1.

    names: the example's address, key, whose weight it is, weight, the powers of all scores, largest, and their total.
    """
    _, stages, names = _example(seed, token)
    weights = stages.weights[0, 0, token - 1]
    best = _plainest(weights)
    undivided = softmax(stages.products[0, 0, token - 1]).max()
    values = {"softmax": float(weights[best]), "undivided": float(undivided), "equal": 1 / SHAPE.tokens}
    if np.diff(np.sort([*values.values()])).min() < NEAR_NUMBERS:
        raise Undecided("near_numbers")
    scores = stages.scores[0, 0, token - 1].round(2)  # as they are written: a calculator finds the same
    powers = np.exp(scores)
    names |= {"key": best, "largest": float(powers[best]), "total": float(powers.sum())}
    names["powers"] = tuple(
        Say("power", {"score": float(score), "power": float(power)})
        for score, power in zip(scores, powers, strict=True)
    )
    return one_of((Option(name, values={"weight": value}) for name, value in values.items()), "softmax", **names)


@measure
def toy_output(run: Run, seed: int, token: int, dimension: int) -> Answer:
    """Ask for one number of the output of the small example's head: weights times values; all count from 1.

    names: the example's address, dimension, the values in it as a tuple, and the terms of their weighted sum.
    """
    _, stages, names = _example(seed, token, dimension)
    weights, values = stages.weights[0, 0, token - 1], stages.value[0, :, dimension - 1]
    output = float(stages.concatenated[0, token - 1, dimension - 1])
    names |= {"values": _floats(values), "terms": _terms(weights, values)}
    return Answer(Kind.NUMBER, value=output, tolerance=BY_HAND, names=names)


@measure
@of_the_page
def toy_masked(run: Run, seed: int, token: int) -> Answer:
    """Ask for a mask by which a token of the small example reads most the one that it now reads second most.

    names: the example's address, key, the token to be read most, most_key, the token read most now, flipped, a mask
    that does it, scores of the row, and its weights on the page.
    """
    numbers, stages, names = _example(seed, token)
    most, target, *_ = map(int, np.argsort(-stages.weights[0, 0, token - 1], kind="stable"))
    solution = np.zeros((1, SHAPE.tokens, SHAPE.tokens), dtype=bool)
    solution[0, token - 1, most] = True
    if _plainest(_weights_under(numbers, solution)[token - 1]) != target:
        raise Undecided("two_tokens_alike")
    weights = _weights_under(numbers, _flipped(run.address, names))[token - 1]
    names |= {"key": target, "most_key": most, "flipped": "".join(map(str, solution.astype(int).flat))}
    names |= {"scores": _floats(stages.scores[0, 0, token - 1])}
    names["weights"] = tuple(Say("weight" if weight else "masked", {"weight": float(weight)}) for weight in weights)
    return Answer(Kind.DO, done=bool(weights[target] > np.delete(weights, target).max()), names=names)


@measure
def best_key(run: Run, kind: str) -> Answer:
    """Ask which key has the largest product with one query of the head shown first, in its plainest row.

    names: layer, head and its first dimension, query and key, other_key (another one), word (what the row predicts, in
    the encoder the row's own token), read (the token whose key it is), value (its product), and d_k.
    """
    trace, names = run.trace, first_head(run, kind)
    stages = run.study.stages(kind, names["layer"])
    weights = np.asarray(stages.weights[0, names["head"]], dtype=np.float64)
    tokens, words = readable(keys_of(trace, kind)), row_tokens(trace, kind)
    eligible = [is_word(word) and word != tokens[key] for word, key in zip(words, weights.argmax(1), strict=True)]
    if kind == "cross":
        translated = translated_keys(run)
        plain = eligible & (translated == needed_keys(run)) & (translated == weights.argmax(axis=1))
        eligible = [bool(each) and is_whole_word(trace.target_tokens, row) for row, each in enumerate(plain)]
    row = _plainest_row(weights, eligible)
    products = np.where(stages.unmasked[0, row], stages.products[0, names["head"], row], -np.inf)
    ranked = [int(key) for key in np.argsort(-products, kind="stable")[:MOST_OPTIONS] if np.isfinite(products[key])]
    if len({tokens[key] for key in ranked}) < len(ranked):
        raise Undecided("two_keys_alike")
    names |= {"query": row, "other_key": ranked[-1], "word": words[row]}
    return one_of(
        (Option(str(key + 1), value=float(products[key]), values={"key": key, "read": tokens[key]}) for key in ranked),
        **names,
    )


def _example(seed: int, token: int, dimension: int = 1) -> tuple[ToyNumbers, Stages, dict[str, Any]]:
    """Return the small example of a seed, its results, and names: its address, the token, the dimension."""
    if seed not in SEEDS or not 1 <= token <= SHAPE.tokens or not 1 <= dimension <= SHAPE.d_model:
        sizes = {"tokens": SHAPE.tokens, "dimensions": SHAPE.d_model, "first": SEEDS[0], "last": SEEDS[-1]}
        raise Undecided("no_such_example", sizes)
    numbers = toy_numbers(SHAPE, seed)
    names = {"seed": seed, "batch": SHAPE.batch, "tokens": SHAPE.tokens, "d_model": SHAPE.d_model}
    names |= {"heads": SHAPE.num_heads, "token": token - 1, "dimension": dimension - 1}
    return numbers, numbers.stages(), names


def _flipped(address: Mapping[str, str], names: Mapping[str, Any]) -> np.ndarray:
    """Return the cells of the example's mask that an address flips; none where it shows another example."""
    example = {f"toy_{name}": names[name] for name in ("batch", "tokens", "d_model")}
    example |= {"toy_block_seed": names["seed"], "toy_num_heads": names["heads"], "toy_mask": "none"}
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
        raise Undecided("two_tokens_alike")
    return int(weights.argmax())


def _plainest_row(weights: np.ndarray, eligible: Sequence[bool]) -> int:
    """Return the eligible row in which one key is read most plainly. Raises Undecided."""
    if weights.shape[1] < 2:
        raise Undecided("one_key")
    leads = [
        lead(row) if is_eligible and np.count_nonzero(row) > 1 else 0.0
        for row, is_eligible in zip(weights, eligible, strict=True)
    ]
    if max(leads) < NEAR:
        raise Undecided("no_plain_row")
    return int(np.argmax(leads))


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))


def _terms(ones: np.ndarray, others: np.ndarray) -> tuple[Say, ...]:
    """Return the terms of a sum of products."""
    return tuple(
        Say("term", {"one": float(one), "other": float(other)}) for one, other in zip(ones, others, strict=True)
    )
