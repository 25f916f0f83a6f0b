"""Exact parts of one attention score: products of vectors in the query's residual stream and in the key's.

A residual stream is a sum of vectors: the embedding, the position, the outputs of heads and feed-forwards, and
biases. Query and key are linear in it, so a score is a sum of one product for each pair of parts (Elhage et al. 2021).
A LayerNorm between them is taken as the linear function that it is for this very vector, its standard deviation held
at its own value, so that the parts add up to the score.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ..arrays import read_only, require_index, to_array, to_float64
from ..model.attention import MultiHeadAttention
from ..model.heads import Head
from ..model.layers import NORMS, norm_bias
from ..model.names import AttentionKind, Stack, SubLayerKind
from ..model.transformer import Transformer
from .activations import RESIDUAL_STREAM, Activations, Request, bias_of, record, scores_of, weights_of
from .residual import norm_divisor, sublayers_of
from .trace import Trace

if TYPE_CHECKING:
    import pandas

    from ..translator import Translator

EMBEDDING, POSITION, BIASES, RELATIVE = "embedding", "position", "biases", "relative position"
KEPT = (*RESIDUAL_STREAM, "*.*.*_attention.core")  # modules of an explained pass


@dataclass(frozen=True)
class StreamPart:
    """A summand of a residual stream. `kind`: "embedding", "position", "feed_forward", "biases", or a head's
    `AttentionKind`; layer and head count from 0, None for a part without one.
    """

    kind: str
    layer: int | None = None
    head: int | None = None

    @property
    def source_head(self) -> Head | None:
        """Return the head that wrote the part, None for any other part."""
        if self.layer is None or self.head is None:
            return None
        return Head(AttentionKind(self.kind), self.layer, self.head)

    @property
    def group(self) -> "StreamPart":
        """Return the part with all heads of its kind and layer together."""
        return StreamPart(self.kind, self.layer)


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The parts of one score of a head, or of the difference of two scores of one query. Arrays are float64, read-only.

    products: [query parts, key parts], scaled as the score is; relative: the bias of relative positions; score: the
    model's own. Positions count from 0. With `against`, a second key, all values are those of the first key minus those
    of the second: the difference that softmax sees.
    """

    head: Head
    query: int
    key: int
    against: int | None
    query_parts: tuple[StreamPart, ...]
    key_parts: tuple[StreamPart, ...]
    products: np.ndarray
    relative: float
    score: float

    @property
    def total(self) -> float:
        """Sum all parts: the score, but for rounding."""
        return float(self.products.sum()) + self.relative

    def minus(self, other: "ScoreParts") -> "ScoreParts":
        """Return the parts of this score minus those of the same query's score with another key."""
        products = read_only(self.products - other.products)
        relative, score = self.relative - other.relative, self.score - other.score
        return replace(self, against=other.key, products=products, relative=relative, score=score)

    def grouped(self, opened: StreamPart | None = None) -> "ScoreParts":
        """Add up the heads of each kind and layer, except those of the group `opened`."""
        rows, row_groups = _groups(self.query_parts, opened)
        columns, column_groups = _groups(self.key_parts, opened)
        products = np.zeros((len(row_groups), len(column_groups)))
        np.add.at(products, (rows[:, None], columns), self.products)
        return replace(self, query_parts=row_groups, key_parts=column_groups, products=read_only(products))

    def largest(self, count: int = 5) -> list[tuple[StreamPart, StreamPart, float]]:
        """Return the pairs of parts with the largest products, by absolute value."""
        order = np.argsort(-np.abs(self.products), axis=None, kind="stable")[:count]
        rows, columns = np.unravel_index(order, self.products.shape)
        cells = [(self.query_parts[row], self.key_parts[column]) for row, column in zip(rows, columns, strict=True)]
        return [(*cell, float(value)) for cell, value in zip(cells, self.products[rows, columns], strict=True)]

    def without(self, part: StreamPart) -> float:
        """Return the score with this part, or with all heads of this group, set to zero on both sides."""
        rows = np.array([part in (each, each.group) for each in self.query_parts])
        columns = np.array([part in (each, each.group) for each in self.key_parts])
        return float(self.products[~rows][:, ~columns].sum()) + self.relative

    def to_frame(self) -> "pandas.DataFrame":
        """List the products: query_kind, query_layer, query_head, key_kind, key_layer, key_head, value; numbers from 0.

        A last row has the part "relative position" of both sides. The values add up to the score.
        """
        import pandas  # not needed to compute them

        rows = [
            (*_columns(query), *_columns(key), float(self.products[row, column]))
            for row, query in enumerate(self.query_parts)
            for column, key in enumerate(self.key_parts)
        ]
        rows.append((*_columns(StreamPart(RELATIVE)), *_columns(StreamPart(RELATIVE)), self.relative))
        names = [f"{side}_{name}" for side in ("query", "key") for name in ("kind", "layer", "head")]
        return pandas.DataFrame(rows, columns=[*names, "value"])


