"""Direct logit attribution: what each head, each feed-forward and the embedding add to the logit of a token.

The residual stream is a sum, and the logit is a product with its last vector, so it is the sum of one product for each
part (Elhage et al. 2021). Between them stand LayerNorms: each is taken as the linear function that it is for this very
vector, its standard deviation held at its own value. So the parts add up to the logit exactly. What a part does to the
input of later parts counts as theirs: this is the direct path alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ...arrays import read_only, to_float64
from ...data.batching import Ids
from ...data.frames import cell_columns, frame_of
from ...model.head_ref import HeadRef
from ...model.layers import NORMS, norm_bias
from ...model.names import AttentionKind, Stack, SubLayerKind
from ...model.transformer import Transformer
from ..activations import RESIDUAL_STREAM, Activations, Request, record
from ..parameters import output_row
from ..residual import norm_divisor, sublayers_of

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
        """List the parts: kind as in `by_kind`, layer and head from 0, NaN for what has none, value; they add up to the
        logit.
        """
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
        """Return what each kind of part adds, all its layers and heads together."""
        return {
            "embedding": self.embedding,
            "position": self.position,
            "self-attention": float(self.decoder.sum()),
            "cross-attention": float(self.cross.sum()),
            "feed-forward": float(self.feed_forward.sum()),
            "biases": self.biases,
        }

    def largest_head(self) -> tuple[HeadRef, float]:
        """Return the head that adds the most, and how much."""
        kinds = {AttentionKind.DECODER: self.decoder, AttentionKind.CROSS: self.cross}
        kind, parts = max(kinds.items(), key=lambda each: each[1].max())
        layer, head = np.unravel_index(parts.argmax(), parts.shape)
        return HeadRef(kind, int(layer), int(head)), float(parts.max())


def attribute_logit(
    model: Transformer, source: Ids, decoder_input: Ids, token: int, against: int | None = None
) -> LogitAttribution:
    """Compute the parts of a token's logit after `decoder_input`; with `against`, of its difference to the other's.

    decoder_input: the ids from begin of sentence up to this step; ids and errors otherwise as for `record`.
    """
    keep = (*RESIDUAL_STREAM, "decoder.*.*_attention.core")
    seen = record(model, [source], [decoder_input], Request(keep=keep, logits_to_keep=1))
    return attribution_of(model, seen, -1, token, against)


def attribution_of(
    model: Transformer, seen: Activations, step: int, token: int, against: int | None = None
) -> LogitAttribution:
    """Compute the parts of a token's logit at a step, from 0, of a pass that kept residual stream and attention."""
    direction, biases = _output_row(model, token)
    logit = float(seen.logits[0, step, token])
    if against is not None:
        other, bias = _output_row(model, against)
        direction, biases, logit = direction - other, biases - bias, logit - float(seen.logits[0, step, against])
    if isinstance(model.decoder_norm, NORMS):
        last = list(sublayers_of(model, Stack.DECODER))[-1]
        direction, constant = _through(model.decoder_norm, direction, _around(seen, step, *last[:2])[1])
        biases += constant
    heads = {kind: np.zeros((len(model.decoder), model.config.num_heads)) for kind in SubLayerKind}
    feed_forward = np.zeros(len(model.decoder))
    for layer, kind, module, residual in reversed(list(sublayers_of(model, Stack.DECODER))):
        before, _ = _around(seen, step, layer, kind)
        change = _at(seen.call(f"decoder.{layer}.{kind}").output, step)
        if not residual.norm_first:
            direction, constant = _through(residual.norm, direction, before + change)
            biases += constant
        if kind == SubLayerKind.FEED_FORWARD:
            feed_forward[layer] = direction @ change
        else:
            core = seen.call(f"decoder.{layer}.{kind}.core").output[0, :, step]  # heads d_k
            columns = to_float64(module.output.weight).reshape(len(direction), *core.shape)  # type: ignore[arg-type, union-attr]  # d_model heads d_k
            heads[kind][layer] = np.einsum("d,dhk,hk->h", direction, columns, to_float64(core))
            if model.config.bias:
                biases += float(direction @ to_float64(module.output.bias))  # type: ignore[arg-type, union-attr]
    positions = seen.call("decoder_input.positions")
    embedded, summed = _at(positions.inputs[0], step), _at(positions.output, step)
    if isinstance(model.decoder_input.norm, NORMS):
        direction, constant = _through(model.decoder_input.norm, direction, summed)
        biases += constant
    return LogitAttribution(
        decoder=read_only(heads[AttentionKind.DECODER.sublayer]),
        cross=read_only(heads[AttentionKind.CROSS.sublayer]),
        feed_forward=read_only(feed_forward),
        embedding=float(direction @ embedded),
        position=float(direction @ (summed - embedded)),
        biases=float(biases),
        logit=logit,
    )


def _through(norm: nn.Module, direction: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the direction ahead of a LayerNorm, its standard deviation held at that of `vector`, and a constant part.

    direction . LayerNorm(x) = new direction . x + constant, for this vector and for the sum of any parts of it. An
    RMSNorm, whose root mean square is held, has no mean to take out and no constant part.
    """
    assert isinstance(norm, NORMS)
    gained, constant = direction * to_float64(norm.weight), float(direction @ to_float64(norm_bias(norm)))
    scaled = gained / norm_divisor(norm, vector)
    return scaled - scaled.mean() * isinstance(norm, nn.LayerNorm), constant


def _around(seen: Activations, step: int, layer: int, kind: SubLayerKind) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual stream before and after a sub-layer, at a step's position."""
    call = seen.call(f"decoder.{layer}.{kind}_residual")
    return _at(call.inputs[0], step), _at(call.output, step)


def _at(vectors: torch.Tensor, step: int) -> np.ndarray:
    return to_float64(vectors[0, step])


def _output_row(model: Transformer, token: int) -> tuple[np.ndarray, float]:
    row, bias = output_row(model, token)
    return row.astype(np.float64), bias or 0.0
