"""One SentencePiece model for both languages: text to pieces and ids, and back."""

import io
import itertools
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import sentencepiece

from ..config import TokenizerConfig
from ..errors import CheckpointError, ConfigError, DataError
from ..untrusted import MOST_VOCABULARY, read_regular

TOKENIZER_FILE = "tokenizer.model"
SPACE = "\u2581"  # SentencePiece's mark for "a word begins here"
_THEIR_PLACE = re.compile(r"^\w+: \S+\(\d+\) \[.*\]")  # in SentencePiece's code, before what it says of it
_EXPONENT = 0.3  # of the probability of a drawn segmentation (Kudo 2018, 3.3): 1 draws by it, 0 alike
_ADDRESS = re.compile(r">>(?:[\w-]+>>)?[\w-]*<<")


@dataclass(frozen=True)
class Piece:
    """One token of a text: its id, its text as SentencePiece writes it, and the characters [begin, end) it covers."""

    id: int
    text: str
    begin: int
    end: int


class TextTokenizer(Protocol):
    """Tokenizer of any kind: text to pieces and ids, and back.

    The special tokens are padding, the unknown token, the decoder's first input, and the end. Methods with a body are
    those of a model with one vocabulary and one language per side, whose sources end with the end of sentence.
    """

    pad_id: int
    unknown_id: int
    begin_id: int
    end_id: int

    _files: dict[str, bytes]

    @property
    def files(self) -> dict[str, bytes]:
        """Files for a checkpoint's folder, by name."""
        return dict(self._files)

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages to choose among, such as "deu"; empty where there is one."""
        return ()

    @property
    def source_languages(self) -> tuple[str, ...]:
        """The source languages to choose among; empty where the model is not told which it reads."""
        return ()

    @property
    def default_languages(self) -> tuple[str, str]:
        """The source and the target language of a text that names none; "" where there is none to name."""
        return "", ""

    def address(self, text: str, target_language: str = "", source_language: str = "") -> str:
        """Return the text as it names its languages: ">>deu<< A sentence."; unchanged where it names one itself."""
        return text

    def frame(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the special tokens that the encoder reads before and after the pieces of a source text."""
        return (), (self.end_id,)

    def forced_ids(self, text: str) -> tuple[int, ...]:
        """Return the first ids of the translation of a source text that are not chosen: its language's, or none."""
        return ()

    @property
    def target_size(self) -> int:
        """Pieces of the target's vocabulary; `len` is of the source's, mostly the same."""
        return len(self)

    def __len__(self) -> int: ...

    def encode(self, text: str) -> list[int]:
        """Ids of a source text's pieces, without special tokens."""
        return [piece.id for piece in self.pieces(text)]

    def encode_target(self, text: str) -> list[int]:
        """Ids of a target text's pieces, without special tokens."""
        return self.encode(text)

    def encode_all(self, texts: Sequence[str], *, target: bool = False) -> list[list[int]]:
        """Encode many source or target texts at once."""
        return list(map(self.encode_target if target else self.encode, texts))

    def pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a source text with the characters that each covers."""

    def target_pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a target text, those of `encode_target`, with the characters that each covers."""
        return self.pieces(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of these target ids; special tokens leave nothing behind."""

    def piece_text(self, token_id: int) -> str:
        """Return the piece of the target's vocabulary as it is written there, such as "▁lehr" or "</s>"."""

    def source_piece_text(self, token_id: int) -> str:
        """Return the piece of the source's vocabulary, mostly the same, as it is written there."""
        return self.piece_text(token_id)


def unknown_parts(tokenizer: TextTokenizer, text: str) -> list[str]:
    """Return the parts of a text that a tokenizer has no piece for, in order, each once."""
    unknown = [piece for piece in tokenizer.pieces(text) if piece.id == tokenizer.unknown_id]
    parts = (text[piece.begin : piece.end].strip() for piece in unknown)
    return list(dict.fromkeys(part for part in parts if part))  # one of "ﬁ"'s two pieces covers nothing


def is_addressed(text: str) -> bool:
    """Return whether a text names its languages itself: ">>deu<< A sentence."."""
    return _ADDRESS.match(text) is not None


def source_ids(tokenizer: TextTokenizer, text: str) -> list[int]:
    """All that the encoder reads of a source text: ids of its pieces, and of the special tokens around them."""
    before, after = tokenizer.frame(text)
    return [*before, *tokenizer.encode(text), *after]


def read_processor(name: str, content: bytes) -> sentencepiece.SentencePieceProcessor:
    """Return a SentencePiece model of a file; raises CheckpointError, naming the file, for anything else."""
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        processor.encode("")  # an empty file is taken without a word, and refused here
        return processor
    except Exception as error:  # SentencePiece raises plain RuntimeError and others for damaged files
        raise CheckpointError(f"{name} is not a SentencePiece model.") from error


class Tokenizer(TextTokenizer):
    """SentencePiece model (Kudo and Richardson 2018) of both languages: byte-pair encoding, or a unigram model.

    Raises CheckpointError when the bytes are no SentencePiece model or lack one of the special tokens.
    """

    def __init__(self, model: bytes):
        self.model, self._files = model, {TOKENIZER_FILE: model}
        self._processor = read_processor("The tokenizer", model)
        self.pad_id = self._processor.pad_id()
        self.unknown_id = self._processor.unk_id()
        self.begin_id = self._processor.bos_id()
        self.end_id = self._processor.eos_id()
        if min(self.pad_id, self.unknown_id, self.begin_id, self.end_id) < 0:
            raise CheckpointError("The tokenizer lacks one of its special tokens: padding, unknown, begin or end.")

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a tokenizer.model of up to 64 MB; raises CheckpointError when it is missing or damaged."""
        try:
            return cls(read_regular(path, MOST_VOCABULARY))
        except OSError as error:
            raise CheckpointError(f"The tokenizer {path} cannot be read: {error.strerror}.") from error

    @classmethod
    def train(cls, lines: Iterable[str], config: TokenizerConfig) -> "Tokenizer":
        """Learn the pieces from sentences of both languages; raises DataError when they cannot fill the vocabulary."""
        lines = iter(lines)
        first = next(lines, None)
        if first is None:
            raise DataError("There is no sentence to learn a tokenizer from.")
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=itertools.chain([first], lines),
                model_writer=model,
                model_type=config.model_type.value,
                vocab_size=config.vocab_size,
                character_coverage=config.character_coverage,
                split_digits=True,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            reason = _THEIR_PLACE.sub("", str(error)).strip() or "the sentences hold too little text."
            raise DataError(f"A tokenizer of {config.vocab_size} pieces cannot be learned: {reason}") from error
        return cls(model.getvalue())

    @property
    def proto(self) -> Any:
        """Content of the model's file, a `ModelProto`; raises ConfigError where protobuf is not installed."""
        try:
            from sentencepiece import sentencepiece_model_pb2
        except ImportError as error:
            message = 'protobuf is not installed: pip install "headlight-transformer[train]".'
            raise ConfigError(message) from error
        return sentencepiece_model_pb2.ModelProto.FromString(self.model)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self._processor)

    def encode(self, text: str) -> list[int]:
        return self._processor.encode(text)

    def encode_all(self, texts: Sequence[str], *, target: bool = False) -> list[list[int]]:  # noqa: ARG002 (alike)
        return self._processor.encode(list(texts))

    def sample_all(self, texts: Sequence[str], dropout: float, seed: int) -> list[list[int]]:
        """Encode texts in randomly drawn pieces; the same seed gives the same pieces.

        Byte-pair encoding leaves out each merge with probability `dropout` (BPE-dropout, Provilkov et al. 2020). A
        unigram model draws the pieces of a share `dropout` of the texts (subword regularisation, Kudo 2018).
        """
        trainer = self.proto.trainer_spec
        if trainer.model_type != trainer.UNIGRAM:
            return self._draw(texts, dropout, seed)
        chances = random.Random(seed)
        is_drawn = [chances.random() < dropout for _ in texts]
        drawn = iter(self._draw(list(itertools.compress(texts, is_drawn)), _EXPONENT, seed))
        likeliest = self.encode_all(texts)
        return [next(drawn) if anew else ids for anew, ids in zip(is_drawn, likeliest, strict=True)]

    def _draw(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Sample pieces in one thread, which SentencePiece begins with that seed."""
        sentencepiece.set_random_generator_seed(seed)
        return self._processor.encode(list(texts), enable_sampling=True, alpha=alpha, num_threads=1)

    def pieces(self, text: str) -> list[Piece]:
        """Return a text's pieces with the characters that each covers; the space before a piece counts as its own."""
        encoded = self._processor.encode(text, return_type="offset_mapping")
        columns = zip(encoded["ids"], encoded["pieces"], encoded["offsets"], strict=True)
        return [Piece(token_id, piece, begin, end) for token_id, piece, (begin, end) in columns]

    def decode(self, ids: Sequence[int]) -> str:
        return self._processor.decode([int(i) for i in ids])

    def piece_text(self, token_id: int) -> str:
        return self._processor.id_to_piece(int(token_id))


def well_formed(text: str) -> str:
    """Return the text with lone surrogates, which no UTF-8 can hold, replaced by question marks, one for one."""
    return text.encode("utf-8", "replace").decode("utf-8")
