"""The tokenizer of models of many languages as fairseq numbers their pieces: mBART, M2M100 and NLLB."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..config import build, check_types, require
from ..errors import CheckpointError, ConfigError
from ..files import object_bytes, read_object
from ..untrusted import MOST_VOCABULARY, read_regular
from .marian_tokenizer import VOCABULARY, read_vocabulary
from .tokenizer import Piece, TextTokenizer, read_processor

SENTENCEPIECE, LANGUAGES = "sentencepiece.bpe.model", "languages.json"
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # fairseq's first ids; SentencePiece's are <unk>, <s> and </s>
_OFFSET = 1  # fairseq has one special piece more, so every other piece stands one further
_ADDRESS = re.compile(r">>(?:(?P<source>[\w-]+)>>)?(?P<target>[\w-]*)<< ?")


@dataclass(frozen=True)
class Languages:
    """The languages of a model, and how it is told them.

    ids: of each language's token, by its code; `mark` makes the token's text of a code ("{}", "__{}__"). size: rows of
    the model's vocabulary, of which some may have no piece. source, target: the languages where a text names none; ""
    for no target. With `source_first` a source is framed as "language text </s>", otherwise as "text </s> language".
    With `target_given` a translation begins with the target's language; otherwise the model knows but one.
    """

    ids: dict
    size: int
    source: str
    target: str = ""
    mark: str = "{}"
    source_first: bool = True
    target_given: bool = True

    def __post_init__(self):
        check_types(self)
        sound = all(
            isinstance(code, str) and type(token_id) is int and 0 <= token_id < self.size
            for code, token_id in self.ids.items()
        )
        require(sound and len(set(self.ids.values())) == len(self.ids), "the languages' ids cannot be")
        require(self.source in self.ids, f"there is no source language {self.source!r}")
        require(not self.target or self.target in self.ids, f"there is no target language {self.target!r}")
        require("{}" in self.mark, "the mark of a language has no place for its code")

    @property
    def file(self) -> bytes:
        """What a checkpoint's folder keeps of it."""
        return object_bytes(asdict(self))


