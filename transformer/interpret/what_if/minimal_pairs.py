"""Minimal pairs: two sentences that differ in one thing, and the two tokens between which it decides.

They come with a checkpoint, for its tokenizer has to cut both into as many tokens, and its model to tell them apart.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from ...data.tokenizer import TextTokenizer, source_ids
from ...errors import CheckpointError
from ...files import reading
from .patching import Question

PAIRS_FILE = "minimal_pairs.toml"


@dataclass(frozen=True)
class MinimalPair:
    """What the sentences differ in, both, the beginning of a translation of either, and the piece that follows each."""

    name: str
    sentences: tuple[str, str]
    prefix: str
    tokens: tuple[str, str]

    def question(self, tokenizer: TextTokenizer) -> Question:
        """The pair as ids, the first sentence being the clean one; raises InterventionError for unequal lengths, and
        CheckpointError for a token that is no piece.
        """
        pieces = {tokenizer.piece_text(id): id for id in range(tokenizer.target_size)}
        if not pieces.keys() >= set(self.tokens):
            raise CheckpointError(f"{' and '.join(self.tokens)} must be pieces of the tokenizer.")
        clean, corrupted = (tuple(source_ids(tokenizer, sentence)) for sentence in self.sentences)
        fed = (tokenizer.begin_id, *tokenizer.given(self.sentences[0]), *tokenizer.encode_target(self.prefix))
        of_clean, of_corrupted = (pieces[token] for token in self.tokens)
        return Question(clean=clean, corrupted=corrupted, fed=fed, tokens=(of_clean, of_corrupted))


def read_minimal_pairs(folder: Path) -> tuple[MinimalPair, ...]:
    """The pairs beside a checkpoint, none where it brings none; raises CheckpointError for a file that holds others."""
    path = Path(folder) / PAIRS_FILE
    if not path.exists():
        return ()
    with reading(path, "holds no minimal pairs", ValueError, KeyError, TypeError):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["pair"]
        return tuple(_pair(table) for table in tables)


def sentences_like(text: str) -> list[str]:
    """Second sentences that mostly have as many tokens: each two neighbouring words exchanged, then either twice."""
    words = text.split()
    found = []
    for order in (1, 0), (0, 0), (1, 1):
        for at in range(len(words) - 1):
            both = words[at : at + 2]
            found.append(" ".join((*words[:at], both[order[0]], both[order[1]], *words[at + 2 :])))
    return [one for one in dict.fromkeys(found) if one != " ".join(words)]


def _pair(table: dict) -> MinimalPair:
    one, other = map(str, table["sentences"])  # ValueError unless there are two
    of_one, of_other = map(str, table["tokens"])
    return MinimalPair(
        name=str(table["name"]), sentences=(one, other), prefix=str(table["prefix"]), tokens=(of_one, of_other)
    )
