"""Texts as the ids that a model reads, or a sentence that says why they cannot be."""

import operator
from collections.abc import Iterable, Mapping, Sequence

from ..config import ModelConfig
from ..errors import EmptyTextError, TooLongError, UserError
from .batching import Ids
from .tokenizer import Piece, TextTokenizer, is_addressed, unknown_parts, well_formed

_MAX_CHARACTERS_PER_TOKEN = 64  # a longer text is refused before it is tokenized


class TextReader:
    """Reader of languages, texts, prefixes and targets, checked against the model's vocabulary and length."""

    def __init__(self, tokenizer: TextTokenizer, config: ModelConfig):
        self.tokenizer = tokenizer
        self._config = config
        # Positions that are not for pieces: on both sides the end of sentence's, and a language's where there is one.
        self._special_tokens = max(sum(map(len, tokenizer.frame(""))), 1 + len(tokenizer.forced_ids("")))

    def addressed(
        self, text: str, target_language: str | None, source_language: str | None = None, task: str | None = None
    ) -> str:
        """Return the text with the languages that a model of several is told: ">>deu<< A sentence.".

        Unchanged without a language, or where the text is empty or names one itself. task: what a text begins with for
        a model that is so told what to do with it, "translate English to German:" (T5), unless it does already. Raises
        UserError for a language that is not there, and TypeError for what is no text.
        """
        _require_text(text)
        sides = (
            ("target", target_language, self.tokenizer.languages, "it translates into one language"),
            ("source", source_language, self.tokenizer.source_languages, "it is not told which it reads"),
        )
        for side, language, languages, otherwise in sides:
            if language and text.strip() and not is_addressed(text) and language not in languages:
                which = f"choose among {', '.join(languages)}" if languages else otherwise
                raise UserError(f"The model has no {side} language {language!r}: {which}.")
        if not text.strip():
            return text
        text = self.tokenizer.address(text, target_language or "", source_language or "")
        task = (task or "").strip()
        return f"{task} {text.lstrip()}" if task and not text.lstrip().startswith(task) else text

    def pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a text with ids and the characters they cover; raises EmptyTextError or TooLongError."""
        self._checked_ids(text, "text")
        return self.tokenizer.pieces(well_formed(text))

    def can_read(self, text: str) -> bool:
        """Return True for a text that is neither empty nor too long."""
        return self._is_readable(text, "text")

    def can_be_given(self, target: str) -> bool:
        """Return True for a text that can be the `target` of a trace."""
        return self._is_readable(target, "target")

    def may_begin_with(self, prefix: Ids) -> bool:
        """Return True where these ids can begin a translation: pieces of the vocabulary, the end only as the last."""
        config = self._config
        return (
            0 < len(prefix) < config.max_length
            and all(0 <= token_id < config.output_size and token_id not in config.never_chosen for token_id in prefix)
            and config.end_id not in prefix[:-1]
        )

    def unknown_characters(self, text: str) -> list[str]:
        """Return the parts of a text that the tokenizer does not know, read as <unk>, in order, each once."""
        return unknown_parts(self.tokenizer, well_formed(text))

    def _texts(self, texts: Sequence[str]) -> list[str]:
        """Return the texts as a list; raises ValueError for one text, whose letters would count as texts, and TypeError
        for what is no list of texts: a table would give the names of its columns.
        """
        if isinstance(texts, str):
            raise ValueError(f"a list of texts expected, got one text: [{texts!r}]?")
        if not isinstance(texts, Iterable) or isinstance(texts, Mapping) or hasattr(texts, "columns"):
            raise TypeError(f"a list of texts expected, got {_type_name(texts)}")
        texts = list(texts)
        for index, text in enumerate(texts):
            _require_text(text, f"texts[{index}]: ")
        return texts

    def _is_readable(self, text: str, side: str) -> bool:
        try:
            return bool(self._checked_ids(text, side))
        except (EmptyTextError, TooLongError):
            return False

    def _source_ids(self, text: str) -> list[int]:
        before, after = self.tokenizer.frame(text)
        return [*before, *self._checked_ids(text, "text"), *after]

    def _known(self, ids: Ids) -> list[int]:
        """Return the ids as a list of int; raises ValueError where one is no whole number or not in the vocabulary."""
        try:
            known, size = list(map(operator.index, ids)), self._config.output_size
        except TypeError:
            raise ValueError(f"ids must be whole numbers, got {list(ids)}") from None
        if not all(0 <= token_id < size for token_id in known):
            raise ValueError(f"ids must be in 0 to {size - 1}, got {known}")
        return known

    def _known_target(self, ids: Ids) -> list[int]:
        """Do the same for a whole translation, which has at least one and no more than the model has positions."""
        if not len(ids):
            raise ValueError("a target given as ids needs at least one")
        if len(ids) > self._config.max_length:
            raise TooLongError(f"The target has {len(ids)} tokens; the model has {self._config.max_length}.")
        return self._known(ids)

    def prefix_ids(self, prefix: str | Ids, text: str) -> list[int]:
        """Return what a translation begins with: what is given, then a text's ids; or ids that are asked for, alone."""
        if isinstance(prefix, str):
            ids = [*self.tokenizer.forced_ids(text), *self.tokenizer.encode_target(well_formed(prefix))]
        else:
            ids = self._known(prefix) or list(self.tokenizer.forced_ids(text))
        if len(ids) >= self._config.max_length:
            raise TooLongError(f"The prefix has {len(ids)} tokens; the model has {self._config.max_length}.")
        return ids

    def _checked_ids(self, text: str, side: str) -> list[int]:
        """Return the ids of a "text" or a "target", refused when there are none or too many for the positions."""
        _require_text(text)
        limit = self._config.max_length - self._special_tokens
        if len(text) > limit * _MAX_CHARACTERS_PER_TOKEN:
            raise TooLongError(f"The {side} has {len(text):,} characters; the model reads at most {limit} tokens.")
        encode = self.tokenizer.encode_target if side == "target" else self.tokenizer.encode
        ids = encode(well_formed(text))
        if not ids or not text.strip():  # of blanks alone, some tokenizers make tokens
            raise EmptyTextError(f"The {side} is empty: please write a sentence.")
        if len(ids) > limit:
            raise TooLongError(f"The {side} has {len(ids)} tokens; the model reads at most {limit}. Please shorten it.")
        return ids


def _require_text(text: object, where: str = "") -> None:
    """Raise TypeError for what is no text, such as the None or NaN of a table's empty cell."""
    if not isinstance(text, str):
        raise TypeError(f"{where}a text expected, got {_type_name(text)}")


def _type_name(value: object) -> str:
    return "None" if value is None else type(value).__name__
