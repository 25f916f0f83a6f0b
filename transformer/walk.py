"""One token's way through a stack: length, what each sub-layer adds, how far it is from home."""

from dataclasses import dataclass

import numpy as np

from .stream import Stack


@dataclass(frozen=True, eq=False)
class Walk:
    """Stations of one token: embedding, position, each sub-layer, and the stack's end. All arrays are [stations].

    lengths: of the vector there; changes: of what was added to come there, NaN at the embedding; similarities: cosine
    with the embedding; turns: cosine with the station before, 1 at the embedding. `places` names each station: (kind,
    layer), the layer counted from 0 and None outside the layers.
    """

    places: tuple[tuple[str, int | None], ...]
    lengths: np.ndarray
    changes: np.ndarray
    similarities: np.ndarray
    turns: np.ndarray


def walk(stack: Stack, token: int) -> Walk:
    """The stations of a token, counted from 0; raises ValueError for one that is not there.

    A change is what the station before was added, before any LayerNorm: the position's vector, a sub-layer's output; at
    the end, what the last LayerNorm did.
    """
    if not 0 <= token < len(stack.start):
        raise ValueError(f"token must be in 0 to {len(stack.start) - 1}, got {token}")
    places: list[tuple[str, int | None]] = [("embedding", None), ("positions", None)]
    vectors = [stack.embedded[token], stack.start[token]]
    changes = [np.full_like(vectors[0], np.nan), vectors[1] - vectors[0]]
    for sublayer in stack.sublayers:
        places.append((sublayer.name, sublayer.layer))
        vectors.append(sublayer.after[token])
        changes.append(sublayer.change[token])
    if not np.array_equal(stack.end[token], vectors[-1]):
        places.append(("norm", None))
        changes.append(stack.end[token] - vectors[-1])
        vectors.append(stack.end[token])
    rows = np.asarray(vectors, dtype=np.float64)
    before = np.vstack([rows[:1], rows[:-1]])
    return Walk(
        tuple(places), np.linalg.norm(rows, axis=1), np.linalg.norm(np.asarray(changes, dtype=np.float64), axis=1),
        _cosines(rows, rows[:1]), _cosines(rows, before),
    )  # fmt: skip


def _cosines(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(others, axis=1)
    return (rows * others).sum(axis=1) / np.maximum(lengths, 1e-300)
