"""Measures of the order of words: positions, and the effects of adding them to a sentence's embeddings."""

import re
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure, of_the_page
from headlight.lessons.words import translated
from headlight.plots.numbers import signed
from headlight.views.positions.word_order_content import exchanged
from transformer.config import Positions
from transformer.interpret import positions
from transformer.interpret.positions import EmbeddingSum, Encoding
from transformer.model.transformer import Transformer

from .wording import is_whole_word, only_words, quoted_all

APART = 0.05  # between two cosines
FULL = 10.0  # degrees from a whole number of turns, within which an arrow points the same way again
MOST_OFFSET = 64  # the page's slider ends there
USUAL_PAIR, USUAL_OFFSET = 4, 3  # of the page
_DISTANCES = (4, 3, 2, 1)  # of pairs of positions to choose from


def _refuse_bias(model: Transformer) -> None:
    if model.config.positions == Positions.RELATIVE:
        raise Undecided("This model adds no positions to its embeddings: its order is a bias on scores, by distance.")


@measure
def translated_without_positions(run: Run) -> Answer:
    """Ask how many words of a translation are left when the encoder is given no positions, for both orders the same.

    names: first and second (the sentences), as_first (its translation with positions), count (its words).
    """
    if run.translator.model.config.positions == Positions.NONE:
        raise Undecided("This model adds no positions, so there are none to take away.")
    _refuse_bias(run.translator.model)
    one = run.greedy
    other = replace(one, text=exchanged(run.request.text))
    traces = [results.trace(each) for each in (one, other)]
    if one.text == other.text or sorted(traces[0].source_ids) != sorted(traces[1].source_ids):
        raise Undecided("With two words exchanged this sentence has not the same tokens.")
    without = {results.study(each).without_positions().trace.target_text for each in (one, other)}
    words, left = (Counter(only_words(text).split()) for text in (traces[0].target_text, min(without)))
    if len(without) > 1 or len(words) < 2:
        raise Undecided("Without positions the model does not write one translation of some words for both orders.")
    common = (words & left).total()
    spelled: list[str] = []
    unseen = words & left
    for word in re.findall(r"\w+", traces[0].target_text):
        if unseen[word.lower()]:
            unseen[word.lower()] -= 1
            spelled.append(word)
    return Answer(
        Kind.NUMBER,
        f"Without positions it writes {translated(min(without))} That has {common} of {words.total()} words.",
        f"Both sentences have the same {len(traces[0].source_ids)} tokens, and so the encoder is given the same "
        f"vectors, in another order that nothing tells it. In both: {quoted_all(spelled) or 'nothing'}.",
        value=common,
        tolerance=1,
        bounds=(0, words.total()),
        names={"first": one.text, "second": other.text, "as_first": traces[0].target_text, "count": words.total()},
    )


@measure
def position_length(run: Run) -> Answer:
    """Ask how long the vector of a position is, beside the embeddings of the sentence.

    names: pairs, d_model.
    """
    _, summed = _sum(run)
    table = _formula(run)
    embeddings, added, _ = summed.norms
    length, pairs, longer = float(added.mean()), table.d_model // 2, int((embeddings > added).sum())
    return Answer(
        Kind.NUMBER,
        f"Every position's vector is √{pairs} = {length:.1f} long; the embeddings here have lengths from "
        f"{embeddings.min():.1f} to {embeddings.max():.1f}, and {longer} of {len(added)} are longer.",
        f"In each pair sin² + cos² = 1, and there are {pairs} pairs: the length is √{pairs} = {length:.1f}.",
        value=length,
        tolerance=0.5,
        names={"pairs": pairs, "d_model": table.d_model},
    )


@measure
def copies_apart(run: Run) -> Answer:
    """Ask how far apart two copies of a token are once their positions are added.

    A word that stands once has its copy in the place of the last token. names: word, first and second (both positions,
    from 0), between (the distance of their vectors), embedding (its length).
    """
    model, summed = _sum(run)
    _refuse_bias(model)
    if model.config.positions == Positions.NONE:
        raise Undecided("This model adds no positions: two copies of a token stay one vector.")
    tokens = results.trace(run.greedy).source_tokens
    words = [at for at in range(len(tokens) - 3) if is_whole_word(tokens, at)]
    if not words:
        raise Undecided("This sentence has no whole word before its last ones.")
    twice = [(one, other) for one, other in combinations(words, 2) if tokens[one] == tokens[other]]
    first, second = (*twice, (max(words, key=lambda at: len(tokens[at])), len(tokens) - 1))[0]
    between = float(np.linalg.norm(summed.positions[first] - summed.positions[second]))
    embedding = float(summed.norms[0][first])
    return Answer(
        Kind.NUMBER,
        f"The two sums are {between:.2f} apart: as far as the vectors of their positions.",
        "The embedding falls out: (embedding + first position) − (embedding + second position) is the difference of "
        f"both positions, and that is {between:.2f} long.",
        value=between,
        names={"word": tokens[first], "first": first, "second": second, "between": f"{between:.2f}"}
        | {"embedding": f"{embedding:.2f}"},
    )


