"""Tokenizers of imported models: one adapter over the `tokenizers` library and SentencePiece."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ..config import require
from ..data.tokenizer import SPACE, Piece, TextTokenizer, is_addressed, read_processor
from ..errors import CheckpointError, ConfigError
from ..files import object_bytes, parse_object, reading
from ..untrusted import MOST_VOCABULARY, read_regular

SETTINGS, FAST = "imported_tokenizer.json", "tokenizer.json"
SOURCE, TARGET, VOCABULARY = MARIAN_FILES = ("source.spm", "target.spm", "vocab.json")
TARGET_VOCABULARY = "target_vocab.json"
MARIAN_SPECIAL = ("<pad>", "<unk>", "</s>")
IMPORTED_FILES = (SETTINGS, FAST, *MARIAN_FILES, TARGET_VOCABULARY)

_ADDRESS = re.compile(r">>(?:(?P<source>[\w-]+)>>)?(?P<target>[\w-]*)<< ?")
_PATTERNS = (" {2,}", "\\n", "\n")  # regular expressions of the published families; others may never end
_VISIBLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
BYTE_LETTERS = {byte: chr(byte) for byte in _VISIBLE} | {byte: chr(256 + n) for n, byte in enumerate(_HIDDEN)}
_BYTES = {letter: byte for byte, letter in BYTE_LETTERS.items()}  # of byte-level vocabularies (Radford et al. 2019)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Special tokens of an imported tokenizer.

    size, target_size: rows of the embeddings, of which the last may have no piece. before, after: ids around a source
    text; forced: ids with which a translation begins, without being chosen. languages: the id of each language's token,
    by code; a text that names a language replaces the language in `before`, `after` and `forced`.
    """

    size: int
    target_size: int
    pad: int
    end: int
    unknown: int
    before: list[int]
    after: list[int]
    forced: list[int] = msgspec.field(default_factory=list, name="given")
    languages: dict[str, int] = {}

    def __post_init__(self):
        ids = [self.pad, self.end, self.unknown, *self.before, *self.after, *self.forced, *self.languages.values()]
        require(all(type(each) is int and 0 <= each < self.size for each in ids), "an id is not in the vocabulary")
        require(len(set(self.languages.values())) == len(self.languages), "two languages have one id")
        named = set(self.languages.values()) & {*self.before, *self.after}
        require(len(named) == bool(self.languages), "a source text needs one language")

    @property
    def file(self) -> bytes:
        """Content of the file in a checkpoint's folder."""
        return object_bytes(msgspec.to_builtins(self))


class _Reader(Protocol):
    """One side's vocabulary: text to pieces, ids to text."""

    ids: dict[str, int]

    def pieces(self, text: str) -> list[Piece]: ...

    def decode(self, ids: list[int]) -> str: ...

    def piece_text(self, token_id: int) -> str | None: ...


class _FastReader:
    """A tokenizer.json; special tokens that a visitor types are text."""

    def __init__(self, content: bytes):
        described = _checked_description(content)
        self._tokenizer = guarded(FAST, lambda: library().Tokenizer.from_str(content.decode()))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        self.ids = self._tokenizer.get_vocab()
        self._of_bytes = isinstance(described.get("decoder"), dict) and described["decoder"].get("type") == "ByteLevel"
        guarded(FAST, lambda: self.pieces("a"))

    def pieces(self, text: str) -> list[Piece]:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        columns = zip(encoded.ids, encoded.tokens, encoded.offsets, strict=True)
        return [Piece(token_id, self._shown(piece), *span) for token_id, piece, span in columns]

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=True)

    def piece_text(self, token_id: int) -> str | None:
        piece = self._tokenizer.id_to_token(token_id)
        return None if piece is None else self._shown(piece)

    def _shown(self, piece: str) -> str:
        """Return a byte-level piece as text: "▁teach", and "<0xC3>" for bytes that are a part of a character."""
        if not self._of_bytes or not all(letter in _BYTES for letter in piece):
            return piece
        content = bytes(_BYTES[letter] for letter in piece)
        text = content.decode(errors="replace")
        whole = "\ufffd" not in text and text.isprintable()
        return text.replace(" ", SPACE) if whole else "".join(f"<0x{byte:02X}>" for byte in content)