class MultilingualTokenizer(TextTokenizer):
    """Text to pieces by one SentencePiece model of all languages, and to ids in fairseq's order or by a vocabulary.

    A text may begin with its languages, ">>deu_Latn<< A sentence." or ">>eng_Latn>>deu_Latn<< A sentence.", which are
    no pieces of it. `begin_id` is the decoder's first input token. Raises CheckpointError where a file is damaged or
    they do not fit one another.
    """

    def __init__(
        self, model: bytes, languages: Languages, vocabulary: bytes | None = None, begin_id: int | None = None
    ):
        self._languages = languages
        self._files = {SENTENCEPIECE: model, LANGUAGES: languages.file}
        self._processor = read_processor(SENTENCEPIECE, model)
        self._ids = None
        if vocabulary is not None:
            self._files[VOCABULARY] = vocabulary
            self._ids = read_vocabulary(vocabulary)
            self._pieces = sorted(self._ids, key=self._ids.__getitem__)
        self.pad_id, self.end_id, self.unknown_id = (self._id(piece) for piece in ("<pad>", "</s>", "<unk>"))
        self.begin_id = self.end_id if begin_id is None else begin_id
        self._marks = {token_id: languages.mark.format(code) for code, token_id in languages.ids.items()}
        known = len(self._ids) if self._ids else len(self._processor) + _OFFSET
        if known > languages.size or min(self._marks, default=known) < known:
            raise CheckpointError(f"{LANGUAGES} does not fit the {known} pieces of its vocabulary.")

    @classmethod
    def load(cls, folder: Path, begin_id: int | None = None) -> "MultilingualTokenizer":
        """Read a checkpoint's files; raises CheckpointError when one is missing or damaged."""
        stored = read_object(Path(folder) / LANGUAGES)
        try:
            languages = build(Languages, stored, LANGUAGES)
        except ConfigError as error:
            raise CheckpointError(f"{Path(folder) / LANGUAGES} describes no languages: {error}.") from error
        return cls.of_folder(folder, languages, begin_id)

    @classmethod
    def of_folder(cls, folder: Path, languages: Languages, begin_id: int | None = None) -> "MultilingualTokenizer":
        """Read the model, and the vocabulary where there is one; raises CheckpointError as `load`."""
        path, vocabulary = Path(folder) / SENTENCEPIECE, Path(folder) / VOCABULARY
        try:
            listed = read_regular(vocabulary, MOST_VOCABULARY) if vocabulary.exists() else None
            return cls(read_regular(path, MOST_VOCABULARY), languages, listed, begin_id)
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from error

    @staticmethod
    def count_pieces(model: bytes) -> int:
        """How many ids a SentencePiece model fills in fairseq's order: a language's is none of them."""
        return len(read_processor(SENTENCEPIECE, model)) + _OFFSET

    @property
    def languages(self) -> tuple[str, ...]:
        return self.source_languages if self._languages.target_given else ()

    @property
    def source_languages(self) -> tuple[str, ...]:
        return tuple(sorted(self._languages.ids))

    @property
    def default_languages(self) -> tuple[str, str]:
        return self._languages.source, self._languages.target

    def address(self, text: str, target_language: str = "", source_language: str = "") -> str:
        """Return the text with its languages in front, unless it names them itself; unchanged without any."""
        if not (target_language or source_language) or _ADDRESS.match(text):
            return text
        source = f">>{source_language}" if source_language else ""
        return f"{source}>>{target_language}<< {text}"

    def frame(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the source language before a text and the end of sentence after it, or both after it."""
        source, _, _ = self._read_address(text)
        language = self._languages.ids[source]
        return ((language,), (self.end_id,)) if self._languages.source_first else ((), (self.end_id, language))

    def given(self, text: str) -> tuple[int, ...]:
        """Return the token of the target language, with which the translation begins."""
        _, target, _ = self._read_address(text)
        return (self._languages.ids[target],) if target and self._languages.target_given else ()

    def __len__(self) -> int:
        return self._languages.size

    def encode_target(self, text: str) -> list[int]:
        return [self._id(piece) for piece in self._processor.encode(text, out_type=str)]

    def pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a source text with the characters that each covers, without its languages."""
        *_, start = self._read_address(text)
        return self._pieces_from(text, start)

    def target_pieces(self, text: str) -> list[Piece]:
        return self._pieces_from(text, 0)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of these ids; special tokens and languages leave nothing behind."""
        special = {self.pad_id, self.unknown_id, self.end_id, self.begin_id, *self._marks}
        return self._processor.decode(
            [self.piece_text(token_id) for token_id in ids if int(token_id) not in special]
        ).strip()

    def piece_text(self, token_id: int) -> str:
        """Return the piece as the vocabulary writes it: "▁teach", "__de__"; "<9>" for a row 9 that has none."""
        token_id = int(token_id)
        if token_id in self._marks:
            return self._marks[token_id]
        if self._ids is not None:
            return self._pieces[token_id] if token_id < len(self._pieces) else f"<{token_id}>"
        if token_id < len(_SPECIAL):
            return _SPECIAL[token_id]
        in_model = token_id - _OFFSET < len(self._processor)
        return self._processor.id_to_piece(token_id - _OFFSET) if in_model else f"<{token_id}>"

    def _pieces_from(self, text: str, start: int) -> list[Piece]:
        encoded = self._processor.encode(text[start:], return_type="offset_mapping")
        return [
            Piece(self._id(piece), piece, start + begin, start + end)
            for piece, (begin, end) in zip(encoded["pieces"], encoded["offsets"], strict=True)
        ]

    def _id(self, piece: str) -> int:
        if self._ids is not None:
            return self._ids.get(piece, self._ids["<unk>"])
        if piece in _SPECIAL:
            return _SPECIAL.index(piece)
        token_id = self._processor.piece_to_id(piece)
        return token_id + _OFFSET if token_id >= len(_SPECIAL) - _OFFSET else _SPECIAL.index("<unk>")

    def _read_address(self, text: str) -> tuple[str, str, int]:
        """Return the source language, the target language, and where the text itself begins."""
        source, target = self._languages.source, self._languages.target
        match = _ADDRESS.match(text)
        if not match or any(code and code not in self._languages.ids for code in match.groups()):
            return source, target, 0
        return match["source"] or source, match["target"] or target, match.end()
