"""Sentences computed from positions: the formula's, learned ones, and what adding them does to a sentence."""

from collections.abc import Sequence

import numpy as np

from headlight.plots.text import Finding, format_error, pluralize, quoted, signed
from transformer.arrays import cosine
from transformer.config import Positions
from transformer.interpret import positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.positions import DistanceLaw, EmbeddingSum, Encoding, Repetition

from . import relative_content
from .words import WORDS, said

STILL = 0.1  # a column whose values differ by less than this over all positions hardly tells them apart
BASES = ("10", "100", "1000", "10000", "100000")  # of the wavelengths, to choose from
SHOWN = 128  # learned positions that are drawn, the first ones
TRY_BASE = "another base: how many columns still change, and how far does a dot product fall?"
REPEATING = "The old man saw the old dog and the old cat."
MOST_COPIES, DIMENSIONS_OF_COPIES, MOST_DISTANCES = 2, 32, 8  # tokens whose vectors, whose distances are drawn
_MOST_WORDS = 5  # of a sentence that is said twice
# By the language that a model reads: what says something else with its first word and its last exchanged.
_ORDERED = {
    "English": "Tom sees Mary.",
    "German": "Tom sieht Maria.",
    "French": "Tom voit Marie.",
    "Spanish": "Tom ama María.",
    "Italian": "Tom vede Maria.",
}
NO_POSITIONS = Finding(WORDS["no_positions"], WORDS["no_positions_more"])


def describe_size(shown: Encoding) -> str:
    """Name a table by its size, such as "d_model 64, positions 0 to 63, base 10,000"."""
    base = f"{shown.base:,.0f}" if shown.base >= 1 else f"1 / {1 / shown.base:,.0f}"
    return said("size", d_model=shown.d_model, last=shown.length - 1, base=base)


def first_position_words(shown: Encoding) -> str:
    """Say that a model counts positions from another number than 0."""
    return said("first_position", first=shown.first_position)


def missing_dimensions(shown: Encoding, dimensions: Sequence[int]) -> str:
    """List the chosen dimensions that a table does not have; "" if it has them all."""
    missing = ", ".join(str(dimension) for dimension in sorted(dimensions) if dimension >= shown.d_model)
    return missing and f"Not here: {missing}. With d_model {shown.d_model} dimensions go from 0 to {shown.d_model - 1}."


def describe_curves(settings: Encoding, model: Encoding, dimensions: Sequence[int]) -> Finding:
    """Give the wavelengths of the first and the last chosen dimension, here and in the model."""
    ends = sorted({min(dimensions), max(dimensions)})
    told = [
        said("wave", whose=WORDS[name], dimension=dimension, wave=_wave(shown, dimension))
        for name, shown in (("in_model", model), ("with_settings", settings))
        for dimension in ends
        if dimension < shown.d_model
    ]
    first, *others = [*told, WORDS["ahead"]]
    return Finding(first, " ".join(others))


def describe_matrix(settings: Encoding, model: Encoding) -> Finding:
    """Count the columns that hardly change over the positions shown, here and in the model."""
    but = WORDS["but_faster"] if model.base < 1 else ""
    of_settings = {"still": _still(settings), "d_model": settings.d_model, "last": settings.length - 1}
    return Finding(
        said("still", still=_still(model), d_model=model.d_model, least=STILL),
        said("still_over", last=model.length - 1, beside=said("still_settings", **of_settings), but=but),
    )


def describe_products(settings: DistanceLaw, model: DistanceLaw) -> Finding:
    """State the law that only the distance matters, its largest deviation, and how fast the dot product falls."""
    beside = said("products_model", deviation=format_error(model.deviation))
    told = {"half": f"{settings.means[0]:.0f}", "fading": _fading(settings.means)}
    more = said("products_more", deviation=format_error(settings.deviation), beside=beside, **told)
    return Finding(WORDS["products"], more)


