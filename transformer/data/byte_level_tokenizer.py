"""Byte-pair encoding of bytes (Radford et al. 2019, section 2.2), the tokenizer of BART's models."""

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import CheckpointError
from ..files import object_bytes, read_object, reading
from ..untrusted import MOST_VOCABULARY, read_regular
from .marian_tokenizer import VOCABULARY, read_vocabulary
from .tokenizer import SPACE, Piece, TextTokenizer

MERGES, FIRST_TOKEN = "merges.txt", "first_token.json"
BYTE_LEVEL_FILES = (VOCABULARY, MERGES)
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_CONTRACTIONS = re.compile(r"'(?:s|t|re|ve|m|ll|d)")


def _letters_of_bytes() -> dict[int, str]:
    """Return the letter that stands for each byte in a vocabulary: itself where it can be seen, otherwise another."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(256 + index) for index, byte in enumerate(hidden)}


_LETTERS = _letters_of_bytes()
_BYTES = {letter: byte for byte, letter in _LETTERS.items()}
_BLANK = _LETTERS[ord(" ")]


class ByteLevelTokenizer(TextTokenizer):
    """Words become bytes, and bytes are merged in the order that was learned; nothing is unknown.

    A source is framed as "<s> text </s>". `first_id` is the token that every translation begins with, where a model
    has one. A piece is shown as text with "▁" for a blank; bytes that are only a part of a character as "<0xC3>".
    Raises CheckpointError where a file is damaged.
    """

    def __init__(self, vocabulary: bytes, merges: bytes, begin_id: int | None = None, first_id: int | None = None):
        self._files = {VOCABULARY: vocabulary, MERGES: merges}
        self._ids = read_vocabulary(vocabulary, _SPECIAL)
        self._pieces = sorted(self._ids, key=self._ids.__getitem__)
        self._ranks = _ranks(merges)
        self._start, self.pad_id, self.end_id, self.unknown_id = (self._ids[piece] for piece in _SPECIAL)
        self.begin_id = self.end_id if begin_id is None else begin_id
        self._first_id = first_id
        if first_id is not None:
            self._files[FIRST_TOKEN] = object_bytes({"id": first_id})
            if not 0 <= first_id < len(self._pieces):
                raise CheckpointError(f"The first token {first_id} is not in the vocabulary of {len(self._pieces)}.")
        self._special = {self._start, self.pad_id, self.end_id, self.unknown_id}
        self._merged = functools.lru_cache(maxsize=50_000)(self._merge)

    @classmethod
    def load(cls, folder: Path, begin_id: int | None = None) -> "ByteLevelTokenizer":
        """Read a checkpoint's files; raises CheckpointError when one is missing or damaged."""
        path = Path(folder) / FIRST_TOKEN
        first = read_object(path).get("id") if path.exists() else None
        if first is not None and type(first) is not int:
            raise CheckpointError(f"{path} names no token.")
        return cls.of_folder(folder, begin_id, first)

    @classmethod
    def of_folder(
        cls, folder: Path, begin_id: int | None, first_id: int | None, size: int | None = None
    ) -> "ByteLevelTokenizer":
        """Read vocab.json and merges.txt, each of up to 64 MB; raises CheckpointError when one is missing or damaged.

        Of a vocabulary with one piece more than `size` the last, <mask>, is left out: BART's models that were made to
        write have no row for it.
        """
        contents = {}
        for name in BYTE_LEVEL_FILES:
            with reading(Path(folder) / name, "cannot be read"):
                contents[name] = read_regular(Path(folder) / name, MOST_VOCABULARY)
        if size is not None:
            ids = read_vocabulary(contents[VOCABULARY], _SPECIAL)
            if len(ids) == size + 1 and ids.get("<mask>") == size:
                del ids["<mask>"]
                contents[VOCABULARY] = object_bytes(ids)
        return cls(contents[VOCABULARY], contents[MERGES], begin_id, first_id)

    def frame(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """<s> before a source text, </s> after it."""
        return (self._start,), (self.end_id,)

    def given(self, text: str) -> tuple[int, ...]:
        """Return the token that every translation begins with, where the model has one."""
        return () if self._first_id is None else (self._first_id,)

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(piece, self.unknown_id) for word in _words(text) for piece in self._merged(word)]

    def pieces(self, text: str) -> list[Piece]:
        """Return a text's pieces with the characters that each covers; a character of several is in all of them."""
        ends = []  # the character of each byte
        for index, character in enumerate(text):
            ends += [index] * len(character.encode())
        pieces, at = [], 0
        for word in _words(text):
            for piece in self._merged(word):
                token_id = self._ids.get(piece, self.unknown_id)
                pieces.append(Piece(token_id, self.piece_text(token_id), ends[at], ends[at + len(piece) - 1] + 1))
                at += len(piece)
        return pieces

    def decode(self, ids: Sequence[int]) -> str:
        letters = "".join(self._pieces[int(token_id)] for token_id in ids if int(token_id) not in self._special)
        return bytes(_BYTES[letter] for letter in letters if letter in _BYTES).decode(errors="replace").strip()

    def piece_text(self, token_id: int) -> str:
        """Return the piece as text: "▁teach", "</s>"; "<0xC3>" for bytes that are a part of a character."""
        piece = self._pieces[int(token_id)]
        if int(token_id) in self._special or not all(letter in _BYTES for letter in piece):
            return piece
        content = bytes(_BYTES[letter] for letter in piece)
        try:
            return content.decode().replace(" ", SPACE)
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in content)

    def _merge(self, word: str) -> tuple[str, ...]:
        """Return a word's pieces in the vocabulary's letters: the pair that was learned first is merged first."""
        parts = [_LETTERS[byte] for byte in word.encode()]
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:], strict=False))
            best = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            merged, index = [], 0
            while index < len(parts):
                both = index < len(pairs) and pairs[index] == best
                merged.append("".join(best) if both else parts[index])
                index += 1 + both
            parts = merged
        return tuple(parts)


def _words(text: str) -> Iterator[str]:
    """Contractions; runs of letters, of numbers, of other signs, each with the blank before it; and runs of blanks.

    As the pattern of Radford et al. has them: 's|'t|… | ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+
    """
    index = 0
    while index < len(text):
        contraction = _CONTRACTIONS.match(text, index)
        end = contraction.end() if contraction else _end_of_word(text, index)
        yield text[index:end]
        index = end


def _end_of_word(text: str, index: int) -> int:
    start = index + (text[index] == " " and index + 1 < len(text) and _class(text[index + 1]) != "blank")
    kind, end = _class(text[start]), start
    while end < len(text) and _class(text[end]) == kind:
        end += 1
    # Of several blanks the last belongs to the word that follows.
    return end - 1 if kind == "blank" and end < len(text) and end - start > 1 else end


@functools.lru_cache(maxsize=4096)
def _class(character: str) -> str:
    if character.isspace() and character not in "\x1c\x1d\x1e\x1f":  # these are blanks for Python alone
        return "blank"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(character)[0], "sign")


def _ranks(merges: bytes) -> dict[tuple[str, str], int]:
    try:
        lines = merges.decode().split("\n")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{MERGES} is not readable as text.") from error
    pairs = [tuple(line.rstrip("\r").split(" ")) for line in lines if line.strip() and not line.startswith("#version")]
    if not pairs or not all(len(pair) == 2 for pair in pairs):
        raise CheckpointError(f"{MERGES} should have two pieces a line, those that are merged.")
    return {pair: rank for rank, pair in enumerate(pairs)}  # type: ignore[misc]
