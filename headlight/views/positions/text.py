"""Sentences computed from positional encodings: what to look for in each view, and what to try next."""

from collections.abc import Callable, Sequence

import numpy as np

from headlight.plots.text import counted, signed, tiny
from transformer.interpret import positions
from transformer.interpret.positions import DistanceLaw, Encoding, encoding

STILL = 0.1  # a column whose values differ by less than this over all positions hardly tells them apart
NOTABLE_RISE = 0.05  # by this much the curve over the distance must rise again to be mentioned
NO_POSITIONS = (
    "This model adds no positions to its embeddings, so there is nothing to draw: its encoder reads a multiset of "
    "tokens. Its decoder can learn something of the order from the causal mask alone (Haviv et al. 2022)."
)
ONE_PAIR = "d_model 64: a single pair has the same wavelength with every base, many pairs have different ones."


def describe_size(shown: Encoding) -> str:
    """What a table is, such as "d_model 64, positions 0 to 63, base 10,000"."""
    base = f"{shown.base:,.0f}" if shown.base >= 1 else f"1 / {1 / shown.base:,.0f}"
    return f"d_model {shown.d_model}, positions 0 to {shown.length - 1}, base {base}"


def first_position_words(shown: Encoding) -> str:
    """That a model counts positions from another number than 0, and what that leaves as it is."""
    return (
        f"This model's first token stands at position {shown.first_position} of the formula: its position 0 here has "
        f"the vector that the formula gives to position {shown.first_position}. What depends on distances is the same."
    )


def multiplied_words() -> str:
    """That a model's positions are multiplied by what they should be divided by, and what that leads to."""
    return (
        "This model's table is made with a slip: its positions are multiplied by 10,000^(2i / d_model), by which the "
        "formula divides them, as if the base were 1 / 10,000. Both laws still hold, but the farther right a pair, the "
        "faster it turns, most by more than a full circle from one position to the next: neighbours are hardly more "
        "alike than positions far apart."
    )


def missing_dimensions(shown: Encoding, dimensions: Sequence[int]) -> str:
    """The chosen dimensions that a table does not have; "" where it has them all."""
    missing = [str(dimension) for dimension in sorted(dimensions) if dimension >= shown.d_model]
    if not missing:
        return ""
    listed = f"dimension{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    return f"Not here: {listed}. With d_model {shown.d_model} they go from 0 to {shown.d_model - 1}."


def describe_curves(settings: Encoding, model: Encoding, dimensions: Sequence[int]) -> str:
    """The wavelengths of the first and the last chosen dimension, here and in the model."""
    there = sorted(dimension for dimension in dimensions if dimension < settings.d_model)
    if not there:
        return "These settings have none of the chosen dimensions."
    first, last = there[0], there[-1]
    text = f"Dimension {first} repeats every {_wave(settings, first)} positions"
    if last // 2 != first // 2:
        text += f", dimension {last} every {_wave(settings, last)}"
    if last < model.d_model:
        text += f"; in this model, dimension {last} every {_wave(model, last)}"
    return f"{text}. The two curves of a pair are one wave, the cosine a quarter of it ahead."


def try_curves(settings: Encoding, dimensions: Sequence[int]) -> str:
    """What another base does to the slowest of the chosen dimensions."""
    last = max((dimension for dimension in dimensions if dimension < settings.d_model), default=0)
    if settings.d_model > 2 and last < 2:  # the first pair has the same wavelength with every base
        slowest = settings.d_model - 1
        return f"dimension {slowest}, the slowest here: it repeats every {_wave(settings, slowest)} positions."

    def words(other: Encoding) -> str:
        return f"dimension {last} repeats every {_wave(other, last)} positions instead of {_wave(settings, last)}"

    return _try_another_base(settings, words)


def describe_matrix(settings: Encoding, model: Encoding) -> str:
    """How many columns hardly change over the positions shown, here and in the model."""
    still = _still(settings)
    but = " (in this model, the faster)" if model.base < 1 else ""
    return (
        f"Each row is one position's vector; the farther right a column, the slower it changes{but}. {still} of "
        f"{settings.d_model} columns {_verb(still, 'change')} by less than {STILL} over these {settings.length} "
        f"positions; in this model {_still(model)} of {model.d_model}, over {model.length}."
    )


def try_matrix(settings: Encoding) -> str:
    """How many columns would hardly change with another base."""

    def words(other: Encoding) -> str:
        still = _still(other)
        change = _verb(still, "change")
        return f"then {still} of {other.d_model} columns hardly {change}, {_beside(still, _still(settings))}"

    return _try_another_base(settings, words)


def describe_products(settings: DistanceLaw, model: DistanceLaw) -> str:
    """The law that only the distance matters, its largest deviation, and how fast the dot product falls."""
    return (
        f"Every diagonal has one colour: the dot product depends on the distance alone. No product differs by more "
        f"than {tiny(settings.deviation)} (this model: {tiny(model.deviation)}) from the mean of its distance, which "
        f"is rounding. The product of a position with itself is d_model / 2 = {settings.means[0]:.0f}; "
        f"{_fading(settings)}."
    )


def try_products(settings: Encoding) -> str:
    """How fast the dot product would fall with another base."""

    def words(other: Encoding) -> str:
        law = DistanceLaw(other.expected_products, 0.0)
        return f"the product of a position with itself is {law.means[0]:.0f} there too, but {_fading(law)}"

    return _try_another_base(settings, words)