def explain_score(
    translator: "Translator",
    trace: Trace,
    kind: AttentionKind | str,
    layer: int,
    head: int,
    query: int,
    key: int,
    *,
    against: int | None = None,
) -> ScoreParts:
    """Compute the parts of a head's score in the pass of a trace made by this model without interventions.

    query, key: positions from 0, of the decoder's input for decoder queries, of the source for encoder queries and for
    keys of cross-attention; against: another key. Raises ValueError for a head or a position that is not there, and for
    a trace whose weights in this row are not those of the model's own pass.
    """
    model, request = translator.model, Request(keep=KEPT, logits_to_keep=1)
    seen = record(model, [trace.source_ids], [trace.decoder_input_ids], request)
    parts = score_parts_of(model, seen, Head(AttentionKind(kind), layer, head), query, key, against)
    _require_own_pass(trace, seen, parts.head, query)
    return parts


def _require_own_pass(trace: Trace, seen: Activations, head: Head, query: int) -> None:
    """Compare a row of the trace with that of the pass, to half of the digits of the coarser dtype."""
    core, maps = seen.call(f"{head.kind.block_name(head.layer)}.core"), trace.attention(head.kind)
    passed, epsilon = to_array(weights_of(core)[0, head.head, query]), torch.finfo(core.inputs[0].dtype).eps
    row = maps[head.layer, head.head, query] if head.fits({head.kind: maps.shape[:2]}) else np.full_like(passed, np.nan)
    if not np.allclose(row, passed, rtol=0, atol=math.sqrt(max(epsilon, np.finfo(maps.dtype).eps))):
        at = np.abs(row - passed).argmax()
        raise ValueError(f"expected a trace of this model's own pass, weight {passed[at]:.4g}, got {row[at]:.4g}")