def describe_wavelengths(settings: Encoding, model: Encoding) -> Finding:
    """Count the pairs that turn fully within the length, and give the slowest one's angle, here and in the model."""
    return Finding(
        f"In this model {_turning(model)} of {model.d_model // 2} pairs turn fully within {model.length} positions.",
        f"The slowest turns by {_slowest(model)}°. With these settings {_turning(settings)} of {settings.d_model // 2} "
        f"turn fully within {settings.length}, the slowest by {_slowest(settings)}°.",
    )


def describe_rotation(settings: Encoding, model: Encoding, pair: int, offset: int) -> Finding:
    """Give the angle of this offset, and the law's largest error over pairs and positions, here and in the model."""
    errors = (positions.rotation_error(shown, offset) for shown in (settings, model))
    here, there = ("—" if error is None else format_error(error) for error in errors)
    angle, turns = _turned(settings, pair, offset)
    return Finding(
        f"A shift by {pluralize(offset, 'position')} rotates pair {pair} by {angle}.",
        f"So it does from any position on{turns}. The largest difference of R(k) PE(p) from PE(p + k) is {here} (this "
        f"model: {there}): rounding.",
    )


def rotation_formula(shown: Encoding, pair: int, position: int, offset: int) -> str:
    """Write R(k) times a pair at a position, and the same pair k positions on, with their numbers, in LaTeX."""
    before, after = shown.pairs[position, pair], shown.pairs[position + offset, pair]
    matrix = positions.rotation(offset * shown.frequencies[pair])
    factors = _named(matrix, f"R({offset})") + _named(before[:, None], f"PE({position})")
    product, shifted = _matrix((matrix @ before)[:, None]), _named(after[:, None], f"PE({position + offset})")
    lines = (f"& {factors}", f"&= {product}", rf"&\approx {shifted}")
    return r"\begin{aligned}" + r" \\[4pt] ".join(lines) + r"\end{aligned}"


def describe_learned(table: np.ndarray, told: str) -> Finding:
    """Say what a table [length, d_model] that was learned lacks; `told` says what both sides' rows are like."""
    length, d_model = table.shape
    more = said("learned_more", length=f"{length:,}", d_model=f"{d_model:,}", told=told)
    return Finding(WORDS["learned"], more)


def describe_norms(stack: str, table: np.ndarray) -> str:
    """Say how long the rows of a side's table are, and which is the longest."""
    norms = np.linalg.norm(table, axis=1)
    ends = {"least": f"{norms.min():.2f}", "most": f"{norms.max():.2f}"}
    return said("norms", stack=stack, **ends, longest=int(norms.argmax()))


