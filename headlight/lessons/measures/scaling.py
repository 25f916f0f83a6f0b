"""Measures of the division by the root of d_k: on random vectors, and in a head of the model."""

from functools import cache
from typing import Any

import numpy as np

from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, one_of
from headlight.lessons.words import Say
from transformer.arrays import softmax
from transformer.config import Positions
from transformer.experiments.attention import SIZES, RandomProducts, measure_random_products
from transformer.interpret.attention_block import undivided
from transformer.interpret.trace import keys_of
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .wording import NEAR, first_head, head_in, readable, row_tokens

SEEDS = range(1, 100)  # that the page offers
HARDLY, PLAINLY = 0.05, 0.1  # a change of a head's mean largest weight
DROPPED = 0.1  # share of the weights that dropout sets to 0 (paper, 5.4)
LEAST_DROPPED = 0.25  # of a row's largest weight, and of the rest, for sums that differ plainly
LEAST_TIMES = 2.0  # by which a gradient must have grown


@measure
def spread_growth(run: Run, seed: int, factor: int) -> Answer:
    """Ask how much wider the products of random vectors spread with so many times the dimensions.

    names: seed, low and high, the two sizes, factor, root, of the factor, before and after, their standard deviations,
    and spread, the growth.
    """
    random = _random(seed)
    low = next((size for size in (64, *SIZES) if size * factor in SIZES and factor > 1), None)
    if low is None:
        raise Undecided("no_such_size", {"sizes": SIZES, "factor": factor})
    before, after = (float(random.products[SIZES.index(size)]) for size in (low, low * factor))
    candidates = {"same": 1.0, "root": float(np.sqrt(factor)), "factor": float(factor), "square": float(factor**2)}
    names: dict[str, Any] = {"seed": seed, "low": low, "high": low * factor, "factor": factor}
    return one_of(
        (Option(name, values={"times": times, "then": before * times}) for name, times in candidates.items()),
        min(candidates, key=lambda name: abs(np.log(candidates[name] * before / after))),
        **names | {"root": candidates["root"], "before": before, "after": after, "spread": after / before},
    )


@measure
def row_without_root(run: Run, kind: str) -> Answer:
    """Ask for the largest weight of a row of the head shown first, were its products not divided.

    The row is the one that this changes most. names: layer, head and its first dimension, query, word (what the row
    predicts, in the encoder its own token), now (its largest weight), without (that without the division), d_k, root.
    """
    names = first_head(run, kind)
    stages, head = run.study.stages(kind, names["layer"]), names["head"]
    if not stages.is_divided:
        raise Undecided("not_divided")
    if stages.bias.any():
        raise Undecided("bias_after_division")
    without, divided = (part.max(axis=-1) for part in undivided(stages, head))
    row, root = int((without - divided).argmax()), float(np.sqrt(stages.d_k))
    scores = np.asarray(stages.scores[0, head, row], dtype=np.float64)
    twice = float(softmax(scores / root, stages.unmasked[0, row]).max())
    values = {"undivided": float(without[row]), "same": float(divided[row]), "twice": twice}
    if min(values["undivided"] - values["same"], values["same"] - twice) < NEAR:
        raise Undecided("no_effect_of_division")
    names |= {"query": row, "word": row_tokens(run.trace, kind)[row], "root": root}
    return one_of(
        (Option(name, value=value, values={"hundredths": 100 * value}) for name, value in values.items()),
        "undivided",
        **names | {"now": values["same"], "without": values["undivided"]},
    )


@measure
def row_with_dropout(run: Run, kind: str) -> Answer:
    """Ask for the sum of a row of the head shown first after dropout of its largest weight, as in training.

    The row is the one whose largest weight is nearest to a half. names: layer, head and its first dimension, query,
    word (what the row predicts, in the encoder its own token), key and weight, those of the largest weight, sum and the
    other answers, one, rest and nothing, and keep, the share of weights that dropout keeps.
    """
    names = first_head(run, kind)
    weights = np.asarray(run.study.stages(kind, names["layer"]).weights[0, names["head"]], dtype=np.float64)
    row = int(np.abs(weights.max(axis=-1) - 0.5).argmin())
    key, weight = int(weights[row].argmax()), round(float(weights[row].max()), 2)  # as shown, to compute by hand
    if not LEAST_DROPPED < weight < 1 - LEAST_DROPPED:
        raise Undecided("no_weight_to_drop")
    keep = 1 - DROPPED
    sums = {"scaled": (1 - weight) / keep, "one": 1.0, "rest": 1 - weight, "nothing": 1 / keep}
    names |= {"query": row, "word": row_tokens(run.trace, kind)[row], "weight": weight, "keep": keep}
    names |= {"key": readable(keys_of(run.trace, kind))[key], **sums}
    return one_of((Option(name, values={"sum": value}) for name, value in sums.items()), "scaled", **names)