def score_parts_of(
    model: Transformer, seen: Activations, head: Head, query: int, key: int, against: int | None = None
) -> ScoreParts:
    """Compute the parts of a head's score in the first sentence of a pass that kept `KEPT`."""
    attention, core = _attention(model, head), seen.call(f"{head.kind.block_name(head.layer)}.core")
    scores, bias = to_array(scores_of(core)[0, head.head]), to_array(bias_of(core)[head.head])  # queries keys
    require_index("query", query, scores.shape[0])
    row = _read(_before_attention(model, seen, head, query), attention, head, 0)
    scale = 1 / math.sqrt(attention.width // attention.num_heads) if attention.scale is None else attention.scale

    def parts_of(key: int) -> ScoreParts:
        require_index("key", key, scores.shape[1])
        column = _read(_key_stream(model, seen, head, key), attention, head, 1)
        products = read_only(scale * row.vectors @ column.vectors.T)
        relative, score = float(bias[query, key]), float(scores[query, key])
        return ScoreParts(head, query, key, None, row.parts, column.parts, products, relative, score)

    return parts_of(key) if against is None else parts_of(key).minus(parts_of(against))


@dataclass
class _Summands:
    """A vector of a stream as the sum of its parts' vectors, in the order in which they were written."""

    by_part: dict[StreamPart, np.ndarray] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[StreamPart, ...]:
        return tuple(self.by_part)

    @property
    def vectors(self) -> np.ndarray:  # parts d_model
        return np.stack(list(self.by_part.values()))

    def add(self, part: StreamPart, vector: np.ndarray) -> None:
        self.by_part[part] = self.by_part.get(part, 0.0) + vector

    def normalise(self, norm: nn.Module, whole: np.ndarray) -> None:
        """Put each part through a norm, its standard deviation held at that of the whole vector."""
        assert isinstance(norm, NORMS)
        factor, is_centred = to_float64(norm.weight) / norm_divisor(norm, whole), isinstance(norm, nn.LayerNorm)
        for part, vector in self.by_part.items():
            self.by_part[part] = (vector - vector.mean() * is_centred) * factor
        self.add(StreamPart(BIASES), to_float64(norm_bias(norm)))


def _key_stream(model: Transformer, seen: Activations, head: Head, key: int) -> _Summands:
    if head.kind != AttentionKind.CROSS:
        return _before_attention(model, seen, head, key)
    return _Summands(stream_parts(model, seen, Stack.ENCODER, key))


def stream_parts(model: Transformer, seen: Activations, stack: Stack, position: int) -> dict[StreamPart, np.ndarray]:
    """Return the parts of a stack's output at a position, [d_model] each, for the first sentence of a pass."""
    summands, norm = _walk(model, seen, stack, position, None), getattr(model, f"{stack}_norm")
    if isinstance(norm, NORMS):
        layer, name, *_ = list(sublayers_of(model, stack))[-1]
        last = seen.call(f"{stack}.{layer}.{name}_residual").output[0, position]
        summands.normalise(norm, to_float64(last))
    return summands.by_part


def _before_attention(model: Transformer, seen: Activations, head: Head, position: int) -> _Summands:
    """Return the input of the head's attention at a position of its queries' stack."""
    return _walk(model, seen, head.kind.stack, position, (head.layer, head.kind.sublayer))


def _walk(
    model: Transformer, seen: Activations, stack: Stack, position: int, until: tuple[int, SubLayerKind] | None
) -> _Summands:
    """Follow a stack's stream at a position, up to the input of the sub-layer `until`, or to its end."""
    summands = _Summands()
    call = seen.call(f"{stack}_input.positions")
    embedded, whole = to_float64(call.inputs[0][0, position]), to_float64(call.output[0, position])
    summands.add(StreamPart(EMBEDDING), embedded)
    summands.add(StreamPart(POSITION), whole - embedded)
    summands.add(StreamPart(BIASES), np.zeros_like(whole))
    norm = getattr(model, f"{stack}_input").norm
    if isinstance(norm, NORMS):
        summands.normalise(norm, whole)
    for layer, name, module, residual in sublayers_of(model, stack):
        before = to_float64(seen.call(f"{stack}.{layer}.{name}_residual").inputs[0][0, position])
        if (layer, name) == until:
            if residual.norm_first:
                summands.normalise(residual.norm, before)
            break
        for part, vector in _written(seen, stack, layer, name, module, position):
            summands.add(part, vector)
        if not residual.norm_first:
            change = to_float64(seen.call(f"{stack}.{layer}.{name}").output[0, position])
            summands.normalise(residual.norm, before + change)
    return summands


def _written(
    seen: Activations, stack: Stack, layer: int, name: SubLayerKind, module: nn.Module, position: int
) -> Iterator[tuple[StreamPart, np.ndarray]]:
    """Yield a sub-layer's additions to the stream at a position, head by head, and its last bias as a part."""
    if isinstance(module, MultiHeadAttention):
        kind = next(kind for kind in AttentionKind if (kind.stack, kind.sublayer) == (stack, name))
        core = to_float64(seen.call(f"{stack}.{layer}.{name}.core").output[0, :, position])  # heads d_k
        columns = to_float64(module.output.weight).reshape(-1, *core.shape)  # d_model heads d_k
        for head, vector in enumerate(np.einsum("dhk,hk->hd", columns, core)):
            yield StreamPart(kind, layer, head), vector
        last = module.output
    else:
        last = module.outer  # type: ignore[assignment]
        whole = to_float64(seen.call(f"{stack}.{layer}.{name}").output[0, position])
        bias = 0.0 if last.bias is None else to_float64(last.bias)
        yield StreamPart(SubLayerKind.FEED_FORWARD, layer), whole - bias
    if last.bias is not None:
        yield StreamPart(BIASES), to_float64(last.bias)


def _read(summands: _Summands, attention: MultiHeadAttention, head: Head, side: int) -> _Summands:
    """Project each part to the head's query (side 0) or key (side 1); the projection's bias joins the other biases."""
    size = attention.width // attention.num_heads
    first = side * attention.width + head.head * size
    weight = to_float64(attention.query_key_value.weight)[first : first + size]
    read = _Summands({part: weight @ vector for part, vector in summands.by_part.items()})
    if attention.query_key_value.bias is not None:
        read.add(StreamPart(BIASES), to_float64(attention.query_key_value.bias)[first : first + size])
    return read


def _attention(model: Transformer, head: Head) -> MultiHeadAttention:
    """Return the attention of one head; raises ValueError where the model has no such head."""
    layers = getattr(model, head.kind.stack)
    if head.layer is None or head.head is None:
        raise ValueError(f"one head expected, got {head.address}")
    require_index("layer", head.layer, len(layers))
    require_index("head", head.head, model.config.num_heads)
    attention: MultiHeadAttention = getattr(layers[head.layer], head.kind.sublayer)
    return attention


def _groups(parts: tuple[StreamPart, ...], opened: StreamPart | None) -> tuple[np.ndarray, tuple[StreamPart, ...]]:
    """Return for each part the number of its group, and the groups; a part of `opened` is a group of its own."""
    owners = [part if part.group == opened else part.group for part in parts]
    groups = tuple(dict.fromkeys(owners))
    return np.array([groups.index(owner) for owner in owners]), groups


def _columns(part: StreamPart) -> tuple[str, float, float]:
    layer, head = (math.nan if number is None else number for number in (part.layer, part.head))
    return str(part.kind), layer, head
