"""Sentences computed from positions: the formula's, learned ones, and what adding them does to a sentence."""

from collections.abc import Sequence

import numpy as np

from headlight.plots.text import format_distinct, format_error, pluralize, quoted, signed
from transformer.arrays import cosine
from transformer.config import Positions
from transformer.interpret import positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.positions import DistanceLaw, EmbeddingSum, Encoding, encoding

STILL = 0.1  # a column whose values differ by less than this over all positions hardly tells them apart
SHOWN = 128  # learned positions that are drawn, the first ones
NO_POSITIONS = (
    "This model adds no positions to its embeddings, so there is nothing to draw: its encoder reads a multiset of "
    "tokens. Its decoder can learn something of the order from the causal mask alone (Haviv et al. 2022)."
)
MULTIPLIED = (
    "This model's table is made with a slip: its positions are multiplied by 10,000^(2i / d_model), by which the "
    "formula divides them, as if the base were 1 / 10,000. Both laws still hold, but the farther right a pair, the "
    "faster it turns: neighbours are hardly more alike than positions far apart."
)


def describe_size(shown: Encoding) -> str:
    """Name a table by its size, such as "d_model 64, positions 0 to 63, base 10,000"."""
    base = f"{shown.base:,.0f}" if shown.base >= 1 else f"1 / {1 / shown.base:,.0f}"
    return f"d_model {shown.d_model}, positions 0 to {shown.length - 1}, base {base}"


def first_position_words(shown: Encoding) -> str:
    """Say that a model counts positions from another number than 0."""
    return (
        f"This model's position 0 has the formula's vector of position {shown.first_position}. What depends on "
        "distances is the same."
    )


def missing_dimensions(shown: Encoding, dimensions: Sequence[int]) -> str:
    """List the chosen dimensions that a table does not have; "" if it has them all."""
    missing = ", ".join(str(dimension) for dimension in sorted(dimensions) if dimension >= shown.d_model)
    return missing and f"Not here: {missing}. With d_model {shown.d_model} dimensions go from 0 to {shown.d_model - 1}."


def describe_curves(settings: Encoding, model: Encoding, dimensions: Sequence[int]) -> str:
    """Give the wavelengths of the first and the last chosen dimension, here and in the model."""
    told = ["A pair's cosine runs a quarter of a wave ahead of its sine."]
    for name, shown in (("In this model", model), ("With these settings", settings)):
        ends = sorted({min(dimensions), max(dimensions)} & set(range(shown.d_model)))
        waves = [f"dimension {dimension} repeats every {_wave(shown, dimension)} positions" for dimension in ends]
        told = [f"{name} {', '.join(waves)}.", *told] if waves else told
    return " ".join(told)


def describe_matrix(settings: Encoding, model: Encoding) -> str:
    """Count the columns that hardly change over the positions shown, here and in the model."""
    but = " (in this model, the faster)" if model.base < 1 else ""
    return (
        f"The farther right a column, the slower it changes{but}. Columns that change by less than {STILL}: "
        f"{_still(settings)} of {settings.d_model} over these {settings.length} positions; in this model "
        f"{_still(model)} of {model.d_model} over {model.length}."
    )


def describe_products(settings: DistanceLaw, model: DistanceLaw) -> str:
    """State the law that only the distance matters, its largest deviation, and how fast the dot product falls."""
    return (
        "Every diagonal has one colour: the dot product depends on the distance alone. No product differs by more than "
        f"{format_error(settings.deviation)} (this model: {format_error(model.deviation)}) from the mean of its "
        f"distance: rounding. At distance 0 it is d_model / 2 = {settings.means[0]:.0f}, {_fading(settings.means)}."
    )


def describe_wavelengths(settings: Encoding, model: Encoding) -> str:
    """Count the pairs that turn fully within the length, and give the slowest one's angle, here and in the model."""
    return f"With these settings {_turns(settings)}. In this model {_turns(model)}."


def describe_rotation(settings: Encoding, model: Encoding, pair: int, offset: int) -> str:
    """Give the angle of this offset, and the law's largest error over pairs and positions, here and in the model."""
    errors = (positions.rotation_error(shown, offset) for shown in (settings, model))
    here, there = ("—" if error is None else format_error(error) for error in errors)
    return (
        f"A shift by {pluralize(offset, 'position')} rotates pair {pair} by {_turned(settings, pair, offset)}, from "
        f"any position on. R(k) PE(p) differs from PE(p + k) by at most {here} (this model: {there}): rounding."
    )


def try_another_base(settings: Encoding) -> str:
    """Say what another base would do to columns, wavelengths and dot products."""
    other = encoding(settings.length, settings.d_model, 100.0 if settings.base != 100 else 10000.0)
    last = other.d_model - 1
    return (
        f"base {other.base:,.0f}: columns that hardly change would be {_still(other)} (here {_still(settings)}), pairs "
        f"that turn fully {_turning(other)} (here {_turning(settings)}), the slowest would repeat every "
        f"{_wave(other, last)} positions (here {_wave(settings, last)}), and of a dot product "
        f"{_fading(other.expected_products)} (here {_fading(settings.expected_products)})."
    )


def try_rotation(settings: Encoding, pair: int, offset: int) -> str:
    """Ask to move the position, and to look at the other end of the frequencies."""
    other = 0 if pair else settings.d_model // 2 - 1
    return (
        f"another position: both arrows rotate, the angle between them and the matrix stay the same. Or pair {other}, "
        f"which the same offset rotates by {_turned(settings, other, offset)}."
    )


