"""How measures name tokens in sentences."""

from collections.abc import Sequence

from headlight.plots.text import BLANK
from transformer.data.tokenizer import SPACE


def readable(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens as sentences name them: those that are nothing but a blank, as models of letters have, by ␣."""
    return tuple(BLANK if token == SPACE else token for token in tokens)
