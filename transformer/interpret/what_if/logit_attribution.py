"""Direct logit attribution: additions of each head, each feed-forward and the embedding to the logit of a token.

The logit is a product with the last vector of the residual stream, so it is the sum of one product for each part of the
stream (see `score_parts`), exactly. The effect of a part on the input of later parts counts as theirs: this is the
direct path alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import read_only
from ...data.frames import cell_columns, frame_of
from ...model.heads import Head
from ...model.names import AttentionKind, Stack, SubLayerKind
from ...model.transformer import Transformer
from ..activations import Activations
from ..parameters import output_row
from ..score_parts import BIASES, EMBEDDING, POSITION, StreamPart, stream_parts

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class LogitAttribution:
    """The parts of one logit, or of the difference of two. Arrays are float64 and read-only.

    decoder, cross: [layers, heads], of self- and cross-attention; feed_forward: [layers]; embedding, of the last input
    token, and position: numbers; biases: those of attention, LayerNorm and output together, which no token changes but
    through the standard deviations. `logit` is the model's own.
    """

    decoder: np.ndarray
    cross: np.ndarray
    feed_forward: np.ndarray
    embedding: float
    position: float
    biases: float
    logit: float

    def to_frame(self) -> "pandas.DataFrame":
        """List the parts: kind as in `by_kind`, layer and head from 0, NaN without one, and value."""
        arrays = {"self-attention": self.decoder, "cross-attention": self.cross, "feed-forward": self.feed_forward}
        tables = {}
        for kind, value in self.by_kind().items():
            values = np.asarray(arrays.get(kind, value))
            nowhere = {name: np.full(values.size, np.nan) for name in ("layer", "head")}
            tables[kind] = {**nowhere, **cell_columns(("layer", "head")[: values.ndim], value=values)}
        return frame_of("kind", tables)

    @property
    def total(self) -> float:
        """Sum all parts: the logit, but for rounding."""
        return sum(self.by_kind().values())

    def by_kind(self) -> dict[str, float]:
        """Return the sums of each kind of part over all its layers and heads."""
        return {
            "embedding": self.embedding,
            "position": self.position,
            "self-attention": float(self.decoder.sum()),
            "cross-attention": float(self.cross.sum()),
            "feed-forward": float(self.feed_forward.sum()),
            "biases": self.biases,
        }

    def largest_head(self) -> tuple[Head, float]:
        """Return the head that adds the most, and how much."""
        kinds = {AttentionKind.DECODER: self.decoder, AttentionKind.CROSS: self.cross}
        kind, parts = max(kinds.items(), key=lambda each: each[1].max())
        layer, head = np.unravel_index(parts.argmax(), parts.shape)
        return Head(kind, int(layer), int(head)), float(parts.max())


def attribution_of(
    model: Transformer, seen: Activations, step: int, token: int, against: int | None = None
) -> LogitAttribution:
    """Compute the parts of a token's logit at a step, from 0, of a pass that kept `KEPT`.

    With `against`, of the difference to the logit of the token of this id.
    """
    direction, biases = _output_row(model, token)
    logit = float(seen.logits[0, step, token])
    if against is not None:
        other, bias = _output_row(model, against)
        direction, biases, logit = direction - other, biases - bias, logit - float(seen.logits[0, step, against])
    added = {part: float(direction @ vector) for part, vector in stream_parts(model, seen, Stack.DECODER, step).items()}
    layers, heads = range(len(model.decoder)), range(model.config.num_heads)
    of_heads = {
        kind: read_only(np.array([[added[StreamPart(kind, layer, head)] for head in heads] for layer in layers]))
        for kind in (AttentionKind.DECODER, AttentionKind.CROSS)
    }
    return LogitAttribution(
        decoder=of_heads[AttentionKind.DECODER],
        cross=of_heads[AttentionKind.CROSS],
        feed_forward=read_only(np.array([added[StreamPart(SubLayerKind.FEED_FORWARD, layer)] for layer in layers])),
        embedding=added[StreamPart(EMBEDDING)],
        position=added[StreamPart(POSITION)],
        biases=biases + added[StreamPart(BIASES)],
        logit=logit,
    )


def _output_row(model: Transformer, token: int) -> tuple[np.ndarray, float]:
    row, bias = output_row(model, token)
    return row.astype(np.float64), bias or 0.0