def describe_wavelengths(settings: Encoding, model: Encoding) -> str:
    """Which pairs rotate fully within the length, and the angle of the slowest one; here and in the model."""
    return f"With these settings {_turns(settings)}. In this model {_turns(model)}."


def try_wavelengths(settings: Encoding) -> str:
    """How many pairs would rotate fully with another base."""

    def words(other: Encoding) -> str:
        turning, pairs = _turning(other), other.d_model // 2
        rotate = f"{_verb(turning, 'rotate')} fully at least once"
        return f"then {turning} of {pairs} pairs {rotate}, {_beside(turning, _turning(settings))}"

    return _try_another_base(settings, words)


def describe_rotation(settings: Encoding, model: Encoding, pair: int, offset: int) -> str:
    """The angle of this offset, and the largest error of the law in any pair and position, here and in the model."""
    error, error_of_model = positions.rotation_error(settings, offset), positions.rotation_error(model, offset)
    in_model = "no two positions that far apart" if error_of_model is None else tiny(error_of_model)
    return (
        f"A shift by {counted(offset, 'position')} rotates pair {pair} by {_turned(settings, pair, offset)}, from any "
        f"position on. Over all pairs and positions, R(k) PE(p) differs from PE(p + k) by at most {tiny(error)} (this "
        f"model: {in_model}), which is rounding."
    )


def try_rotation(settings: Encoding, pair: int, offset: int) -> str:
    """Move the position, and look at the other end of the frequencies."""
    other = 0 if pair else settings.d_model // 2 - 1
    text = "another position: both arrows rotate, the angle between them and the matrix stay the same"
    if other == pair:
        return f"{text}."
    return f"{text}. Or pair {other}, which the same offset rotates by {_turned(settings, other, offset)}."


def rotation_formula(shown: Encoding, pair: int, position: int, offset: int) -> str:
    """R(k) times a pair at a position, and the same pair k positions on, with their numbers, in LaTeX."""
    before, after = shown.pairs[position, pair], shown.pairs[position + offset, pair]
    matrix = positions.rotation(offset * shown.frequencies[pair])
    factors = _named(matrix, f"R({offset})") + _named(before[:, None], f"PE({position})")
    product, shifted = _matrix((matrix @ before)[:, None]), _named(after[:, None], f"PE({position + offset})")
    lines = (f"& {factors}", f"&= {product}", rf"&\approx {shifted}")
    return r"\begin{aligned}" + r" \\[4pt] ".join(lines) + r"\end{aligned}"


def _try_another_base(settings: Encoding, words: Callable[[Encoding], str]) -> str:
    """What another base would do, written by `words` for its encoding; a single pair is the same with every base."""
    if settings.d_model == 2:
        return ONE_PAIR
    other = encoding(settings.length, settings.d_model, 100.0 if settings.base != 100 else 10000.0)
    return f"base {other.base:,.0f}: {words(other)}."


def _beside(there: int, here: int) -> str:
    return "as many as here" if there == here else f"instead of {here}"


def _wave(shown: Encoding, dimension: int) -> str:
    """A wavelength: 6.3, 112, 47,117."""
    wavelength = shown.wavelengths[dimension // 2]
    if wavelength < 1:
        return f"{wavelength:.2g}"
    return f"{wavelength:.1f}" if wavelength < 100 else f"{wavelength:,.0f}"


def _still(shown: Encoding) -> int:
    return int((np.ptp(shown.table, axis=0) < STILL).sum())


def _turning(shown: Encoding) -> int:
    return int((shown.wavelengths <= shown.length - 1).sum())  # from the first position to the last


def _turns(shown: Encoding) -> str:
    pairs, turning = shown.d_model // 2, _turning(shown)
    degrees = float(np.degrees((shown.length - 1) * shown.frequencies.min()))
    return (
        f"{turning} of {counted(pairs, 'pair')} {_verb(1 if pairs == 1 else turning, 'rotate')} fully at least once "
        f"within {shown.length} positions, and the slowest rotates by {degrees:,.2f}°"
    )


def _verb(count: int, verb: str) -> str:
    """The verb of so many: one of 7 pairs rotates, two of them rotate."""
    return f"{verb}s" if count == 1 else verb


def _turned(shown: Encoding, pair: int, offset: int) -> str:
    angle = float(np.degrees(offset * shown.frequencies[pair]))
    turns = int(angle // 360)
    if not turns:
        return f"{angle:.2f}°"
    return f"{angle:,.1f}° ({counted(turns, 'full rotation')} and {angle % 360:.1f}°)"


def _fading(law: DistanceLaw) -> str:
    """At which distance half of the dot product is lost, and the largest rise that follows a fall."""
    shares = law.means / law.means[0]
    below = np.flatnonzero(shares < 0.5)
    if not len(below):
        text = f"up to distance {len(shares) - 1} at least half of that remains"
    else:
        text = f"at distance {below[0]} more than half of that is lost"
    gains = shares - np.minimum.accumulate(shares)
    best = int(gains.argmax())
    if gains[best] < NOTABLE_RISE:
        return text
    low = int(shares[:best].argmin())
    before, after = (signed(shares[distance], 2) for distance in (low, best))
    return f"{text}, and from {before} of it at distance {low} it rises again to {after} at {best}"


def _named(values: np.ndarray, name: str) -> str:
    return rf"\underbrace{{{_matrix(values)}}}_{{{name}}}"


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(f"{value:.4f}" for value in row) for row in values)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"
