"""Measures of the order of words: positions, and the effects of adding them to a sentence's embeddings."""

import re
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, one_of
from headlight.lessons.words import Say
from headlight.views.positions.word_order_content import exchanged
from transformer.config import Positions
from transformer.interpret import positions
from transformer.interpret.positions import Encoding

from .wording import is_whole_word, only_words

APART = 0.05  # between two cosines
FULL = 10.0  # degrees from a whole number of turns, within which an arrow points the same way again
MOST_OFFSET = 64  # the page's slider ends there
USUAL_PAIR, USUAL_OFFSET = 4, 3  # of the page
_DISTANCES = (4, 3, 2, 1)  # of pairs of positions to choose from


@measure
def translated_without_positions(run: Run) -> Answer:
    """Ask how many words of a translation are left when the encoder is given no positions, for both orders the same.

    names: first and second (the sentences), as_first (its translation with positions), count (its words), tokens (how
    many), blind (the translation without positions), and common, the words that are in both.
    """
    _require_positions(run, "no_positions_to_take")
    one = run.greedy
    other = replace(one, text=exchanged(run.request.text))
    traces = [results.trace(each) for each in (one, other)]
    if one.text == other.text or sorted(traces[0].source_ids) != sorted(traces[1].source_ids):
        raise Undecided("not_the_same_tokens")
    without = set(results.study(one).translations_without_positions(results.study(other)))
    first, blind = traces[0].target_text, min(without)
    words, lower, left = re.findall(r"\w+", first), only_words(first).split(), Counter(only_words(blind).split())
    if len(without) > 1 or len(set(lower)) < 2:
        raise Undecided("not_one_translation")
    common = tuple(word for at, word in enumerate(words) if lower[:at].count(lower[at]) < left[lower[at]])
    names = {"first": one.text, "second": other.text, "as_first": first, "count": len(words), "blind": blind}
    names |= {"tokens": len(traces[0].source_ids), "common": common or Say("nothing")}
    return Answer(Kind.NUMBER, value=len(common), tolerance=1, bounds=(0, len(words)), names=names)


@measure
def position_length(run: Run) -> Answer:
    """Ask how long the vector of a position is, beside the embeddings of the sentence.

    names: pairs, d_model, least and most (of the embeddings' lengths), longer and positions (how many are longer, of
    how many).
    """
    d_model = _formula(run).d_model
    embeddings, added, _ = results.study(run.greedy).embedding_sum().norms
    names = {
        "pairs": d_model // 2,
        "d_model": d_model,
        "least": float(embeddings.min()),
        "most": float(embeddings.max()),
    }
    names |= {"longer": int((embeddings > added).sum()), "positions": len(added)}
    return Answer(Kind.NUMBER, value=float(added.mean()), tolerance=0.5, names=names)


@measure
def copies_apart(run: Run) -> Answer:
    """Ask how far apart two copies of a token are once their positions are added.

    A word that stands once has its copy in the place of the last token. names: word, first and second (both positions,
    from 0), between (the distance of their vectors), embedding (its length).
    """
    _require_positions(run, "no_positions_to_add")
    summed = results.study(run.greedy).embedding_sum()
    tokens = results.trace(run.greedy).source_tokens
    words = [at for at in range(len(tokens) - 3) if is_whole_word(tokens, at)]
    if not words:
        raise Undecided("no_whole_word")
    twice = [(one, other) for one, other in combinations(words, 2) if tokens[one] == tokens[other]]
    first, second = (*twice, (max(words, key=lambda at: len(tokens[at])), len(tokens) - 1))[0]
    between = float(np.linalg.norm(summed.positions[first] - summed.positions[second]))
    names = {"word": tokens[first], "first": first, "second": second, "between": between}
    return Answer(Kind.NUMBER, value=between, names=names | {"embedding": float(summed.norms[0][first])})


@measure
def rotation_angle(run: Run, pair: int, position: int, offset: int) -> Answer:
    """Ask by how many degrees an offset turns a pair of dimensions from a position on.

    names: pair and position (as the page counts them, from 0), offset, one (the angle of a single step).
    """
    table = _formula(run)
    if pair >= table.d_model // 2 or position + offset >= table.length:
        raise Undecided("no_such_pair")
    one = _degrees(table, pair, 1)
    angle = offset * one
    if not 10.0 <= angle <= 350.0:
        raise Undecided("no_plain_angle")
    return Answer(Kind.NUMBER, value=angle, names={"pair": pair, "position": position, "offset": offset, "one": one})


@measure
@of_the_page
def turned_around(run: Run) -> Answer:
    """Ask for an offset that turns the chosen pair back to where it was; the address says pair and offset.

    names: pair, offset, angle, away (from the nearest whole turn), one (the angle of a single step), enough (an offset
    that does it, where there is one), and advice.
    """
    table = _formula(run)
    pair = min(_whole(run.address.get("pair", ""), USUAL_PAIR), table.d_model // 2 - 1)
    offset = max(1, _whole(run.address.get("offset", ""), USUAL_OFFSET))
    angle = _degrees(table, pair, offset)
    offsets = range(1, MOST_OFFSET + 1)
    enough = next((each for each in offsets if _is_around(_degrees(table, pair, each))), None)
    return Answer(
        Kind.DO,
        tells="truth" if _is_around(angle) else "not_around",
        done=_is_around(angle),
        names={"pair": pair, "offset": offset, "angle": angle, "away": _from_full(angle)}
        | {"one": _degrees(table, pair, 1), "enough": enough or offset}
        | {"advice": Say("enough" if enough else "too_slow", {"enough": enough})},
    )


@measure
def most_alike(run: Run) -> Answer:
    """Ask which pair of positions has the most similar vectors: those of the least distance, wherever they stand.

    names: one and other, both positions, distance, and value, their cosine.
    """
    table = _formula(run)
    starts = (table.length // 16, 0, table.length // 3, table.length - 2)
    pairs = [(start, start + distance) for start, distance in zip(starts, _DISTANCES, strict=True)]
    if pairs[0][1] >= table.length - 2:
        raise Undecided("too_few_positions")
    products = positions.dot_products(table)
    options = [
        Option(
            str(other - one),
            value=float(products[one, other] / np.sqrt(products[one, one] * products[other, other])),
            values={"one": one, "other": other, "distance": other - one},
        )
        for one, other in pairs
    ]
    return one_of(options, by=APART, reason="two_pairs_alike")


def _formula(run: Run) -> Encoding:
    """Return the model's own table. Raises Undecided where no formula made it."""
    model = run.translator.model
    if model.config.positions != Positions.SINUSOIDAL:
        raise Undecided("no_sines")
    return positions.model_encoding(model)


def _require_positions(run: Run, reason: str) -> None:
    """Raise Undecided for a model that adds no positions to its embeddings: with the reason where it has none."""
    reasons = {Positions.NONE: reason, Positions.RELATIVE: "order_by_bias"}
    if (kind := run.translator.model.config.positions) in reasons:
        raise Undecided(reasons[kind])


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
