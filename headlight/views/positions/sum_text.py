"""Sentences computed from what enters the encoder: the norms of embeddings and positions, and a token that repeats."""

import numpy as np

from headlight.plots.text import apart, counted, quoted, signed
from transformer.config import Positions
from transformer.interpret import positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.positions import EmbeddingSum

from .text import STILL


def describe_sum(summed: EmbeddingSum) -> str:
    """The norms of the three vectors, and which token's direction the position changes most, where there is one."""
    embeddings, added, _ = summed.norms
    cosines = summed.cosines
    least, most = int(cosines.argmin()), int(cosines.argmax())
    lowest, highest = apart(cosines[least], cosines[most])
    scaled = "times √d_model" if summed.scaled else "not scaled by √d_model in this model"
    every = f"Every position has norm √(d_model / 2) = {added[0]:.2f}"
    if summed.kind == Positions.NONE:
        own = f"{scaled}, they have norms from {embeddings.min():.1f} to {embeddings.max():.1f}"
        return f"This model adds no positions, so the sums are the embeddings themselves: {own}."
    if summed.kind == Positions.LEARNED:
        every = f"The learned positions have norms from {added.min():.2f} to {added.max():.2f}"
    return (
        f"{every}; {scaled}, the embeddings have norms from "
        f"{embeddings.min():.1f} to {embeddings.max():.1f}: {_outweighed(summed)}. The sum's direction differs most "
        f"from {quoted(summed.tokens[least])} at position {least} (cosine {lowest}), least from "
        f"{quoted(summed.tokens[most])} at position {most} ({highest})."
    )


def _outweighed(summed: EmbeddingSum) -> str:
    """Which tokens have a smaller norm than the position added to them."""
    embeddings, added, _ = summed.norms
    small = dict.fromkeys(
        quoted(token) for token, own, other in zip(summed.tokens, embeddings, added, strict=True) if own < other
    )
    if not small:
        return "every token has a larger norm than its position"
    return f"the position added has a larger norm than {', '.join(small)}"


def try_dimensions(summed: EmbeddingSum) -> str:
    """What all dimensions show: how many of the position's columns hardly differ between this sentence's tokens.

    Of a model without positions, another one.
    """
    if summed.kind == Positions.NONE:
        return "another checkpoint: one that adds positions gives the same token another vector at every position."
    still, columns = int((np.ptp(summed.positions, axis=0) < STILL).sum()), summed.positions.shape[1]
    where = "; the fast ones on the left distinguish them" if summed.kind == Positions.SINUSOIDAL else ""
    return (
        f"all dimensions: {still} of the {columns} position columns {'varies' if still == 1 else 'vary'} by less than "
        f"{STILL} over these {counted(len(summed.tokens), 'token')}{where}."
    )


def describe_repetition(summed: EmbeddingSum) -> str:
    """A token that occurs twice: one vector before the addition, two after it if any; "" for a sentence without one."""
    found = positions.repetitions(summed)
    if not found:
        return ""
    chosen = next((one for one in found if is_word(one.token)), found[0])
    places = summed.tokens.count(chosen.token)
    often = "is" if places == 2 else f"occurs {places} times, first"
    if not chosen.after:
        return (
            f"{quoted(chosen.token)} {often} at positions {chosen.first} and {chosen.second}, and is the same vector "
            "at both: nothing is added by which attention could distinguish them."
        )
    cosine = "over 0.99" if chosen.cosine >= 0.995 else signed(chosen.cosine, 2)
    return (
        f"{quoted(chosen.token)} {often} at positions {chosen.first} and {chosen.second}. Before the addition both are "
        f"the same vector (distance {chosen.before:.2f}), after it they are {chosen.after:.2f} apart (cosine "
        f"{cosine}): only now can attention distinguish them."
    )
