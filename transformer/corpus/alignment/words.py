"""Words and tokens: a sentence's words as the text that a model reads, and the tokens of each word."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...data.tokenizer import Piece, TextTokenizer, well_formed

_OPENING = frozenset("([{«“„‚‹¿¡")
_CLOSING = re.compile(r"""[.,;:!?…)\]}»”’›%]+|['’]\w{1,3}|n['’]t""")
_CLITIC = re.compile(r"\w+['’]")  # l' d' qu' jusqu'
_QUOTES = frozenset("\"'")


@dataclass(frozen=True)
class Words:
    """A text, and the characters [begin, end) of each of its words."""

    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words themselves."""
        return tuple(self.text[begin:end] for begin, end in self.spans)


def split_text(text: str) -> Words:
    """Split a text into words at blanks."""
    text = well_formed(text)
    return Words(text, tuple(matched.span() for matched in re.finditer(r"\S+", text)))


def join_words(words: Sequence[str], *, spaced: bool = False) -> Words:
    """Write words as a text, a tokenizer's spaces before marks and after clitics left out: "l' eau ." as "l'eau.".

    Translation models have read texts as people write them. With `spaced` all spaces stay.
    """
    text, spans, quoted, opened = "", [], False, True
    for word in map(well_formed, words):
        ends_german = word == "“" and text.rfind("„") > text.rfind("“")
        closes = _CLOSING.fullmatch(word) or (word in _QUOTES and quoted) or ends_german
        if text and (spaced or not (opened or closes)):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
        quoted = quoted != (word in _QUOTES)
        opens = word[0] in _OPENING and not ends_german
        opened = opens or bool(_CLITIC.fullmatch(word)) or (word in _QUOTES and quoted)
    return Words(text, tuple(spans))


@dataclass(frozen=True, eq=False)
class TokenizedPair:
    """Pair as a model reads it, and the tokens of each word.

    target_ids: the ids after begin of sentence; decoder_input: the ids from begin of sentence on, without the last.
    source: [source tokens, words], target: [target tokens, words], True where a token has a character of a word.
    Special tokens are of no word.
    """

    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]
    decoder_input: tuple[int, ...]
    source: np.ndarray
    target: np.ndarray

    @property
    def length(self) -> int:
        """Tokens of the longer side, as a model's `max_length` counts them."""
        return max(len(self.source_ids), len(self.target_ids))


def tokenize_pair(
    tokenizer: TextTokenizer, source: Words, target: Words, languages: tuple[str, str] = ("", "")
) -> TokenizedPair:
    """Tokenize a pair of sentences, teacher-forced on its target; languages: target's and source's, where told."""
    text = tokenizer.address(source.text, *languages)
    added = len(text) - len(source.text)
    before, after = tokenizer.frame(text)
    forced = tokenizer.forced_ids(text)
    pieces, of_target = tokenizer.pieces(text), tokenizer.target_pieces(target.text)
    spans = [(begin + added, end + added) for begin, end in source.spans]
    target_ids = (*forced, *(piece.id for piece in of_target), tokenizer.end_id)
    return TokenizedPair(
        source_ids=(*before, *(piece.id for piece in pieces), *after),
        target_ids=target_ids,
        decoder_input=(tokenizer.begin_id, *target_ids[:-1]),
        source=_padded(tokens_of_words(pieces, spans), len(before), len(after)),
        target=_padded(tokens_of_words(of_target, target.spans), len(forced), 1),
    )


def tokens_of_words(pieces: Sequence[Piece], spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return True where a piece covers a character of a word's span: [pieces, words]."""
    begins, ends = (np.array([getattr(piece, side) for piece in pieces], dtype=int) for side in ("begin", "end"))
    words = np.array(spans, dtype=int).reshape(-1, 2)
    return np.asarray(np.maximum(begins[:, None], words[:, 0]) < np.minimum(ends[:, None], words[:, 1]))


def is_mark(word: str) -> bool:
    """Return True for a word without a letter or digit."""
    return not any(character.isalnum() for character in word)


def _padded(table: np.ndarray, before: int, after: int) -> np.ndarray:
    return np.pad(table, ((before, after), (0, 0)))