def describe_likeness(stack: str, table: np.ndarray) -> str:
    """Give the mean cosine of neighbours in a side's table, and of rows half the table apart."""
    far = max(1, len(table) // 2)
    near, distant = (float(cosine(table[:-gap], table[gap:]).mean()) for gap in (1, far))
    return said("likeness", stack=stack, near=signed(near, 2), gap=far, distant=signed(distant, 2))


def describe_sum(summed: EmbeddingSum) -> Finding:
    """Compare the norms of embeddings and positions."""
    embeddings, added, _ = summed.norms
    scaled = "times √d_model" if summed.scaled else "not scaled by √d_model"
    text = f"The embeddings, {scaled}, have norms from {embeddings.min():.1f} to {embeddings.max():.1f}"
    if summed.kind == Positions.NONE:
        return Finding("This model adds no positions: the sums are the embeddings.", f"{text}.")
    norm = f"from {added.min():.2f} to {added.max():.2f}" if summed.kind == Positions.LEARNED else f"{added[0]:.2f}"
    longer, tokens = int((embeddings > added).sum()), pluralize(len(added), "token")
    return Finding(
        f"The embedding is longer than the position at {longer} of {tokens}.", f"{text}, the positions {norm}."
    )


def ordered_sentence(language: str, text: str) -> str:
    """Return a sentence whose order matters: of the model's language, or the visitor's own for another."""
    return _ORDERED.get(language, text)


def exchanged(text: str) -> str:
    """Return a text with its first and last word exchanged, a mark at its end left there; a single word backwards."""
    words, end = text.rstrip(".!?…"), text[len(text.rstrip(".!?…")) :]
    first, *between = words.split() or [""]
    if not between:
        return words[::-1] + end
    return " ".join([between[-1], *between[:-1], first]) + end


def repeating(language: str, text: str) -> str:
    """Return a sentence in which words occur twice: in English one that was written for it, else a text said twice."""
    if language == "English":
        return REPEATING
    return " ".join(text.split()[:_MOST_WORDS] * 2)


def plainest(copies: Sequence[Repetition]) -> list[Repetition]:
    """Sort out those that stand at two positions, words before punctuation."""
    return sorted((copy for copy in copies if copy.first != copy.second), key=lambda copy: not is_word(copy.token))


def describe_order(
    one: EmbeddingSum, other: EmbeddingSum, translations: tuple[str, str], without: tuple[str, str]
) -> Finding:
    """Say what two sentences are to an encoder without positions: their translations, with positions and `without`."""
    shared = positions.shared_tokens(one, other)
    if len(shared) < max(len(one.tokens), len(other.tokens)):
        headline = WORDS["order_other_tokens"]
    elif one.tokens == other.tokens:
        return Finding(WORDS["order_same"])
    elif without[0] == without[1]:
        headline = WORDS["order_one_translation"]
    else:
        headline = WORDS["order_same_vectors"]
    moved = plainest(shared)
    if not moved:
        return Finding(headline, WORDS["order_none_moved"])
    chosen = moved[0]
    told = said("order_moved", token=quoted(chosen.token), first=chosen.first, second=chosen.second)
    apart = {"moved": told, "after": f"{chosen.after:.2f}"}
    if one.kind == Positions.NONE:
        return Finding(headline, said("order_nothing_added", **apart))
    same = WORDS["one_translation" if translations[0] == translations[1] else "two_translations"]
    if one.kind == Positions.RELATIVE:
        return Finding(headline, relative_content.ORDER_MORE.format(**apart, same=same))
    return Finding(headline, said("order_more", **apart, before=f"{chosen.before:.2f}", same=same))


def describe_repetition(summed: EmbeddingSum, offered: str = REPEATING) -> tuple[Finding, str]:
    """Say what a token that occurs twice is before and after the addition; where none does, what to try."""
    repeated = positions.repetitions(summed)
    if not repeated:
        return Finding("No token occurs twice in this sentence."), f"“{offered}”"
    chosen = plainest(repeated)[0]
    outcome = "only now can attention distinguish them" if chosen.after else "attention cannot distinguish them"
    return Finding(
        f"After the addition two copies of {quoted(chosen.token)} are {chosen.after:.2f} apart.",
        f"It occurs {summed.tokens.count(chosen.token)} times, first at positions {chosen.first} and {chosen.second}: "
        f"one vector before the addition (distance {chosen.before:.2f}); after it their cosine is "
        f"{signed(chosen.cosine, 2)}, and {outcome}.",
    ), ""


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


def _slowest(shown: Encoding) -> str:
    """Write by how many degrees the slowest pair turns from the first position to the last."""
    return f"{float(np.degrees((shown.length - 1) * shown.frequencies.min())):,.2f}"


def _turned(shown: Encoding, pair: int, offset: int) -> tuple[str, str]:
    """Write by how much an offset turns a pair, and how many full rotations that is: "" for none."""
    angle = float(np.degrees(offset * shown.frequencies[pair]))
    turns = int(angle // 360)
    more = f" ({pluralize(turns, 'full rotation')} and {angle % 360:.1f}°)" if turns else ""
    return f"{angle:,.2f}°", more


def _fading(means: np.ndarray) -> str:
    """Say at which distance half of a dot product is lost."""
    below = np.flatnonzero(means < 0.5 * means[0])
    if len(below):
        return said("half_lost", distance=below[0])
    return said("half_remains", distance=len(means) - 1)


def _named(values: np.ndarray, name: str) -> str:
    return rf"\underbrace{{{_matrix(values)}}}_{{{name}}}"


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(f"{value:.4f}" for value in row) for row in values)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"
