"""Sentences on the order of words: computed from two sentences, with positions and without."""

from collections.abc import Sequence

from headlight.app.finding import Finding
from headlight.plots.tokens import quoted
from transformer.config import Positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.positions import EmbeddingSum, Repetition, shared_tokens

WHY = (
    "Attention alone does not see where words stand. So the model adds to each word a vector of its position (Vaswani "
    "et al. 2017, 3.5)."
)


def exchanged(text: str) -> str:
    """Return a text with its first and last word exchanged, a mark at its end left there; a single word backwards."""
    words, end = text.rstrip(".!?…"), text[len(text.rstrip(".!?…")) :]
    first, *between = words.split() or [""]
    if not between:
        return words[::-1] + end
    return " ".join([between[-1], *between[:-1], first]) + end


def plainest(copies: Sequence[Repetition]) -> list[Repetition]:
    """Sort out those that stand at two positions, words before punctuation."""
    return sorted((copy for copy in copies if copy.first != copy.second), key=lambda copy: not is_word(copy.token))


def describe_order(
    one: EmbeddingSum, other: EmbeddingSum, translations: tuple[str, ...], without: tuple[str, ...]
) -> Finding:
    """Compare two sentences for an encoder without positions: their translations, with positions and `without`."""
    shared = shared_tokens(one, other)
    if len(shared) < max(len(one.tokens), len(other.tokens)):
        headline = "The sentences have different tokens: only shared ones can be compared."
    elif one.tokens == other.tokens:
        return Finding("Both sentences are the same: swap two words.")
    elif without[0] == without[1]:
        headline = "Without positions both orders get the same translation!"
    else:
        headline = "Without positions the encoder is given the same vectors in both."
    moved = plainest(shared)
    if not moved:
        return Finding(headline, "No token of both stands at another position.")
    same = "the same" if translations[0] == translations[1] else "another one for each order"
    return Finding(headline, f"{_moved_words(one.kind, moved[0])} With positions the translation is {same}.")


def _moved_words(kind: Positions, copy: Repetition) -> str:
    """Describe the two vectors of a token that stands at another position in each sentence."""
    where = f"{quoted(copy.token)} stands at position {copy.first} in the first and {copy.second} in the second."
    if kind == Positions.NONE:
        return f"{where} This model adds no positions: the two are {copy.after:.2f} apart."
    if kind == Positions.RELATIVE:
        return (
            f"{where} Nothing is added to its embedding: the two are {copy.after:.2f} apart. Order comes in only with "
            "the scores, by a bias for each distance; here “without positions” means without the encoder's bias."
        )
    return (
        f"{where} Its embeddings are {copy.before:.2f} apart; with the positions added, {copy.after:.2f}. Without "
        "positions the encoder reads a bag of vectors and cannot know which word stands where."
    )
