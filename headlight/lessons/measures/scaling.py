"""Measures of the division by the root of d_k: on random vectors, and in a head of the model."""

from functools import cache

import numpy as np

from headlight.app import results
from headlight.app.results import measures
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, number_words, of_the_page
from headlight.plots.names import kind_head_name
from headlight.plots.numbers import format_distinct, percent, pluralize
from transformer.arrays import softmax
from transformer.config import Positions
from transformer.experiments.attention import SIZES, RandomProducts, measure_random_products
from transformer.interpret.attention_block import Stages, undivided
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

from .wording import NEAR, head_in, head_names, readable

SEEDS = range(1, 100)  # that the page offers
HARDLY, PLAINLY = 0.05, 0.1  # a change of a head's mean largest weight
LEAST_TIMES = 2.0  # by which a gradient must have grown
_NOT_DIVIDED = "This model does not divide its products by √d_k."
_BIASED = "This model adds a bias by distance after the division, so that without it not every score grows alike."


@measure
def spread_growth(run: Run, seed: int, factor: int) -> Answer:
    """Ask how much wider the products of random vectors spread with so many times the dimensions.

    names: seed, low and high, the two sizes, and factor.
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
        frozenset({right}),
        names={"seed": str(seed), "low": str(low), "high": str(low * factor), "factor": str(factor)},
    )


@measure
def row_without_root(run: Run, kind: str) -> Answer:
    """Ask for the largest weight of a row of the head shown first, were its products not divided.

    The row is the one that this changes most. names: layer, head and its first dimension, query (from 1), word (what
    the row predicts, in the encoder its own token), now (its largest weight), and d_k.
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
    told = {
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
        tuple(Option(name, percent(value), told[name]) for name, value in values.items()),
        frozenset({"undivided"}),
        names=_named(layer, head, stages)
        | {
            "query": str(row + 1),
            "word": readable(run.trace.source_tokens if kind == "encoder" else run.trace.target_tokens)[row],
            "now": low,
        },
    )


@measure
def typical_gradient(run: Run, seed: int) -> Answer:
    """Ask what the division does to the gradient that reaches the products of the largest random vectors.

    names: seed and d_k.
    """
    spread = _random(seed)
    size, times = spread.sizes[-1], float(spread.typical_ratio[-1])
    if times < LEAST_TIMES:
        raise Undecided("With these random vectors the division hardly changes a typical gradient.")
    told = {
        "chain": f"Dividing by √{size} = {number_words(np.sqrt(size))} alone would do that; but it also changes how "
        "much softmax lets through.",
        "same": f"For that softmax would have to let {number_words(np.sqrt(size))} times as much through, no more.",
        "grown": "",
    }
    labels = {
        "chain": "it becomes smaller, by the number that is divided by",
        "same": "it stays about as large",
        "grown": "it becomes much larger",
    }
    return Answer(
        Kind.ONE,
        f"In the median row, the middle one of all rows, it becomes {number_words(times)} times as large: undivided, "
        "the saturated softmax let almost nothing through.",
        f"The division makes it {number_words(np.sqrt(size))} times smaller. But softmax then lets "
        f"{number_words(times * np.sqrt(size))} times as much through in the median row, since its largest weight is "
        f"no longer nearly 1. Together: {number_words(times * np.sqrt(size))} / {number_words(np.sqrt(size))}, about "
        f"{number_words(times)} times as large.",
        tuple(Option(name, labels[name], told[name]) for name in labels),
        frozenset({"grown"}),
        names={
            "seed": str(seed),
            "d_k": str(size),
            "undivided": percent(spread.largest[-1]),
            "divided": percent(spread.largest_scaled[-1]),
        },
    )


@measure
def size_without_effect(run: Run, seed: int) -> Answer:
    """Ask at which of four sizes of random vectors the division changes the largest weight least.

    names: seed.
    """
    spread = _random(seed)
    changes = {size: float(spread.largest[at] - spread.largest_scaled[at]) for at, size in enumerate(spread.sizes)}
    sizes = (1, 8, 64, 512)
    best, second = sorted(sizes, key=changes.__getitem__)[:2]
    if changes[second] - changes[best] < NEAR:
        raise Undecided("With these random vectors the division changes two sizes nearly alike.")
    pairs = {size: [f"{each} %" for each in format_distinct(*_largest(spread, size), digits=0)] for size in sizes}
    return Answer(
        Kind.ONE,
        f"At d_k {best} the mean largest weight is {pairs[best][0]} without the division and {pairs[best][1]} with it.",
        f"√{best} = {number_words(np.sqrt(best))}: dividing by it changes nothing.",
        tuple(
            Option(
                str(size),
                f"d_k {size}",
                f"There the mean largest weight is {pairs[size][0]} without the division, {pairs[size][1]} with it."
                if size != best
                else "",
            )
            for size in sizes
        ),
        frozenset({str(best)}),
        names={"seed": str(seed)},
    )