class _SentencePieceReader:
    """A SentencePiece model whose pieces have their ids in a vocabulary of their own (Marian, M2M100).

    With `coded` a text may begin with a piece that names its target language, ">>deu<<".
    """

    def __init__(self, name: str, model: bytes, vocabulary: bytes, coded: bool):
        self._processor, self._coded = read_processor(name, model), coded
        self.ids = read_vocabulary(vocabulary)
        self._texts = {token_id: piece for piece, token_id in self.ids.items()}

    def pieces(self, text: str) -> list[Piece]:
        at = text.find("<<") + 2 if self._coded and text.startswith(">>") and "<<" in text else 0
        encoded = self._processor.encode(text[at:], return_type="offset_mapping")
        columns = zip(encoded["pieces"], encoded["offsets"], strict=True)
        parts = [(text[:at], 0, at)] if at else []
        parts += [(piece, at + begin, at + end) for piece, (begin, end) in columns]
        return [Piece(self.ids.get(piece, self.ids["<unk>"]), piece, begin, end) for piece, begin, end in parts]

    def decode(self, ids: list[int]) -> str:
        return self._processor.decode([self._texts[token_id] for token_id in ids if token_id in self._texts])

    def piece_text(self, token_id: int) -> str | None:
        return self._texts.get(token_id)


