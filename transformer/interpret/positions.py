"""Positional encoding as arrays: its waves, its two laws, and its sum with a sentence's embeddings.

Every table is the one that the loaded model adds.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..arrays import to_array
from ..config import Positions
from ..data.batching import Ids
from ..model.layers import MULTIPLIED_BASE, StackInput
from ..model.names import Stack
from ..model.transformer import Transformer
from .activations import EMBEDDINGS, Hook, Request, hooks_installed, record_encoder


@dataclass(frozen=True, eq=False)
class Encoding:
    """The encodings of `length` positions in a row: `table` is [length, d_model], float32 and read-only.

    Dimensions 2i and 2i + 1 are pair i: the sine and the cosine of position / base^(2i / d_model), `first_position`
    being that of the first row: 0 in the paper.
    """

    table: np.ndarray
    base: float
    first_position: int = 0

    @property
    def length(self) -> int:
        """Count the positions."""
        return len(self.table)

    @property
    def d_model(self) -> int:
        """Count the dimensions."""
        return int(self.table.shape[1])

    @property
    def pairs(self) -> np.ndarray:
        """Return the table as [length, pair, (sine, cosine)] in float64, where only its own rounding remains."""
        return self.table.reshape(self.length, -1, 2).astype(np.float64)

    @property
    def frequencies(self) -> np.ndarray:
        """Return by how many radians each pair turns from one position to the next: [pairs], float64."""
        return np.asarray(self.base ** (-np.arange(0, self.d_model, 2) / self.d_model))

    @property
    def wavelengths(self) -> np.ndarray:
        """Return after how many positions each pair is back where it was: [pairs], 2 pi base^(2i / d_model)."""
        return 2 * np.pi / self.frequencies

    def first(self, length: int) -> "Encoding":
        """Return the encoding of the first positions, of all that are there where `length` is more."""
        return Encoding(self.table[:length], self.base, self.first_position)


def has_formula(model: Transformer) -> bool:
    """Return True for a model with sines and cosines for positions, neither learned nor missing ones."""
    return model.config.positions in (Positions.SINUSOIDAL, Positions.MULTIPLIED)


def model_encoding(model: Transformer) -> Encoding:
    """Return the whole table that a model adds to its embeddings; raises ValueError where it has no formula."""
    if not has_formula(model):
        raise ValueError(f"an encoding that is computed expected, got positions of the kind {model.config.positions}")
    multiplied = model.config.positions == Positions.MULTIPLIED
    base = MULTIPLIED_BASE if multiplied else model.config.position_base
    return Encoding(position_rows(model), base, model.config.first_position)


def position_rows(model: Transformer, stack: Stack | str = Stack.ENCODER) -> np.ndarray:
    """Return a side's vectors of all positions, from a formula or learned: [max_length, d_model]."""
    entry: StackInput = getattr(model, f"{Stack(stack)}_input")
    return to_array(entry.positions.table.detach().clone())


def dot_products(encoding: Encoding) -> np.ndarray:
    """Compute PE(p) . PE(q) for all positions p and q: [length, length], float64."""
    table = encoding.table.astype(np.float64)
    return table @ table.T


def rotation(angle: float) -> np.ndarray:
    """Return R with R (sin a, cos a) = (sin(a + angle), cos(a + angle)): [2, 2]."""
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def rotation_error(encoding: Encoding, offset: int) -> float | None:
    """Return the largest |R(offset) PE(p) - PE(p + offset)| of any pair and position, R from the formula.

    None where the table has no two positions that far apart. Raises ValueError for an offset below 1.
    """
    if offset < 1:
        raise ValueError(f"offset must be at least 1, got {offset}")
    if offset >= encoding.length:
        return None
    matrices = np.stack([rotation(angle) for angle in offset * encoding.frequencies])  # pairs 2 2
    turned = np.einsum("iab,pib->pia", matrices, encoding.pairs[:-offset])
    return float(np.abs(turned - encoding.pairs[offset:]).max())


@dataclass(frozen=True, eq=False)
class EmbeddingSum:
    """Token embeddings, positions, and their sum: [tokens, d_model] each, float32 and read-only.

    The embeddings are as the model scales them; the positions are of a `kind`.
    """

    tokens: tuple[str, ...]
    embeddings: np.ndarray
    positions: np.ndarray
    total: np.ndarray
    kind: Positions = Positions.SINUSOIDAL

    @property
    def norms(self) -> np.ndarray:
        """Return the Euclidean lengths, [3, tokens], of the embeddings, the positions and the sums."""
        return np.stack([np.linalg.norm(part, axis=1) for part in (self.embeddings, self.positions, self.total)])


def embedding_sum(model: Transformer, ids: Ids, tokens: Sequence[str]) -> EmbeddingSum:
    """Record the encoder's input for ids that end with end of sentence; ValueError for a model in training mode."""
    (call,) = record_encoder(model, [ids], Request(keep=EMBEDDINGS)).calls["encoder_input.positions"]
    positions = position_rows(model)[: len(ids)]
    parts = to_array(call.inputs[0][0]), positions, to_array(call.output[0])
    return EmbeddingSum(tuple(tokens), *parts, model.config.positions)


@dataclass(frozen=True)
class Repetition:
    """A token at two positions (counted from 0), of one sentence or of two, and how far apart its two vectors are.

    `before` and `after` adding the positions are Euclidean distances.
    """

    token: str
    first: int
    second: int
    before: float
    after: float


def shared_tokens(one: EmbeddingSum, other: EmbeddingSum) -> list[Repetition]:
    """List each token of one sentence with its position in another one, in the order of the first.

    A token that occurs several times is paired occurrence by occurrence; tokens of only one of them are left out.
    """
    places: dict[str, list[int]] = {}
    for position, token in enumerate(other.tokens):
        places.setdefault(token, []).append(position)
    return [
        _compare(one, first, other, places[token].pop(0)) for first, token in enumerate(one.tokens) if places.get(token)
    ]


def _compare(one: EmbeddingSum, first: int, other: EmbeddingSum, second: int) -> Repetition:
    total, same = one.total[first], other.total[second]
    before, after = np.linalg.norm(one.embeddings[first] - other.embeddings[second]), np.linalg.norm(total - same)
    return Repetition(one.tokens[first], first, second, float(before), float(after))


@contextlib.contextmanager
def without_positions(model: Transformer) -> Iterator[None]:
    """Give the model's encoder embeddings alone within the block, in this thread: nothing tells it the order.

    Of relative positions the encoder's are left out, which are added to its scores.

    The decoder's positions stay: the hook is on the encoder's own input, for both stacks may share one table.
    """

    entry = model.encoder_input

    def embeddings_alone(_module: nn.Module, inputs: tuple[Any, ...], _output: Any) -> Tensor:
        alone: Tensor = entry.norm.forward(entry.embedding.forward(inputs[0]))
        return alone

    hooks: list[tuple[nn.Module, Hook]] = [(entry, embeddings_alone)]
    if model.encoder_relative is not None:
        hooks.append((model.encoder_relative, lambda _module, _inputs, bias: torch.zeros_like(bias)))
    with hooks_installed(hooks):
        yield
