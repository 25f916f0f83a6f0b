"""A trace as a file: one .npz of plain numbers and texts, of which reading runs nothing, and which is checked first."""

import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import read_only
from ..data.tokenizer import Piece
from ..errors import DataError, InterventionError
from ..model.names import Name
from .what_if.intervention import parse_saved

_MOST_BYTES = 4 << 30  # of all arrays together: a small file may claim any size
_NUMBER, _WHOLE, _TEXT, _YES_OR_NO = "f", "iu", "U", "b"  # kinds of NumPy's types
# Each array, its kind and the names of its sizes: what has the same name is equally long.
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
FORMER_NAMES = {  # in files of earlier versions
    "given": "num_forced",
    "fed_tokens": "decoder_input_tokens",
    "fed_ids": "decoder_input_ids",
    "next_tokens": "target_tokens",
    "next_ids": "target_ids",
    "next_probabilities": "target_probabilities",
    "next_ranks": "target_ranks",
}
_WEIGHTS = ("encoder", "decoder", "cross")
_STAY_ARRAYS = {*_WEIGHTS, "target_probabilities", "target_ranks", "entropies"}
_STAY_ARRAYS |= {"candidate_ids", "candidate_probabilities"}
# What damaged archives and headers, and lies about sizes, lead to.
_DAMAGED = (
    *(ValueError, TypeError, SyntaxError, EOFError, MemoryError, OverflowError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
_ROUNDING = 1e-3  # by which a weight in half precision may be above 1


class Origin(Name):
    """Where a trace's target came from: the model's decoding, a target that was given, or one whose beginning was."""

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


def load_fields(path: Path) -> dict[str, Any]:
    """Read the fields that `save_fields` wrote, arrays read-only; raises DataError for anything else."""
    try:
        arrays = _read(path)
        _check(arrays)
        return _fields(arrays)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except InterventionError as error:
        raise DataError(f"{path} is no trace: {error}") from error
    except _DAMAGED as error:
        raise DataError(f"{path} is no trace: {error}.") from error


def _read(path: Path) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
            raise ValueError("it is too large")
        stored = [member.filename.removesuffix(".npy") for member in archive.infolist()]
        members = {FORMER_NAMES.get(name, name): name for name in stored}
        if members.keys() != _LAYOUT.keys():
            differing = sorted(members.keys() ^ _LAYOUT.keys())
            raise ValueError(f"it lacks, or has too much of: {', '.join(differing[:5])}")
        return {name: _array(archive, name, members[name]) for name in _LAYOUT}


def _array(archive: zipfile.ZipFile, name: str, member: str) -> np.ndarray:
    """Read an array in NumPy's format, but of numbers and texts alone: an object would be a pickle."""
    with archive.open(f"{member}.npy") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{name} is of another version")
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.kind not in _LAYOUT[name][0]:
            raise ValueError(f"{name} is of type {dtype}")
        values = file.read()
    if len(values) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} is not as long as it says")
    return read_only(np.ndarray(shape, dtype, values, order="F" if by_columns else "C"))


def _check(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError where sizes do not fit each other or weights are none."""
    sizes = {"ends": 2}
    for name, (_, dimensions) in _LAYOUT.items():
        if arrays[name].ndim != len(dimensions):
            raise ValueError(f"{name} has {arrays[name].ndim} dimensions, not {len(dimensions)}")
        for dimension, size in zip(dimensions, arrays[name].shape, strict=True):
            if sizes.setdefault(dimension, size) != size:
                raise ValueError(f"{name} has the size {size} where {sizes[dimension]} is expected ({dimension})")
    if not all(sizes[name] for name in ("source", "target", "encoder layers", "encoder heads", "decoder layers")):
        raise ValueError("it has no weights")
    if sizes["pieces"] > sizes["source"]:
        raise ValueError("it has more pieces than source tokens")
    for name in _WEIGHTS:
        if not ((arrays[name] >= 0) & (arrays[name] <= 1 + _ROUNDING)).all():
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
    """Return an array as a trace has it, a value or tuples where it is no array; UTF-8 must be able to hold texts."""
    if name in _STAY_ARRAYS:
        return array
    if array.dtype.kind == _TEXT:
        "".join(array.ravel().tolist()).encode("utf-8")  # UnicodeEncodeError is a ValueError
    return _as_tuples(array.tolist())


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
