"""Trace as a file: one .npz of plain numbers and texts, checked before it is read; nothing in it is executed."""

import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import read_only
from ..data.tokenizer import Piece
from ..errors import DataError, InterventionError
from ..model.names import Name
from ..untrusted import MEGABYTE, most_unpacked, open_regular, size_text
from .what_if.intervention import parse_saved

# Limits of an unpacked file in bytes: of all arrays, and of all but the weights.
# The longest trace of a large BART, 1,024 tokens on both sides, has 2.2 GB of weights; of NLLB with 200 tokens, 90 MB.
_MOST_BYTES, _MOST_TEXTS = 4096 * MEGABYTE, 64 * MEGABYTE
_MOST = {"source": 8192, "target": 8192, "candidates": 1000, "interventions": 10_000}  # largest sizes
_NUMBER, _WHOLE, _TEXT, _YES_OR_NO = "f", "iu", "U", "b"  # kinds of NumPy's types
# Each array, its kind and the names of its sizes: equal names have equal lengths.
_LAYOUT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "source_text": (_TEXT, ()),
    "target_text": (_TEXT, ()),
    "origin": (_TEXT, ()),
    "finished": (_YES_OR_NO, ()),
    "num_forced": (_WHOLE, ()),
    "source_tokens": (_TEXT, ("source",)),
    "source_ids": (_WHOLE, ("source",)),
    "source_spans": (_WHOLE, ("pieces", "ends")),
    "decoder_input_tokens": (_TEXT, ("target",)),
    "decoder_input_ids": (_WHOLE, ("target",)),
    "target_tokens": (_TEXT, ("target",)),
    "target_ids": (_WHOLE, ("target",)),
    "encoder": (_NUMBER, ("encoder layers", "encoder heads", "source", "source")),
    "decoder": (_NUMBER, ("decoder layers", "decoder heads", "target", "target")),
    "cross": (_NUMBER, ("decoder layers", "cross heads", "target", "source")),
    "target_probabilities": (_NUMBER, ("target",)),
    "target_ranks": (_WHOLE, ("target",)),
    "entropies": (_NUMBER, ("target",)),
    "candidate_ids": (_WHOLE, ("target", "candidates")),
    "candidate_probabilities": (_NUMBER, ("target", "candidates")),
    "candidate_tokens": (_TEXT, ("target", "candidates")),
    "interventions": (_TEXT, ("interventions",)),
}
_WEIGHTS = ("encoder", "decoder", "cross")
_STAY_ARRAYS = {*_WEIGHTS, "target_probabilities", "target_ranks", "entropies"}
_STAY_ARRAYS |= {"candidate_ids", "candidate_probabilities"}
# Errors of damaged archives and headers, and of wrong sizes.
_DAMAGED = (
    *(ValueError, TypeError, SyntaxError, EOFError, MemoryError, OverflowError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
_ROUNDING = 1e-3  # by which a weight in half precision may be above 1


class Origin(Name):
    """Origin of a trace's target: the model's decoding, the caller, or decoding after a prefix of the caller."""

    DECODED = "decoded"
    TARGET = "target"
    PREFIX = "prefix"


def save_fields(path: Path, fields: Mapping[str, Any]) -> None:
    """Write the fields of a trace as one .npz, token texts as Unicode arrays; raises OSError."""
    arrays = {name: np.asarray(fields[name]) for name in _LAYOUT if name in fields and name != "interventions"}
    arrays["interventions"] = np.array(list(map(str, fields["interventions"])), dtype=np.str_)
    spans = [(piece.begin, piece.end) for piece in fields["source_pieces"]]
    arrays["source_spans"] = np.array(spans, dtype=np.int64).reshape(-1, 2)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Header:
    """Header of an array in NumPy's format; `start`: offset of the values in bytes."""

    shape: tuple[int, ...]
    dtype: np.dtype
    start: int

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def load_fields(path: Path) -> dict[str, Any]:
    """Read the fields that `save_fields` wrote, arrays read-only; raises DataError for anything else.

    Headers are checked before an array is read: sizes that fit one another, 8,192 tokens a side at most,
    4 GB and `most_unpacked` in all, and 64 MB without the weights.
    """
    try:
        arrays = _read(path)
        _check_weights(arrays)
        return _fields(arrays)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except InterventionError as error:
        raise DataError(f"{path} is no trace: {error}") from error
    except _DAMAGED as error:
        raise DataError(f"{path} is no trace: {error}.") from error


def _read(path: Path) -> dict[str, np.ndarray]:
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        stored = {member.filename.removesuffix(".npy") for member in archive.infolist()}
        if stored != _LAYOUT.keys():
            differing = sorted(stored ^ _LAYOUT.keys())
            raise ValueError(f"it lacks, or has too much of: {', '.join(differing[:5])}")
        headers = {name: _header(archive, name) for name in _LAYOUT}
        _check_headers(headers, most_unpacked(os.fstat(file.fileno()).st_size))
        return {name: read_only(_array(archive, name)) for name in _LAYOUT}


def _header(archive: zipfile.ZipFile, name: str) -> _Header:
    """Read the header of an array of numbers or texts: an object would be a pickle."""
    described = archive.getinfo(f"{name}.npy")
    if described.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is compressed in another way")  # of which a few bytes may unpack to gigabytes at once
    with archive.open(described) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{name} is of another version")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        header = _Header(shape, dtype, file.tell())
    if dtype.kind not in _LAYOUT[name][0]:
        raise ValueError(f"{name} is of type {dtype}")
    if min(shape, default=0) < 0 or header.bytes != described.file_size - header.start:
        raise ValueError(f"{name} is not as long as it says")
    return header


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _check_headers(headers: Mapping[str, _Header], most: int) -> None:
    """Raise ValueError for sizes that do not fit each other, or exceed the limits."""
    sizes = {"ends": 2}
    for name, (_, dimensions) in _LAYOUT.items():
        shape = headers[name].shape
        if len(shape) != len(dimensions):
            raise ValueError(f"{name} has {len(shape)} dimensions, not {len(dimensions)}")
        for dimension, size in zip(dimensions, shape, strict=True):
            if sizes.setdefault(dimension, size) != size:
                raise ValueError(f"{name} has the size {size} where {sizes[dimension]} is expected ({dimension})")
    if not all(sizes[name] for name in ("source", "target", "encoder layers", "encoder heads", "decoder layers")):
        raise ValueError("it has no weights")
    if sizes["pieces"] > sizes["source"]:
        raise ValueError("it has more pieces than source tokens")
    for dimension, limit in _MOST.items():
        if sizes[dimension] > limit:
            raise ValueError(f"its size {sizes[dimension]:,} ({dimension}) is more than {limit:,}")
    texts = sum(header.bytes for name, header in headers.items() if name not in _WEIGHTS)
    whole = sum(header.bytes for header in headers.values())
    for size, limit in ((texts, _MOST_TEXTS), (whole, _MOST_BYTES), (whole, most)):
        if size > limit:
            raise ValueError(f"it would unpack to more than {size_text(limit)}")


def _check_weights(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError for weights beyond 0 to 1, or NaN."""
    for name in _WEIGHTS:
        if not (arrays[name].min() >= 0 and arrays[name].max() <= 1 + _ROUNDING):
            raise ValueError(f"{name} has numbers that are no weights")


def _fields(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    fields = {name: _value(name, arrays[name]) for name in _LAYOUT if name != "source_spans"}
    fields["origin"] = Origin(fields["origin"])
    fields["interventions"] = tuple(map(parse_saved, fields["interventions"]))
    spans = arrays["source_spans"].tolist()
    tokens = zip(fields["source_ids"], fields["source_tokens"], spans, strict=False)
    fields["source_pieces"] = tuple(Piece(token, text, *span) for token, text, span in tokens)
    return fields


def _value(name: str, array: np.ndarray) -> Any:
    """Convert an array to a field of a trace, an array, value or tuples; raises ValueError for texts beyond UTF-8."""
    if name in _STAY_ARRAYS:
        return array
    if array.dtype.kind == _TEXT:
        "".join(array.ravel().tolist()).encode("utf-8")  # UnicodeEncodeError is a ValueError
    return _as_tuples(array.tolist())


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
