"""Measures of the division by the root of d_k: on random vectors, and in a head of the model."""

from functools import cache

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page
from headlight.lessons.words import number_words
from headlight.plots.names import kind_head_name
from headlight.plots.numbers import format_distinct, percent, pluralize
from transformer.arrays import softmax
from transformer.config import Positions
from transformer.experiments.attention import SIZES, RandomProducts, measure_random_products
from transformer.interpret.attention_block import Stages, undivided
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .wording import NEAR, head_in, head_names, readable

SEEDS = range(1, 100)  # that the page offers
HARDLY, PLAINLY = 0.05, 0.1  # a change of a head's mean largest weight
DROPPED = 0.1  # share of the weights that dropout sets to 0 (paper, 5.4)
LEAST_DROPPED = 0.25  # of a row's largest weight, and of the rest, for sums that differ plainly
LEAST_TIMES = 2.0  # by which a gradient must have grown
_NOT_DIVIDED = "This model does not divide its products by √d_k."
_BIASED = "This model adds a bias by distance after the division, so that without it not every score grows alike."


@measure
def spread_growth(run: Run, seed: int, factor: int) -> Answer:
    """Ask how much wider the products of random vectors spread with so many times the dimensions.

    names: seed, low and high, the two sizes, factor, and spread, the growth.
    """
    spread = _random(seed)
    low = next((size for size in (64, *SIZES) if size * factor in SIZES and factor > 1), None)
    if low is None:
        raise Undecided(f"The sizes are {', '.join(map(str, SIZES))}: none is {factor} times another one.")
    before, after = (float(spread.products[SIZES.index(size)]) for size in (low, low * factor))
    candidates = {"same": 1.0, "root": float(np.sqrt(factor)), "factor": float(factor), "square": float(factor**2)}
    right = min(candidates, key=lambda name: abs(np.log(candidates[name] * before / after)))
    labels = {"same": "just as wide"} | {
        name: f"{number_words(times)} times as wide" for name, times in candidates.items() if name != "same"
    }
    return Answer(
        Kind.ONE,
        f"At d_k {low} their standard deviation is {before:.2f}, at d_k {low * factor} it is "
        f"{after:.2f}: {after / before:.2f} times as much.",
        f"A sum of independent terms has the sum of their variances: {factor} times the variance is √{factor} = "
        f"{number_words(np.sqrt(factor))} times the standard deviation.",
        tuple(
            Option(
                name,
                labels[name],
                f"Then the standard deviation would be {number_words(before * times)} at d_k {low * factor}.",
            )
            for name, times in candidates.items()
        ),
        {right},
        names={"seed": seed, "low": low, "high": low * factor, "factor": factor, "spread": f"{after / before:.2f}"},
    )


@measure
def row_without_root(run: Run, kind: str) -> Answer:
    """Ask for the largest weight of a row of the head shown first, were its products not divided.

    The row is the one that this changes most. names: layer, head and its first dimension, query, word (what the row
    predicts, in the encoder its own token), now (its largest weight), and d_k.
    """
    layer, head, stages = _head(run, kind)
    if not stages.is_divided:
        raise Undecided(_NOT_DIVIDED)
    if stages.bias.any():
        raise Undecided(_BIASED)
    without, divided = (part.max(axis=-1) for part in undivided(stages, head))
    row = int((without - divided).argmax())
    scores, unmasked = np.asarray(stages.scores[0, head, row], dtype=np.float64), stages.unmasked[0, row]
    twice = float(softmax(scores / np.sqrt(stages.d_k), unmasked).max())
    values = {"undivided": float(without[row]), "same": float(divided[row]), "twice": twice}
    if min(values["undivided"] - values["same"], values["same"] - twice) < NEAR:
        raise Undecided("The division hardly changes the largest weight of any row of this head here.")
    feedback = {
        "undivided": "",
        "same": "It has this now: after the division.",
        "twice": "It would have this if it were divided twice: dividing makes a row flatter.",
    }
    high, low = (percent(value) for value in (values["undivided"], values["same"]))
    return Answer(
        Kind.ONE,
        f"Without the division the largest weight of this row would be {high}, not {low}.",
        f"Without it every score is {np.sqrt(stages.d_k):.2f} times as large, and so is its lead over the others: the "
        f"largest weight goes from {low} to {high}.",
        tuple(Option(name, f"about {100 * value:.0f} %", feedback[name], value) for name, value in values.items()),
        {"undivided"},
        names=head_names(layer, head)
        | {"dimension": head * stages.d_k, "d_k": stages.d_k, "query": row, "now": values["same"]}
        | {"word": readable(run.trace.source_tokens if kind == "encoder" else run.trace.target_tokens)[row]},
    )


