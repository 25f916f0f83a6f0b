"""Sentences computed from positional encodings: what to look for in each view, and what to try next."""

from collections.abc import Callable, Sequence

import numpy as np

from plots.text import is_word, quoted, tiny
from transformer.interpret.positions import (
    DistanceLaw,
    EmbeddingSum,
    Encoding,
    encoding,
    repetitions,
    rotation,
    rotation_error,
)

STILL = 0.1  # a column whose values differ by less than this over all positions hardly tells them apart
NOTABLE_RISE = 0.05  # by this much the curve over the distance must rise again to be spoken of
ONE_PAIR = "d_model 64: a single pair has the same wavelength with every base, many pairs share the work."


def describe_size(shown: Encoding) -> str:
    """What a table is, such as "d_model 64, positions 0 to 63, base 10,000"."""
    return f"d_model {shown.d_model}, positions 0 to {shown.length - 1}, base {shown.base:,.0f}"


def missing_dimensions(shown: Encoding, dimensions: Sequence[int]) -> str:
    """The chosen dimensions that a table does not have; "" where it has them all."""
    missing = [str(dimension) for dimension in sorted(dimensions) if dimension >= shown.d_model]
    if not missing:
        return ""
    return (
        f"Not here: dimension{'s' if len(missing) > 1 else ''} {', '.join(missing)}. "
        f"With d_model {shown.d_model} they go from 0 to {shown.d_model - 1}."
    )


def describe_curves(settings: Encoding, model: Encoding, dimensions: Sequence[int]) -> str:
    """How long the waves of the first and the last chosen dimension are, here and in the model."""
    there = sorted(dimension for dimension in dimensions if dimension < settings.d_model)
    if not there:
        return "Nothing is chosen that these settings have."
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
    return _try_another_base(
        settings,
        lambda other: (
            f"dimension {last} repeats every {_wave(other, last)} positions instead of {_wave(settings, last)}"
        ),
    )


def describe_matrix(settings: Encoding, model: Encoding) -> str:
    """How many columns hardly move over the positions shown, here and in the model."""
    return (
        f"Each row is one position's vector; the farther right a column, the slower it changes. {_still(settings)} of "
        f"{settings.d_model} columns move by less than {STILL} over these {settings.length} positions; in this model "
        f"{_still(model)} of {model.d_model}, over {model.length}."
    )


def try_matrix(settings: Encoding) -> str:
    """How many columns would hardly move with another base."""
    return _try_another_base(
        settings,
        lambda other: f"then {_still(other)} of {other.d_model} columns hardly move, instead of {_still(settings)}",
    )


def describe_products(settings: DistanceLaw, model: DistanceLaw) -> str:
    """The law that the distance alone decides, with the largest deviation found, and how fast nearness fades."""
    return (
        f"Every diagonal has one colour: the dot product depends on the distance alone. Of all products, none is more "
        f"than {tiny(settings.deviation)} (this model: {tiny(model.deviation)}) from the mean of its distance, which "
        f"is rounding. A position meets itself with d_model / 2 = {settings.means[0]:.0f}; {_fading(settings)}."
    )


def try_products(settings: Encoding) -> str:
    """How nearness would fade with another base."""

    def words(other: Encoding) -> str:
        law = DistanceLaw(other.expected_products, 0.0)
        return f"a position meets itself with {law.means[0]:.0f} there too, but {_fading(law)}"

    return _try_another_base(settings, words)


def describe_wavelengths(settings: Encoding, model: Encoding) -> str:
    """Which pairs turn at least once within the length, and how far the slowest one gets; here and in the model."""
    return f"With these settings {_turns(settings)}. In this model {_turns(model)}."


def try_wavelengths(settings: Encoding) -> str:
    """How many pairs would turn with another base."""
    return _try_another_base(
        settings,
        lambda other: (
            f"then {_turning(other)} of {other.d_model // 2} pairs turn at least once, instead of {_turning(settings)}"
        ),
    )


def describe_rotation(settings: Encoding, model: Encoding, pair: int, offset: int) -> str:
    """The angle of this offset, and the largest error of the law in any pair and position, here and in the model."""
    error, error_of_model = rotation_error(settings, offset), rotation_error(model, offset)
    in_model = "no two positions that far apart" if error_of_model is None else tiny(error_of_model)
    return (
        f"{offset} {'step turns' if offset == 1 else 'steps turn'} the hand of pair {pair} by "
        f"{_turned(settings, pair, offset)}, wherever it starts. Over all pairs and positions, "
        f"R(k) PE(p) differs from PE(p + k) by at most {tiny(error)} (this model: {in_model}), "
        "which is rounding."
    )


def try_rotation(settings: Encoding, pair: int, offset: int) -> str:
    """Move the position, and look at the other end of the frequencies."""
    other = 0 if pair else settings.d_model // 2 - 1
    text = "move the position: both hands go on, the angle between them and the matrix stay"
    if other == pair:
        return f"{text}."
    return f"{text}. Or pair {other}, which the same offset turns by {_turned(settings, other, offset)}."