@measure
def rotation_angle(run: Run, pair: int, position: int, offset: int) -> Answer:
    """Ask by how many degrees an offset turns a pair of dimensions from a position on.

    names: pair and position (as the page counts them, from 0), offset, one (the angle of a single step).
    """
    table = _formula(run)
    if pair >= table.d_model // 2 or position + offset >= table.length:
        raise Undecided("This model has no such pair of dimensions, or no such position.")
    one = _degrees(table, pair, 1)
    angle = offset * one
    if not 10.0 <= angle <= 350.0:
        raise Undecided("In this model this pair turns too slowly or too fast to tell the angle.")
    return Answer(
        Kind.NUMBER,
        f"A shift by {offset} turns pair {pair} by {angle:.1f}°, from position {position} and from any other.",
        f"One step turns it by {one:.2f}°, wherever it begins: {offset} × {one:.2f}° = {angle:.1f}°.",
        value=angle,
        names={"pair": pair, "position": position, "offset": offset, "one": f"{one:.2f}°"},
    )


@measure
@of_the_page
def turned_around(run: Run) -> Answer:
    """Ask for an offset that turns the chosen pair back to where it was; the address says pair and offset.

    names: pair, offset, enough (an offset that does it, where there is one).
    """
    table = _formula(run)
    pair = min(_whole(run.address.get("pair", ""), USUAL_PAIR), table.d_model // 2 - 1)
    offset = max(1, _whole(run.address.get("offset", ""), USUAL_OFFSET))
    angle = _degrees(table, pair, offset)
    turns = (_degrees(table, pair, each) for each in range(1, MOST_OFFSET + 1))
    enough = next((at for at, turn in enumerate(turns, start=1) if _is_around(turn)), None)
    hint = f"An offset of {enough} does it." if enough else "This pair is too slow: take one of a lower number."
    same = "points almost" if _is_around(angle) else "does not yet point"
    return Answer(
        Kind.DO,
        f"With an offset of {offset} pair {pair} has turned by {angle:,.1f}° and {same} where it did: it is "
        f"{_from_full(angle):.1f}° away from the nearest whole turn.",
        f"One step turns it by {_degrees(table, pair, 1):.2f}°; look for a multiple close to 360°, 720°, … {hint}",
        done=_is_around(angle),
        names={"pair": pair, "offset": offset, "enough": enough or offset},
    )


@measure
def most_alike(run: Run) -> Answer:
    """Ask which pair of positions has the most similar vectors: those of the least distance, wherever they stand."""
    table = _formula(run)
    starts = (table.length // 16, 0, table.length // 3, table.length - 2)
    pairs = [(start, start + distance) for start, distance in zip(starts, _DISTANCES, strict=True)]
    if pairs[0][1] >= table.length - 2:
        raise Undecided("This model has too few positions to compare distances.")
    products = positions.dot_products(table)
    cosines = {
        (one, other): float(products[one, other] / np.sqrt(products[one, one] * products[other, other]))
        for one, other in pairs
    }
    options = tuple(
        Option(
            str(other - one),
            f"positions {one} and {other}",
            f"They are {other - one} apart, and their cosine is {signed(value, 2)}.",
            value,
        )
        for (one, other), value in cosines.items()
    )
    first, second = sorted(cosines, key=lambda pair: -cosines[pair])[:2]
    if cosines[first] - cosines[second] < APART:
        raise Undecided("In this model two of these pairs are about equally alike.")
    return Answer(
        Kind.ONE,
        f"Positions {first[0]} and {first[1]} are most alike, with a cosine of {signed(cosines[first], 2)}: the "
        "distance alone decides, not where they stand.",
        "The cosines: "
        + ", ".join(f"{signed(value, 2)} at distance {b - a}" for (a, b), value in cosines.items())
        + ".",
        options,
        largest(options),
    )


def _formula(run: Run) -> Encoding:
    """Return the model's own table. Raises Undecided where no formula made it."""
    model = run.translator.model
    if model.config.positions != Positions.SINUSOIDAL:
        raise Undecided("This model's positions are not made of sines and cosines, so there is nothing to compute.")
    return positions.model_encoding(model)


def _sum(run: Run) -> tuple[Transformer, EmbeddingSum]:
    return run.translator.model, results.study(run.greedy).embedding_sum()


def _degrees(table: Encoding, pair: int, offset: int) -> float:
    return float(np.degrees(offset * table.frequencies[pair]))


def _from_full(angle: float) -> float:
    """Return the degrees by which an angle is away from whole turns."""
    return min(angle % 360, 360 - angle % 360)


def _is_around(angle: float) -> bool:
    """Return whether an arrow that has turned so far points the same way again."""
    return angle > 360 - FULL and _from_full(angle) <= FULL


def _whole(text: str, otherwise: int) -> int:
    """Return a whole number of an address, and for anything else another one."""
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else otherwise
