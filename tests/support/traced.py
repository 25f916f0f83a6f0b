"""The laws' sentences, translated once by the checkpoint that the app opens with; and how captions name tokens."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from support.sentences import SENTENCES

from transformer import Translator
from transformer.interpret.trace import Trace

CHECKPOINT = Path(__file__).parents[2] / "checkpoints" / "en-de"
TOKEN = r"“(.+?)”(?: \(position (\d+)\))?"  # two groups: the token and, where it is said, its position


@cache
def translator() -> Translator:
    """The checkpoint that the app opens with."""
    return Translator.load(CHECKPOINT, "cpu")


@cache
def traces() -> tuple[Trace, ...]:
    """Every sentence with its greedy translation."""
    return tuple(translator().trace(text) for text in SENTENCES)


def place_of(tokens: Sequence[str], token: str, position: str | None) -> int:
    """Which token a caption means, from 0; one that stands several times has to come with its position."""
    if position is None:
        assert list(tokens).count(token) == 1, f"{token} is not one of its kind"
        return list(tokens).index(token)
    assert tokens[int(position) - 1] == token
    return int(position) - 1