def rotation_formula(shown: Encoding, pair: int, position: int, offset: int) -> str:
    """Write R(k) times a pair at a position, and the same pair k positions on, with their numbers, in LaTeX."""
    before, after = shown.pairs[position, pair], shown.pairs[position + offset, pair]
    matrix = positions.rotation(offset * shown.frequencies[pair])
    factors = _named(matrix, f"R({offset})") + _named(before[:, None], f"PE({position})")
    product, shifted = _matrix((matrix @ before)[:, None]), _named(after[:, None], f"PE({position + offset})")
    lines = (f"& {factors}", f"&= {product}", rf"&\approx {shifted}")
    return r"\begin{aligned}" + r" \\[4pt] ".join(lines) + r"\end{aligned}"


def describe_learned(table: np.ndarray) -> str:
    """Say what a table [length, d_model] that was learned lacks."""
    length, d_model = table.shape
    return (
        f"This model's positions are learned: a table of {length:,} rows of {d_model:,} numbers for each side. No "
        "formula made it, so there are no wavelengths, and no rotation leads from one position to the next. Drawn is "
        "the table itself, or how alike its rows are."
    )


def describe_norms(stack: str, table: np.ndarray) -> str:
    """Say how long the rows of a side's table are, and which is the longest."""
    norms = np.linalg.norm(table, axis=1)
    return (
        f"The {stack}'s rows have norms from {norms.min():.2f} to {norms.max():.2f}, the longest at position "
        f"{int(norms.argmax())}."
    )


def describe_likeness(stack: str, table: np.ndarray) -> str:
    """Give the mean cosine of neighbours in a side's table, and of rows half the table apart."""
    far = max(1, len(table) // 2)
    near, distant = (float(cosine(table[:-gap], table[gap:]).mean()) for gap in (1, far))
    return (
        f"Neighbouring rows of the {stack} have a cosine of {signed(near, 2)} on average, rows {far} apart "
        f"{signed(distant, 2)}."
    )


def describe_sum(summed: EmbeddingSum) -> str:
    """Compare the norms of embeddings and positions, and say whose direction the position changes most and least."""
    embeddings, added, _ = summed.norms
    scaled = "times √d_model" if summed.scaled else "not scaled by √d_model"
    text = f"The embeddings, {scaled}, have norms from {embeddings.min():.1f} to {embeddings.max():.1f}"
    if summed.kind == Positions.NONE:
        return f"{text}. This model adds no positions, so the sums are the embeddings themselves."
    norm = f"from {added.min():.2f} to {added.max():.2f}" if summed.kind == Positions.LEARNED else f"{added[0]:.2f}"
    cosines = summed.cosines
    least, most = int(cosines.argmin()), int(cosines.argmax())
    lowest, highest = format_distinct(cosines[least], cosines[most])
    return (
        f"{text}, the positions {norm}: larger than {int((embeddings < added).sum())} of the "
        f"{pluralize(len(added), 'token')}. The sum's direction differs most from {quoted(summed.tokens[least])} at "
        f"position {least} (cosine {lowest}), least from {quoted(summed.tokens[most])} at position {most} ({highest})."
    )


def try_dimensions(summed: EmbeddingSum) -> str:
    """Count the position's columns that hardly differ between this sentence's tokens."""
    still, columns = int((np.ptp(summed.positions, axis=0) < STILL).sum()), summed.positions.shape[1]
    return (
        f"all dimensions: {still} of {columns} columns of the positions vary by less than {STILL} over these "
        f"{pluralize(len(summed.tokens), 'token')}."
    )


def describe_repetition(summed: EmbeddingSum) -> str:
    """Say what a token that occurs twice is before and after the addition; "" for a sentence without one."""
    repeated = positions.repetitions(summed)
    if not repeated:
        return ""
    chosen = next((one for one in repeated if is_word(one.token)), repeated[0])
    outcome = "only now can attention distinguish them" if chosen.after else "attention cannot distinguish them"
    return (
        f"{quoted(chosen.token)} occurs {summed.tokens.count(chosen.token)} times, first at positions {chosen.first} "
        f"and {chosen.second}: one vector before the addition (distance {chosen.before:.2f}); after it they are "
        f"{chosen.after:.2f} apart (cosine {signed(chosen.cosine, 2)}): {outcome}."
    )


def _wave(shown: Encoding, dimension: int) -> str:
    """Write a wavelength: 6.3, 112, 47,117."""
    wavelength = shown.wavelengths[dimension // 2]
    if wavelength < 1:
        return f"{wavelength:.2g}"
    return f"{wavelength:.1f}" if wavelength < 100 else f"{wavelength:,.0f}"


def _still(shown: Encoding) -> int:
    return int((np.ptp(shown.table, axis=0) < STILL).sum())


def _turning(shown: Encoding) -> int:
    return int((shown.wavelengths <= shown.length - 1).sum())  # from the first position to the last


def _turns(shown: Encoding) -> str:
    degrees = float(np.degrees((shown.length - 1) * shown.frequencies.min()))
    return (
        f"{_turning(shown)} of {pluralize(shown.d_model // 2, 'pair')} rotate fully at least once within "
        f"{shown.length} positions, and the slowest rotates by {degrees:,.2f}°"
    )


def _turned(shown: Encoding, pair: int, offset: int) -> str:
    angle = float(np.degrees(offset * shown.frequencies[pair]))
    turns = int(angle // 360)
    return f"{angle:,.2f}°" + (f" ({pluralize(turns, 'full rotation')} and {angle % 360:.1f}°)" if turns else "")


def _fading(means: np.ndarray) -> str:
    """Say at which distance half of a dot product is lost."""
    below = np.flatnonzero(means < 0.5 * means[0])
    return f"half is lost at distance {below[0]}" if len(below) else f"half remains up to distance {len(means) - 1}"


def _named(values: np.ndarray, name: str) -> str:
    return rf"\underbrace{{{_matrix(values)}}}_{{{name}}}"


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(f"{value:.4f}" for value in row) for row in values)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"
