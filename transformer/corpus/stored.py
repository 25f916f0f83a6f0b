"""Files of measurements: JSON of one format, typed structures with bounds that msgspec writes and reads."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from ..files import reading
from ..untrusted import MOST_DESCRIPTION, read_regular

FORMAT = 4  # of every file; a change of any of them raises it

Stored = TypeVar("Stored")
Count = Annotated[int, Meta(ge=0, lt=2**53)]
Positive = Annotated[int, Meta(ge=1, lt=2**53)]
Share = Annotated[float, Meta(ge=0, le=1)]
ShortText = Annotated[str, Meta(max_length=1000)]


class _Header(msgspec.Struct):
    version: Annotated[int, Meta(ge=0, lt=1000)]


def encode(content: Any) -> bytes:
    """Return a structure as JSON with its format; arrays of NumPy become lists."""
    fields = msgspec.to_builtins(content, enc_hook=lambda array: array.tolist(), str_keys=True)
    return msgspec.json.encode({"version": FORMAT, **fields})


def decode(content: bytes, kind: type[Stored]) -> Stored:
    """Read the result of `encode`; raises ValueError with the place of an invalid value, or RecursionError."""
    version = msgspec.json.decode(content, type=_Header).version
    if version != FORMAT:
        raise ValueError(f"it has format {version} of another version of this program, not {FORMAT}: measure it anew")
    return msgspec.json.decode(content, type=kind, dec_hook=_array)


@contextlib.contextmanager
def reading_stored(path: Path, kind: type[Stored], most: int = MOST_DESCRIPTION) -> Iterator[Stored]:
    """Read a file of at most so many bytes; an invalid value, found here or in the block, is a CheckpointError."""
    with reading(path, "cannot be read", ValueError, RecursionError):
        yield decode(read_regular(path, most), kind)


def _array(kind: type, content: object) -> np.ndarray:
    array = np.array(content)
    if kind is not np.ndarray or array.dtype.kind not in "if":
        raise ValueError("numbers expected")
    return array