@measure
def row_with_dropout(run: Run, kind: str) -> Answer:
    """Ask for the sum of a row of the head shown first after dropout of its largest weight, as in training.

    The row is the one whose largest weight is nearest to a half. names: layer, head and its first dimension, query,
    word (what the row predicts, in the encoder its own token), key and weight, those of the largest weight.
    """
    layer, head, stages = _head(run, kind)
    weights = np.asarray(stages.weights[0, head], dtype=np.float64)
    row = int(np.abs(weights.max(axis=-1) - 0.5).argmin())
    key, weight = int(weights[row].argmax()), round(float(weights[row].max()), 2)  # as shown, to compute by hand
    if not LEAST_DROPPED < weight < 1 - LEAST_DROPPED:
        raise Undecided("In each row of this head here one token has nearly all the weight, or none has much.")
    sums = {"scaled": (1 - weight) / (1 - DROPPED), "one": 1.0, "rest": 1 - weight, "nothing": 1 / (1 - DROPPED)}
    feedback = {
        "scaled": "",
        "one": "It is 100 % on average over many draws. One draw has no reason to be.",
        "rest": f"That is what is left. But dropout also divides it by {1 - DROPPED}.",
        "nothing": "That would be a row from which nothing was dropped.",
    }
    tokens = readable(run.trace.source_tokens if kind == "encoder" else run.trace.target_tokens)
    keys = readable(run.trace.decoder_input_tokens if kind == "decoder" else run.trace.source_tokens)
    return Answer(
        Kind.ONE,
        f"The row sums to {percent(sums['scaled'])}: the weights that are left, {percent(sums['rest'])}, divided by "
        f"{1 - DROPPED}.",
        f"(100 % − {percent(weight)}) / {1 - DROPPED} = {percent(sums['scaled'])}. A row that keeps all its weights "
        f"sums to {percent(sums['nothing'])}, and the mean over many draws is 100 %.",
        tuple(Option(name, percent(value), feedback[name]) for name, value in sums.items()),
        {"scaled"},
        names=head_names(layer, head)
        | {"dimension": head * stages.d_k, "query": row, "word": tokens[row], "key": keys[key], "weight": weight},
    )


@measure
def typical_gradient(run: Run, seed: int) -> Answer:
    """Ask what the division does to the gradient that reaches the products of the largest random vectors.

    names: seed, d_k, times (the growth), undivided and divided (the mean largest weights).
    """
    spread = _random(seed)
    size, times = spread.sizes[-1], float(spread.typical_ratio[-1])
    if times < LEAST_TIMES:
        raise Undecided("With these random vectors the division hardly changes a typical gradient.")
    root, through = f"{np.sqrt(size):.4g}", f"{times * np.sqrt(size):,.0f}"
    return Answer(
        Kind.ONE,
        f"In the median row, the middle one of all rows, it becomes {number_words(times)} times as large: undivided, "
        "the saturated softmax let almost nothing through.",
        f"The division makes it {root} times smaller. But softmax then lets {through} times as much through in the "
        f"median row, since its largest weight is no longer nearly 1. Together: {through} / {root}, about "
        f"{number_words(times)} times as large.",
        (
            Option(
                "chain",
                "it becomes smaller, divided by the same root",
                f"Dividing by √{size} = {root} alone would do that; but it also changes how much softmax lets through.",
            ),
            Option(
                "same",
                "it stays about as large",
                f"For that softmax would have to let {root} times as much through, no more.",
            ),
            Option("grown", "it becomes much larger"),
        ),
        {"grown"},
        names={"seed": seed, "d_k": size, "times": number_words(times)}
        | {"undivided": spread.largest[-1], "divided": spread.largest_scaled[-1]},
    )