def rotation_formula(shown: Encoding, pair: int, position: int, offset: int) -> str:
    """R(k) times a pair at a position, and the same pair k positions on, with their numbers, in LaTeX."""
    before, after = shown.pairs[position, pair], shown.pairs[position + offset, pair]
    matrix = rotation(offset * shown.frequencies[pair])
    factors = _named(matrix, f"R({offset})") + _named(before[:, None], f"PE({position})")
    lines = (
        f"& {factors}",
        f"&= {_matrix((matrix @ before)[:, None])}",
        rf"&\approx {_named(after[:, None], f'PE({position + offset})')}",
    )
    return r"\begin{aligned}" + r" \\[4pt] ".join(lines) + r"\end{aligned}"


def _try_another_base(settings: Encoding, words: Callable[[Encoding], str]) -> str:
    """What another base would do, `words` telling it of that encoding; of a single pair no base does anything."""
    if settings.d_model == 2:
        return ONE_PAIR
    other = encoding(settings.length, settings.d_model, 100.0 if settings.base != 100 else 10000.0)
    return f"base {other.base:,.0f}: {words(other)}."


def _wave(shown: Encoding, dimension: int) -> str:
    """A wavelength as people write it: 6.3, 112, 47,117."""
    wavelength = shown.wavelengths[dimension // 2]
    return f"{wavelength:.1f}" if wavelength < 100 else f"{wavelength:,.0f}"


def _still(shown: Encoding) -> int:
    return int((np.ptp(shown.table, axis=0) < STILL).sum())


def _turning(shown: Encoding) -> int:
    return int((shown.wavelengths <= shown.length - 1).sum())  # from the first position to the last


def _turns(shown: Encoding) -> str:
    pairs = shown.d_model // 2
    degrees = float(np.degrees((shown.length - 1) * shown.frequencies[-1]))
    return (
        f"{_turning(shown)} of {pairs} {'pair turns' if pairs == 1 else 'pairs turn'} at least once within "
        f"{shown.length} positions, and the slowest moves through {degrees:,.2f}°"
    )


def _turned(shown: Encoding, pair: int, offset: int) -> str:
    angle = float(np.degrees(offset * shown.frequencies[pair]))
    turns = int(angle // 360)
    if not turns:
        return f"{angle:.2f}°"
    return f"{angle:,.1f}° ({turns} whole turn{'s' if turns > 1 else ''} and {angle % 360:.1f}°)"


def _fading(law: DistanceLaw) -> str:
    """How far apart two positions have lost half of their likeness, and how alike they become again."""
    shares = law.means / law.means[0]
    below = np.flatnonzero(shares < 0.5)
    if not len(below):
        return f"up to distance {len(shares) - 1} at least half of that remains"
    text = f"at distance {below[0]} more than half of that is lost"
    gains = shares - np.minimum.accumulate(shares)
    best = int(gains.argmax())
    if gains[best] < NOTABLE_RISE:
        return text
    low = int(shares[:best].argmin())
    return f"{text}, yet from {shares[low]:.2f} of it at distance {low} it rises again to {shares[best]:.2f} at {best}"


def _named(values: np.ndarray, name: str) -> str:
    return rf"\underbrace{{{_matrix(values)}}}_{{{name}}}"


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(f"{value:.4f}" for value in row) for row in values)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"


def describe_sum(summed: EmbeddingSum) -> str:
    """How long the three vectors are, and which token's direction the position changes most."""
    embeddings, positions, _ = summed.norms
    cosines = summed.cosines
    least, most = int(cosines.argmin()), int(cosines.argmax())
    return (
        f"Every position has length √(d_model / 2) = {positions[0]:.2f}; times √d_model, the embeddings have "
        f"{embeddings.min():.1f} to {embeddings.max():.1f}: {_drowned(summed)}. The sum turns most from "
        f"{quoted(summed.tokens[least])} at position {least} (cosine {cosines[least]:.2f}), least from "
        f"{quoted(summed.tokens[most])} at position {most} ({cosines[most]:.2f})."
    )


def _drowned(summed: EmbeddingSum) -> str:
    """Which tokens are shorter than what is added to them."""
    embeddings, positions, _ = summed.norms
    short = dict.fromkeys(
        quoted(token) for token, own, added in zip(summed.tokens, embeddings, positions, strict=True) if own < added
    )
    return f"{', '.join(short)} shorter than the position added" if short else "every token outweighs its position"


def try_dimensions(summed: EmbeddingSum) -> str:
    """What all dimensions show: how few of the position's columns tell this sentence's tokens apart."""
    still = int((np.ptp(summed.positions, axis=0) < STILL).sum())
    return (
        f"all dimensions: {still} of the {summed.positions.shape[1]} position columns differ by less than {STILL} from "
        f"the first to the last of these {len(summed.tokens)} tokens; the fast ones on the left tell them apart."
    )


def describe_repetition(summed: EmbeddingSum) -> str:
    """A token that occurs twice: one vector before the addition, two after it; "" for a sentence without one."""
    found = repetitions(summed)
    if not found:
        return ""
    chosen = next((one for one in found if is_word(one.token)), found[0])
    return (
        f"{quoted(chosen.token)} stands at positions {chosen.first} and {chosen.second}. Before the addition both are "
        f"the same vector (distance {chosen.before:.2f}), after it they are {chosen.after:.2f} apart (cosine "
        f"{chosen.cosine:.2f}): only now can attention tell one from the other."
    )
