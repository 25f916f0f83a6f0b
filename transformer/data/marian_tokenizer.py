"""The tokenizer of Marian's models as Hugging Face keeps it: a SentencePiece model a language and one vocabulary."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import CheckpointError
from ..untrusted import MOST_VOCABULARY, parse_json, read_regular
from .tokenizer import Piece, TextTokenizer, is_addressed, read_processor

SOURCE, TARGET, VOCABULARY = MARIAN_FILES = ("source.spm", "target.spm", "vocab.json")
TARGET_VOCABULARY = "target_vocab.json"
_SPECIAL = ("<pad>", "<unk>", "</s>")


class MarianTokenizer(TextTokenizer):
    """Text to pieces by the model of its language, and pieces to ids by the vocabulary that both share, or by two.

    A text may begin with the target language, such as ">>deu<< A sentence.": that is one token. `begin_id` is the
    decoder's first input token. Raises CheckpointError where a file is damaged or a vocabulary is none: every id from
    0 once, with the pieces <pad>, <unk> and </s>, which have the same ids in both.
    """

    def __init__(
        self,
        source: bytes,
        target: bytes,
        vocabulary: bytes,
        begin_id: int | None = None,
        target_vocabulary: bytes | None = None,
    ):
        self._files = {SOURCE: source, TARGET: target, VOCABULARY: vocabulary}
        self._source, self._target = (read_processor(name, self._files[name]) for name in (SOURCE, TARGET))
        self._ids = read_vocabulary(vocabulary)
        self._pieces = sorted(self._ids, key=self._ids.__getitem__)
        self.pad_id, self.unknown_id, self.end_id = (self._ids[piece] for piece in _SPECIAL)
        self._target_ids, self._target_pieces = self._ids, self._pieces
        if target_vocabulary is not None:
            self._files[TARGET_VOCABULARY] = target_vocabulary
            self._target_ids = read_vocabulary(target_vocabulary)
            self._target_pieces = sorted(self._target_ids, key=self._target_ids.__getitem__)
            if any(self._ids[piece] != self._target_ids[piece] for piece in _SPECIAL):
                raise CheckpointError(f"{VOCABULARY} and {TARGET_VOCABULARY} give their special pieces unlike ids.")
        self.begin_id = self.pad_id if begin_id is None else begin_id

    @classmethod
    def load(cls, folder: Path, begin_id: int | None = None) -> "MarianTokenizer":
        """Read source.spm, target.spm and vocab.json, each of up to 64 MB.

        Raises CheckpointError when one is missing or damaged.
        """

        def content(name: str) -> bytes:
            try:
                return read_regular(Path(folder) / name, MOST_VOCABULARY)
            except OSError as error:
                raise CheckpointError(f"{Path(folder) / name} cannot be read: {error.strerror}.") from error

        source, target, vocabulary = map(content, MARIAN_FILES)
        of_target = content(TARGET_VOCABULARY) if (Path(folder) / TARGET_VOCABULARY).exists() else None
        return cls(source, target, vocabulary, begin_id, of_target)

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages that a text may begin with, "deu" for ">>deu<<"; empty where there is one language."""
        codes = [piece for piece in self._pieces if piece.startswith(">>") and piece.endswith("<<")]
        return tuple(sorted(code[2:-2] for code in codes))

    def address(self, text: str, target_language: str = "", source_language: str = "") -> str:
        """Return the text with the target language in front, unless it names one itself."""
        return text if not target_language or is_addressed(text) else f">>{target_language}<< {text}"

    def __len__(self) -> int:
        return len(self._pieces)

    def encode_target(self, text: str) -> list[int]:
        return [self._target_ids.get(piece, self.unknown_id) for piece in self._target.encode(text, out_type=str)]

    def pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a source text with the characters that each covers; its language code is the first."""
        length = text.find("<<") + 2 if text.startswith(">>") and "<<" in text else 0
        encoded = self._source.encode(text[length:], return_type="offset_mapping")
        code = [Piece(self._id(text[:length]), text[:length], 0, length)] if length else []
        return code + [
            Piece(self._id(piece), piece, length + begin, length + end)
            for piece, (begin, end) in zip(encoded["pieces"], encoded["offsets"], strict=True)
        ]

    def target_pieces(self, text: str) -> list[Piece]:
        encoded = self._target.encode(text, return_type="offset_mapping")
        return [
            Piece(self._target_ids.get(piece, self.unknown_id), piece, begin, end)
            for piece, (begin, end) in zip(encoded["pieces"], encoded["offsets"], strict=True)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        special = {self.pad_id, self.unknown_id, self.end_id, self.begin_id}
        return self._target.decode(
            [self._target_pieces[int(token_id)] for token_id in ids if int(token_id) not in special]
        ).strip()

    def piece_text(self, token_id: int) -> str:
        return self._target_pieces[int(token_id)]

    def source_piece_text(self, token_id: int) -> str:
        return self._pieces[int(token_id)]

    @property
    def target_size(self) -> int:
        return len(self._target_pieces)

    def _id(self, piece: str) -> int:
        return self._ids.get(piece, self.unknown_id)


def read_vocabulary(content: bytes, needed: Sequence[str] = _SPECIAL) -> dict[str, int]:
    """Read each piece's id; raises CheckpointError unless every id from 0 is there once, and the `needed` pieces."""
    try:
        ids = parse_json(content)
    except ValueError as error:
        raise CheckpointError(f"{VOCABULARY} is not readable as JSON: {error}.") from error
    if not isinstance(ids, dict) or not all(type(token_id) is int for token_id in ids.values()):
        raise CheckpointError(f"{VOCABULARY} is not a vocabulary: it should give each piece an id.")
    if sorted(ids.values()) != list(range(len(ids))):
        raise CheckpointError(f"{VOCABULARY} is not a vocabulary: its ids are not 0 to {len(ids) - 1}, each once.")
    missing = [piece for piece in needed if piece not in ids]
    if missing:
        raise CheckpointError(f"{VOCABULARY} lacks {', '.join(missing)}.")
    return ids