@measure
@of_the_page
def quiet_head(run: Run) -> Answer:
    """Ask for a head whose rows' largest weights hardly change without the division.

    names: limit, the head of cross-attention that changes most (layer and head, from 1), to begin with, and the head
    that changes least of all (quiet_kind, quiet_layer, quiet_head).
    """
    now, rises = _largest_weights(run)
    start = max((heads for heads in rises if heads.kind == "cross"), key=rises.__getitem__)
    quietest = min(rises, key=rises.__getitem__)
    if rises[quietest] >= HARDLY or rises[start] < PLAINLY:
        raise Undecided("The division changes all heads of this model alike in this sentence.")
    shown = head_in(run.address)
    done, here = False, "The page shows no single head of this sentence."
    if shown in rises:
        done = rises[shown] < HARDLY
        here = (
            f"In {kind_head_name(shown)} the largest weight is {percent(now[shown])} on average; without the division "
            f"it would rise by {_points(rises[shown])}."
        )
    return Answer(
        Kind.DO,
        here,
        f"Compare the two marks of each row. In {kind_head_name(quietest)} they nearly meet: "
        f"{_points(rises[quietest])} apart on average.",
        done=done,
        names={
            "limit": _points(HARDLY),
            "layer": str((start.layer or 0) + 1),
            "head": str((start.head or 0) + 1),
            "quiet_kind": str(quietest.kind),
            "quiet_layer": str((quietest.layer or 0) + 1),
            "quiet_head": str((quietest.head or 0) + 1),
        },
    )


@cache
def _random(seed: int) -> RandomProducts:
    if seed not in SEEDS:
        raise Undecided(f"The random vectors have seeds from {SEEDS.start} to {SEEDS.stop - 1}.")
    return measure_random_products(seed)


def _largest(spread: RandomProducts, size: int) -> tuple[float, float]:
    """Return the mean largest weights at a size in percent, without the division and with it."""
    at = spread.sizes.index(size)
    return 100 * float(spread.largest[at]), 100 * float(spread.largest_scaled[at])


def _head(run: Run, kind: str) -> tuple[int, int, Stages]:
    """Return the head of a kind that the pages begin with, from 0, and what its block computes."""
    layer, head = results.default_head(run.request, kind)
    return layer, head, measures.stages(run.request, kind, layer)[0]


def _named(layer: int, head: int, stages: Stages) -> dict[str, str]:
    return {
        **head_names(layer, head),
        "dimension": str(head * stages.d_k + 1),
        "d_k": str(stages.d_k),
    }


def _largest_weights(run: Run) -> tuple[dict[HeadRef, float], dict[HeadRef, float]]:
    """Return the mean largest weight of each head's rows, and by how much it would rise without the division.

    Softmax of scores that are √d_k times as large gives the weights to that power, divided by their sum.
    """
    trace, config = run.trace, run.translator.model.config
    if not config.scale_scores:
        raise Undecided(_NOT_DIVIDED)
    if config.positions == Positions.RELATIVE:
        raise Undecided(_BIASED)
    now: dict[HeadRef, float] = {}
    rises: dict[HeadRef, float] = {}
    for kind in AttentionKind:
        weights = np.asarray(trace.attention(kind), dtype=np.float64)
        if weights.shape[-1] < 3 or weights.shape[-2] < 3:
            raise Undecided("This sentence is too short: nearly every row has only one key to choose.")
        largest = weights.max(axis=-1)
        without = 1 / ((weights / largest[..., None]) ** np.sqrt(config.d_k)).sum(axis=-1)
        for (layer, head), mean in np.ndenumerate(largest.mean(axis=-1)):
            now[HeadRef(kind, layer, head)] = float(mean)
            rises[HeadRef(kind, layer, head)] = float(without[layer, head].mean() - mean)
    return now, rises


def _points(value: float) -> str:
    """Return the difference of two shares."""
    return pluralize(round(100 * value), "percentage point") if value >= 0.005 else "less than 1 percentage point"
