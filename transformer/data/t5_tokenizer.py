"""The tokenizers of T5's models: one SentencePiece model with sentinels behind it, or the bytes of UTF-8 (ByT5).

Pegasus numbers its pieces likewise, with special tokens between the first two and the others.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..config import build, check_types, require
from ..errors import CheckpointError, ConfigError
from ..files import object_bytes, read_object
from ..untrusted import MOST_VOCABULARY, read_regular
from .tokenizer import SPACE, Piece, TextTokenizer, read_processor

T5_PIECES, T5_ROWS, BYTES = "spiece.model", "rows.json", "bytes.json"
_PAD, _END, _UNKNOWN = range(3)  # of SentencePiece's model as of the bytes
_SPECIAL = ("<pad>", "</s>", "<unk>")
_MASKS = 2  # of Pegasus's special tokens the first: <mask_1>, <mask_2>, <unk_2>, <unk_3>, ...


@dataclass(frozen=True)
class Rows:
    """What stands in a model's vocabulary besides SentencePiece's pieces, of which the first two are ids 0 and 1.

    size: rows of the embedding, of which the last may have no piece; sentinels: pieces "<extra_id_0>" and so on behind
    SentencePiece's, in falling order; offset: special tokens between the first two pieces and the others (Pegasus).
    """

    size: int
    sentinels: int = 0
    offset: int = 0

    def __post_init__(self):
        check_types(self)
        require(self.size > 0 and self.sentinels >= 0 and self.offset >= 0, "the rows of a vocabulary cannot be")


class T5Tokenizer(TextTokenizer):
    """Text to pieces by a SentencePiece model, whose first three are padding, the end and the unknown piece.

    `begin_id` is the decoder's first input token, padding in every published model. Raises CheckpointError where the
    model is damaged, begins with other pieces, or has more of them than the rows.
    """

    def __init__(self, model: bytes, rows: Rows, begin_id: int | None = None):
        self._files = {T5_PIECES: model, T5_ROWS: object_bytes(asdict(rows))}
        self._processor, self._rows = read_processor(T5_PIECES, model), rows
        special = self._processor.pad_id(), self._processor.eos_id(), self._processor.unk_id()
        if special != (_PAD, _END, _UNKNOWN):
            raise CheckpointError(f"{T5_PIECES} has padding, end and unknown at {special}; 0, 1 and 2 are expected.")
        self.pad_id, self.end_id, self.unknown_id = _PAD, _END, _UNKNOWN + rows.offset
        self.begin_id = self.pad_id if begin_id is None else begin_id
        self._after = len(self._processor) + rows.offset  # the first sentinel
        if self._after + rows.sentinels > rows.size:
            known = self._after + rows.sentinels
            raise CheckpointError(f"{T5_PIECES} fills {known:,} rows of a vocabulary of {rows.size:,}.")

    @classmethod
    def load(cls, folder: Path, begin_id: int | None = None) -> "T5Tokenizer":
        """Read a checkpoint's files; raises CheckpointError when one is missing or damaged."""
        path = Path(folder) / T5_ROWS
        try:
            return cls.of_folder(folder, build(Rows, read_object(path), T5_ROWS), begin_id)
        except ConfigError as error:
            raise CheckpointError(f"{path} describes no vocabulary: {error}") from error

    @classmethod
    def of_folder(cls, folder: Path, rows: Rows, begin_id: int | None = None) -> "T5Tokenizer":
        """Read the SentencePiece model of up to 64 MB; raises CheckpointError as `load`."""
        path = Path(folder) / T5_PIECES
        try:
            return cls(read_regular(path, MOST_VOCABULARY), rows, begin_id)
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from error

    def __len__(self) -> int:
        return self._rows.size

    def pieces(self, text: str) -> list[Piece]:
        encoded = self._processor.encode(text, return_type="offset_mapping")
        columns = zip(encoded["ids"], encoded["pieces"], encoded["offsets"], strict=True)
        return [Piece(self._id(number), piece, begin, end) for number, piece, (begin, end) in columns]

    def encode(self, text: str) -> list[int]:
        return list(map(self._id, self._processor.encode(text)))

    def decode(self, ids: Sequence[int]) -> str:
        numbers = map(self._number, map(int, ids))
        known = [number for number in numbers if number is not None and number > _UNKNOWN]
        return self._processor.decode(known).strip()

    def piece_text(self, token_id: int) -> str:
        """Return the piece as the vocabulary writes it: "▁teach", "<extra_id_0>"; "<9>" for a row 9 that has none."""
        token_id = int(token_id)
        number = self._number(token_id)
        if number is not None:
            return _SPECIAL[number] if number < len(_SPECIAL) else self._processor.id_to_piece(number)
        if token_id < self._after:
            special = token_id - _UNKNOWN
            return f"<mask_{special + 1}>" if special < _MASKS else f"<unk_{special}>"
        sentinel = self._rows.sentinels - 1 - (token_id - self._after)
        return f"<extra_id_{sentinel}>" if sentinel >= 0 else f"<{token_id}>"

    def _id(self, number: int) -> int:
        return number if number < _UNKNOWN else number + self._rows.offset

    def _number(self, token_id: int) -> int | None:
        """Return SentencePiece's own number of a row; None for one that is none of its pieces."""
        if token_id < _UNKNOWN:
            return token_id
        number = token_id - self._rows.offset
        return number if _UNKNOWN <= number < len(self._processor) else None


class ByteTokenizer(TextTokenizer):
    """Each byte of a text's UTF-8 is a token (Xue et al. 2022); `size`: rows of the embedding, more than the bytes.

    A byte is shown as its sign, "▁" for a blank, and "<0xC3>" where it is a part of a character or cannot be seen.
    """

    def __init__(self, size: int, begin_id: int | None = None):
        self._files = {BYTES: object_bytes({"size": size})}
        self._size, self._first = size, len(_SPECIAL)
        if size < self._first + 256:
            raise CheckpointError(f"A vocabulary of {size} rows has no place for 256 bytes and {self._first} tokens.")
        self.pad_id, self.end_id, self.unknown_id = _PAD, _END, _UNKNOWN
        self.begin_id = self.pad_id if begin_id is None else begin_id

    @classmethod
    def load(cls, folder: Path, begin_id: int | None = None) -> "ByteTokenizer":
        """Read a checkpoint's file; raises CheckpointError when it is missing or damaged."""
        size = read_object(Path(folder) / BYTES).get("size")
        if type(size) is not int:
            raise CheckpointError(f"{Path(folder) / BYTES} describes no vocabulary.")
        return cls(size, begin_id)

    def __len__(self) -> int:
        return self._size

    def encode(self, text: str) -> list[int]:
        return [byte + self._first for byte in text.encode()]

    def pieces(self, text: str) -> list[Piece]:
        """Return a text's bytes, each with the character that it is, or is a part of."""
        return [
            Piece(byte + self._first, self.piece_text(byte + self._first), index, index + 1)
            for index, character in enumerate(text)
            for byte in character.encode()
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of these ids; what is no whole character leaves nothing behind, as in transformers."""
        values = (int(token_id) - self._first for token_id in ids)
        return bytes(value for value in values if 0 <= value < 256).decode(errors="ignore").strip()

    def piece_text(self, token_id: int) -> str:
        token_id = int(token_id)
        if token_id < self._first:
            return _SPECIAL[token_id]
        byte = token_id - self._first
        if byte >= 256:
            return f"<extra_id_{byte - 256}>"
        sign = chr(byte)
        if sign == " ":
            return SPACE
        return sign if byte < 128 and sign.isprintable() else f"<0x{byte:02X}>"
