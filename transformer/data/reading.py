"""Texts as the ids that a model reads, or a sentence that says why they cannot be."""

import operator
from collections.abc import Callable, Sequence

from ..config import ModelConfig
from ..errors import EmptyTextError, TooLongError, UserError
from .batching import Ids
from .tokenizer import Piece, TextTokenizer, is_addressed, unknown_parts, well_formed

_MAX_CHARACTERS_A_TOKEN = 64  # a longer text is refused before it is tokenized


class TextReader:
    """What a translator reads: languages, pieces, prefixes and targets, checked against the model's vocabulary and
    length.
    """

    def __init__(self, tokenizer: TextTokenizer, config: ModelConfig):
        self.tokenizer = tokenizer
        self._config = config
        # Positions that are not for pieces: on both sides the end of sentence's, and a language's where there is one.
        self._special_tokens = max(sum(map(len, tokenizer.frame(""))), 1 + len(tokenizer.given("")))

    def addressed(self, text: str, target_language: str | None, source_language: str | None = None) -> str:
        """The text with the languages that a model of several is told: ">>deu<< A sentence.".

        Unchanged without a language, or where the text is empty or names one itself. Raises UserError for a language
        that is not there.
        """
        wanted = (
            ("target", target_language, self.tokenizer.languages, "it translates into one language"),
            ("source", source_language, self.tokenizer.source_languages, "it is not told which it reads"),
        )
        for side, language, languages, otherwise in wanted:
            if language and text.strip() and not is_addressed(text) and language not in languages:
                which = f"choose among {', '.join(languages)}" if languages else otherwise
                raise UserError(f"The model has no {side} language {language!r}: {which}.")
        return self.tokenizer.address(text, target_language or "", source_language or "") if text.strip() else text

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text with ids and the characters they cover; raises EmptyTextError or TooLongError."""
        self._checked_ids(text, "text")
        return self.tokenizer.pieces(well_formed(text))

    def can_read(self, text: str) -> bool:
        """True for a text that is neither empty nor too long."""
        return self._is_readable(text)

    def can_be_given(self, target: str) -> bool:
        """The same of a text as the `target` of a trace."""
        return self._is_readable(target, self.tokenizer.encode_target)

    def may_begin_with(self, prefix: Ids) -> bool:
        """True where these ids can begin a translation: pieces of the vocabulary, and the end only as the last."""
        config = self._config
        return (
            0 < len(prefix) < config.max_length
            and all(0 <= id < config.output_size and id not in config.never_chosen for id in prefix)
            and config.end_id not in prefix[:-1]
        )

    def unknown_characters(self, text: str) -> list[str]:
        """The parts of a text that the tokenizer has never seen, in order, each once: the model reads them as <unk>."""
        return unknown_parts(self.tokenizer, well_formed(text))

    def _texts(self, texts: Sequence[str]) -> list[str]:
        """The texts as a list; raises ValueError for one text in their place, whose letters would count as texts."""
        if isinstance(texts, str):
            raise ValueError(f"a list of texts expected, got one text: [{texts!r}]?")
        return list(texts)

    def _is_readable(self, text: str, encode: Callable[[str], list[int]] | None = None) -> bool:
        try:
            return bool(self._checked_ids(text, "text", encode))
        except (EmptyTextError, TooLongError):
            return False

    def _source_ids(self, text: str) -> list[int]:
        before, after = self.tokenizer.frame(text)
        return [*before, *self._checked_ids(text, "text"), *after]

    def _given(self, text: str) -> list[int]:
        return list(self.tokenizer.given(text))

    def _known(self, ids: Ids) -> list[int]:
        """The ids as a list of int; raises ValueError where one is no whole number or not in the vocabulary."""
        try:
            known, size = list(map(operator.index, ids)), self._config.output_size
        except TypeError:
            raise ValueError(f"ids must be whole numbers, got {list(ids)}") from None
        if not all(0 <= id < size for id in known):
            raise ValueError(f"ids must be in 0 to {size - 1}, got {known}")
        return known

    def _known_target(self, ids: Ids) -> list[int]:
        """The same for a whole translation, which has at least one and no more than the model has positions."""
        if not len(ids):
            raise ValueError("a target given as ids needs at least one")
        if len(ids) > self._config.max_length:
            raise TooLongError(f"The target has {len(ids)} tokens; the model has {self._config.max_length}.")
        return self._known(ids)

    def _prefix_ids(self, prefix: str | Ids, text: str) -> list[int]:
        """What a translation begins with: what is given, then a text's ids; where ids are asked for, these alone."""
        if isinstance(prefix, str):
            ids = [*self._given(text), *self.tokenizer.encode_target(well_formed(prefix))]
        else:
            ids = self._known(prefix) or self._given(text)
        if len(ids) >= self._config.max_length:
            raise TooLongError(f"The prefix has {len(ids)} tokens; the model has {self._config.max_length}.")
        return ids

    def _checked_ids(self, text: str, name: str, encode: Callable[[str], list[int]] | None = None) -> list[int]:
        """The ids of a text, refused when there are none or too many for the model's positions."""
        limit = self._config.max_length - self._special_tokens
        if len(text) > limit * _MAX_CHARACTERS_A_TOKEN:
            raise TooLongError(f"The {name} has {len(text):,} characters; the model reads at most {limit} tokens.")
        ids = (encode or self.tokenizer.encode)(well_formed(text))
        if not ids or not text.strip():  # of blanks alone, some tokenizers make tokens
            raise EmptyTextError(f"The {name} is empty: please write a sentence.")
        if len(ids) > limit:
            raise TooLongError(f"The {name} has {len(ids)} tokens; the model reads at most {limit}. Please shorten it.")
        return ids