@measure
def typical_gradient(run: Run, seed: int) -> Answer:
    """Ask what the division does to the gradient that reaches the products of the largest random vectors.

    names: seed, d_k, root, times (the growth), through (how many times as much softmax lets through), undivided and
    divided (the mean largest weights).
    """
    random = _random(seed)
    size, times = random.sizes[-1], float(random.typical_ratio[-1])
    if times < LEAST_TIMES:
        raise Undecided("no_effect_on_gradients")
    root = float(np.sqrt(size))
    names: dict[str, Any] = {"seed": seed, "d_k": size, "root": root, "times": times, "through": times * root}
    names |= {"undivided": float(random.largest[-1]), "divided": float(random.largest_scaled[-1])}
    return one_of(map(Option, ("chain", "same", "grown")), "grown", **names)


@measure
def size_without_effect(run: Run, seed: int) -> Answer:
    """Ask at which of four sizes of random vectors the division changes the largest weight least.

    names: seed, size, root, without and divided, the mean largest weights.
    """
    random = _random(seed)
    pairs = zip(SIZES, random.largest, random.largest_scaled, strict=True)
    means = {size: {"without": float(one), "divided": float(other)} for size, one, other in pairs}
    changes = {size: means[size]["without"] - means[size]["divided"] for size in (1, 8, 64, 512)}
    best, second = sorted(changes, key=changes.__getitem__)[:2]
    if changes[second] - changes[best] < NEAR:
        raise Undecided("two_sizes_alike")
    options = (Option(str(size), value=by, values={"size": size, **means[size]}) for size, by in changes.items())
    return one_of(options, str(best), seed=seed, root=float(np.sqrt(best)))


@measure
@of_the_page
def quiet_head(run: Run) -> Answer:
    """Ask for a head whose rows' largest weights hardly change without the division.

    names: limit, start, the head of cross-attention that changes most, to begin with, quiet, the head that changes
    least of all, and least, how much that changes; shown, the page's head, with its weight now and rise.
    """
    now, rises = _largest_weights(run)
    start = max((head for head in rises if head.kind == AttentionKind.CROSS), key=rises.__getitem__)
    quietest = min(rises, key=rises.__getitem__)
    if rises[quietest] >= HARDLY or rises[start] < PLAINLY:
        raise Undecided("all_heads_alike")
    names = {"limit": _points(HARDLY), "start": start, "quiet": quietest, "least": _points(rises[quietest])}
    shown = head_in(run.address)
    if shown not in rises:
        return Answer(Kind.DO, tells="no_head", names=names)
    names |= {"shown": shown, "now": now[shown], "rise": _points(rises[shown])}
    return Answer(Kind.DO, done=rises[shown] < HARDLY, names=names)


@cache
def _random(seed: int) -> RandomProducts:
    if seed not in SEEDS:
        raise Undecided("no_such_seed", {"first": SEEDS[0], "last": SEEDS[-1]})
    return measure_random_products(seed)


def _largest_weights(run: Run) -> tuple[dict[Head, float], dict[Head, float]]:
    """Return the mean largest weight of each head's rows, and by how much it would rise without the division.

    Softmax of scores that are √d_k times as large gives the weights to that power, divided by their sum.
    """
    trace, config = run.trace, run.translator.model.config
    if not config.scale_scores:
        raise Undecided("not_divided")
    if config.positions == Positions.RELATIVE:
        raise Undecided("bias_after_division")
    now: dict[Head, float] = {}
    rises: dict[Head, float] = {}
    for kind in AttentionKind:
        weights = np.asarray(trace.attention(kind), dtype=np.float64)
        if weights.shape[-1] < 3 or weights.shape[-2] < 3:
            raise Undecided("too_few_keys")
        largest = weights.max(axis=-1)
        without = 1 / ((weights / largest[..., None]) ** np.sqrt(config.d_k)).sum(axis=-1)
        for (layer, head), mean in np.ndenumerate(largest.mean(axis=-1)):
            now[Head(kind, layer, head)] = float(mean)
            rises[Head(kind, layer, head)] = float(without[layer, head].mean() - mean)
    return now, rises


def _points(value: float) -> Say:
    """Return the difference of two shares."""
    return Say("points" if value >= 0.005 else "few_points", {"count": round(100 * value)})