class ImportedTokenizer(TextTokenizer):
    """Tokenizer of an imported model, from the files of a checkpoint's folder.

    A text may begin with its languages, ">>deu_Latn<< A sentence." or ">>eng_Latn>>deu_Latn<< A sentence.". Special
    tokens in a text are unknown. Raises CheckpointError for damaged files and files that do not fit one another.
    """

    def __init__(self, files: dict[str, bytes], begin_id: int):
        self._files, self.begin_id = files, begin_id
        self._settings = settings = _read_settings(files)
        self.pad_id, self.end_id, self.unknown_id = settings.pad, settings.end, settings.unknown
        self._codes = {token_id: code for code, token_id in settings.languages.items()}
        self._source, self._target = _readers(files, coded=not settings.languages)
        for reader, size in ((self._source, settings.size), (self._target, settings.target_size)):
            known = 1 + max((token_id for piece, token_id in reader.ids.items() if piece != "<mask>"), default=0)
            if known > size:
                raise CheckpointError(f"The tokenizer fills {known:,} rows of a vocabulary of {size:,}.")
        around = {*settings.before, *settings.after, *settings.forced, *self._codes}
        self._special = {self.pad_id, self.end_id, begin_id, *around} - {self.unknown_id}

    @classmethod
    def load(cls, folder: Path, begin_id: int) -> "ImportedTokenizer":
        """Read a checkpoint's files, each of up to 64 MB; raises CheckpointError when one is missing or damaged."""
        return cls(read_files(folder, IMPORTED_FILES), begin_id)

    @property
    def languages(self) -> tuple[str, ...]:
        if self._settings.languages:
            return self.source_languages if self._settings.forced else ()
        return tuple(sorted(piece[2:-2] for piece in self._source.ids if re.fullmatch(">>.*<<", piece)))

    @property
    def source_languages(self) -> tuple[str, ...]:
        return tuple(sorted(self._settings.languages))

    @property
    def default_languages(self) -> tuple[str, str]:
        around = (*self._settings.before, *self._settings.after)
        sides = (around, self._settings.forced)
        source, target = ([self._codes[each] for each in ids if each in self._codes] for ids in sides)
        return "".join(source), "".join(target)

    def address(self, text: str, target_language: str = "", source_language: str = "") -> str:
        if not (target_language or source_language) or is_addressed(text):
            return text
        source = f">>{source_language}" if source_language else ""
        return f"{source}>>{target_language}<< {text}"

    def frame(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        source, _, _ = self._read_address(text)
        return self._addressed(self._settings.before, source), self._addressed(self._settings.after, source)

    def forced_ids(self, text: str) -> tuple[int, ...]:
        _, target, _ = self._read_address(text)
        return self._addressed(self._settings.forced, target)

    @property
    def target_size(self) -> int:
        return self._settings.target_size

    def __len__(self) -> int:
        return self._settings.size

    def encode_target(self, text: str) -> list[int]:
        return [piece.id for piece in self.target_pieces(text)]

    def pieces(self, text: str) -> list[Piece]:
        *_, start = self._read_address(text)
        pieces = self._known(self._source.pieces(text[start:]), len(self))
        return [replace(piece, begin=start + piece.begin, end=start + piece.end) for piece in pieces]

    def target_pieces(self, text: str) -> list[Piece]:
        return self._known(self._target.pieces(text), self.target_size)

    def decode(self, ids: Sequence[int]) -> str:
        left_out = {*self._special, self.unknown_id}
        return self._target.decode([int(each) for each in ids if int(each) not in left_out]).strip()

    def piece_text(self, token_id: int) -> str:
        return self._target.piece_text(int(token_id)) or f"<{int(token_id)}>"

    def source_piece_text(self, token_id: int) -> str:
        return self._source.piece_text(int(token_id)) or f"<{int(token_id)}>"

    def _known(self, pieces: list[Piece], size: int) -> list[Piece]:
        return [
            replace(piece, id=self.unknown_id) if piece.id in self._special or piece.id >= size else piece
            for piece in pieces
        ]

    def _addressed(self, ids: list[int], code: str) -> tuple[int, ...]:
        """Return ids with the default language replaced by the language of this code, if any."""
        return tuple(self._settings.languages[code] if code and each in self._codes else each for each in ids)

    def _read_address(self, text: str) -> tuple[str, str, int]:
        """Return the source language, the target language, "" where unnamed, and the start of the text itself."""
        match = _ADDRESS.match(text) if self._codes else None
        if not match or any(code and code not in self._settings.languages for code in match.groups()):
            return "", "", 0
        return match["source"] or "", match["target"] or "", match.end()


def read_files(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Read those of the named files that exist, each of up to 64 MB; raises CheckpointError for unreadable ones."""
    files = {}
    for path in (Path(folder) / name for name in names):
        if path.exists():
            with reading(path, "cannot be read"):
                files[path.name] = read_regular(path, MOST_VOCABULARY)
    return files


def read_vocabulary(content: bytes) -> dict[str, int]:
    """Return the id of each piece; raises CheckpointError for ids that are no whole numbers or of two pieces."""
    ids = parse_object(content, VOCABULARY)
    if not all(type(token_id) is int and token_id >= 0 for token_id in ids.values()):
        raise CheckpointError(f"{VOCABULARY} is not a vocabulary: it should give each piece an id.")
    if len(set(ids.values())) != len(ids):
        raise CheckpointError(f"{VOCABULARY} is not a vocabulary: two pieces have one id.")
    if missing := [piece for piece in MARIAN_SPECIAL if piece not in ids]:
        raise CheckpointError(f"{VOCABULARY} lacks {', '.join(missing)}.")
    return ids


def guarded(name: str, work: Callable[[], Any]) -> Any:
    """Return the result of `work`; raises CheckpointError, naming the file, for any failure of the library."""
    try:
        return work()
    except CheckpointError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # Rust's, no Exception
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise CheckpointError(f"{name} cannot be read as a tokenizer: {lines[0][:200].removesuffix('.')}.") from error


def missing_extra(what: str) -> CheckpointError:
    """Return the error for a missing extra."""
    return CheckpointError(f"{what} needs more packages: pip install 'headlight-transformer[import]'.")


def library() -> Any:
    """Return the `tokenizers` library; raises CheckpointError where it is not installed."""
    try:
        import tokenizers
    except ImportError as error:
        raise missing_extra("The tokenizer of this imported model") from error
    return tokenizers


def _read_settings(files: dict[str, bytes]) -> Settings:
    try:
        return msgspec.json.decode(files.get(SETTINGS, b""), type=Settings)
    except (ValueError, RecursionError, ConfigError) as error:
        raise CheckpointError(f"{SETTINGS} describes no tokenizer: {str(error).removesuffix('.')}.") from error


def _readers(files: dict[str, bytes], coded: bool) -> tuple[_Reader, _Reader]:
    """Return the readers of the source and of the target, mostly the same."""
    if FAST in files:
        return (reader := _FastReader(files[FAST])), reader
    if missing := [name for name in (SOURCE, VOCABULARY) if name not in files]:
        raise CheckpointError(f"The tokenizer lacks {' and '.join(missing)}.")
    vocabulary = files[VOCABULARY]
    source = _SentencePieceReader(SOURCE, files[SOURCE], vocabulary, coded)
    if TARGET not in files:
        return source, source
    target = _SentencePieceReader(TARGET, files[TARGET], files.get(TARGET_VOCABULARY, vocabulary), coded)
    if any(source.ids[piece] != target.ids[piece] for piece in MARIAN_SPECIAL):
        raise CheckpointError(f"{VOCABULARY} and {TARGET_VOCABULARY} give their special pieces unlike ids.")
    return source, target


def _checked_description(content: bytes) -> dict:
    """Parse a tokenizer.json; raises CheckpointError for other regular expressions than those of known families."""
    described = parse_object(content, FAST)
    parts: list = [described.get(name) for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")]
    while parts:
        part = parts.pop()
        if isinstance(part, dict) and "Regex" in part and part["Regex"] not in _PATTERNS:
            raise CheckpointError(f"{FAST} has a pattern that no known family has.")
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return described
