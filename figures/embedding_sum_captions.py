"""Sentences computed from an embedding sum: what adding the positions changes."""

import numpy as np

from transformer.positions import EmbeddingSum, repetitions

from .captions import is_word, quoted
from .position_captions import STILL


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
