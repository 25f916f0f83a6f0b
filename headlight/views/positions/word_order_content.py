"""Sentences on the order of words: computed from two sentences, with positions and without."""

import re
from collections.abc import Sequence

from headlight.app.finding import Finding, Templates
from transformer.config import Positions
from transformer.interpret.head_patterns import is_word
from transformer.interpret.positions import EmbeddingSum, Repetition, shared_tokens

TEMPLATES = Templates.beside(__file__)
_ARTICLE = re.compile("the|an?|this|my|your|his|her|its|our|their|every|der|die|das|ein", re.IGNORECASE)


def exchanged(text: str) -> str:
    """Return a text with two words exchanged, a mark at its end left there; a single word backwards."""
    words, end = text.rstrip(".!?…"), text[len(text.rstrip(".!?…")) :]
    each = words.split() or [""]
    if len(each) < 2:
        return words[::-1] + end
    plain = [at for at in range(1, len(each)) if each[at].islower() and each[at].isalpha()]
    nouns = [at for at in plain if _ARTICLE.fullmatch(each[at - 1])]
    longest = sorted(plain, key=lambda at: -len(each[at]))[:2]  # where articles tell no two nouns
    pairs = [(nouns[0], at) for at in nouns[:0:-1]] + [tuple(longest)] * (len(plain) > 2)
    one, other = next((pair for pair in pairs if each[pair[0]] != each[pair[1]]), (0, -1))
    each[one], each[other] = each[other], each[one]
    return " ".join(each) + end


def plainest(copies: Sequence[Repetition]) -> list[Repetition]:
    """Return the tokens that stand at two positions, words before punctuation."""
    return sorted((copy for copy in copies if copy.first != copy.second), key=lambda copy: not is_word(copy.token))


def describe_order(
    one: EmbeddingSum, other: EmbeddingSum, translations: tuple[str, ...], without: tuple[str, ...]
) -> Finding:
    """Compare two sentences for an encoder without positions: their translations, with positions and `without`."""
    shared = shared_tokens(one, other)
    if len(shared) < max(len(one.tokens), len(other.tokens)):
        name = "different_tokens"
    elif one.tokens == other.tokens:
        return TEMPLATES("same")
    else:
        name = "same_translation" if without[0] == without[1] else "same_vectors"
    moved = plainest(shared)
    if not moved:
        return TEMPLATES(name).followed_by(TEMPLATES("none_moved"))
    copy, kind = moved[0], one.kind if one.kind in (Positions.NONE, Positions.RELATIVE) else "added"
    return TEMPLATES(name).followed_by(
        TEMPLATES("moved", token=copy.token, first=copy.first, second=copy.second),
        TEMPLATES(kind, before=copy.before, after=copy.after),
        TEMPLATES("with_same" if translations[0] == translations[1] else "with_another"),
    )