@measure
def size_without_effect(run: Run, seed: int) -> Answer:
    """Ask at which of four sizes of random vectors the division changes the largest weight least.

    names: seed.
    """
    spread = _random(seed)
    shares = {size: (float(spread.largest[at]), float(spread.largest_scaled[at])) for at, size in enumerate(SIZES)}
    changes = {size: shares[size][0] - shares[size][1] for size in (1, 8, 64, 512)}
    best, second = sorted(changes, key=changes.__getitem__)[:2]
    if changes[second] - changes[best] < NEAR:
        raise Undecided("With these random vectors the division changes two sizes nearly alike.")
    words = {
        size: "the mean largest weight is {} % without the division and {} % with it".format(
            *format_distinct(*(100 * share for share in shares[size]), digits=0)
        )
        for size in changes
    }
    return Answer(
        Kind.ONE,
        f"At d_k {best} {words[best]}.",
        f"√{best} = {number_words(np.sqrt(best))}: dividing by it changes nothing.",
        tuple(Option(str(size), f"d_k {size}", f"There {words[size]}.", change) for size, change in changes.items()),
        {str(best)},
        names={"seed": seed},
    )


@measure
@of_the_page
def quiet_head(run: Run) -> Answer:
    """Ask for a head whose rows' largest weights hardly change without the division.

    names: limit, layer and head of the head of cross-attention that changes most, to begin with, and quiet_kind,
    quiet_layer and quiet_head of the head that changes least of all.
    """
    now, rises = _largest_weights(run)
    start = max((head for head in rises if head.kind == AttentionKind.CROSS), key=rises.__getitem__)
    quietest = min(rises, key=rises.__getitem__)
    if rises[quietest] >= HARDLY or rises[start] < PLAINLY:
        raise Undecided("The division changes all heads of this model alike in this sentence.")
    shown = head_in(run.address)
    truth = "The page shows no single head of this sentence."
    if shown in rises:
        truth = (
            f"In {kind_head_name(shown)} the largest weight is {percent(now[shown])} on average; without the division "
            f"it would rise by {_points(rises[shown])}."
        )
    return Answer(
        Kind.DO,
        truth,
        f"Compare the two marks of each row. In {kind_head_name(quietest)} they nearly meet: "
        f"{_points(rises[quietest])} apart on average.",
        done=shown in rises and rises[shown] < HARDLY,
        names={"limit": _points(HARDLY), "layer": start.layer, "head": start.head}
        | {"quiet_kind": quietest.kind, "quiet_layer": quietest.layer, "quiet_head": quietest.head},
    )


@cache
def _random(seed: int) -> RandomProducts:
    if seed not in SEEDS:
        raise Undecided(f"The random vectors have seeds from {SEEDS.start} to {SEEDS.stop - 1}.")
    return measure_random_products(seed)


def _head(run: Run, kind: str) -> tuple[int, int, Stages]:
    """Return the head of a kind that the pages begin with, from 0, and the stages of its block."""
    layer, head = results.default_head(run.request, kind).index
    return layer, head, run.study.stages(kind, layer)


def _largest_weights(run: Run) -> tuple[dict[Head, float], dict[Head, float]]:
    """Return the mean largest weight of each head's rows, and by how much it would rise without the division.

    Softmax of scores that are √d_k times as large gives the weights to that power, divided by their sum.
    """
    trace, config = run.trace, run.translator.model.config
    if not config.scale_scores:
        raise Undecided(_NOT_DIVIDED)
    if config.positions == Positions.RELATIVE:
        raise Undecided(_BIASED)
    now: dict[Head, float] = {}
    rises: dict[Head, float] = {}
    for kind in AttentionKind:
        weights = np.asarray(trace.attention(kind), dtype=np.float64)
        if weights.shape[-1] < 3 or weights.shape[-2] < 3:
            raise Undecided("This sentence is too short: nearly every row has only one key to choose.")
        largest = weights.max(axis=-1)
        without = 1 / ((weights / largest[..., None]) ** np.sqrt(config.d_k)).sum(axis=-1)
        for (layer, head), mean in np.ndenumerate(largest.mean(axis=-1)):
            now[Head(kind, layer, head)] = float(mean)
            rises[Head(kind, layer, head)] = float(without[layer, head].mean() - mean)
    return now, rises


def _points(value: float) -> str:
    """Return the difference of two shares."""
    return pluralize(round(100 * value), "percentage point") if value >= 0.005 else "less than 1 percentage point"
