"""Share of each input token in each vector, layers multiplied: attention rollout, and ALTI+. NumPy only.

Rollout (Abnar and Zuidema 2020): a layer's attention is averaged over its heads and mixed with the residual connection,
half and half as in the paper, or by the norms of both vectors. Feed-forwards, values and LayerNorm are left out, so
this is a rough picture of mixing, not of influence.

ALTI+ (Ferrando et al. 2022a, 2022b): the output of an attention block is a sum of vectors, one for each token that it
reads and the residual's, put through LayerNorm with its standard deviation held at its own. A token contributes the
more, the nearer its vector comes to the whole, in the 1-norm. Feed-forwards are left out. Biases belong to no token,
but for the value's, which goes with its key.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import read_only
from ..config import Norm
from ..data.batching import Ids
from ..data.frames import cell_columns, frame_of
from ..model.names import AttentionKind, SubLayerKind
from ..model.transformer import Transformer
from .activations import Activations, Request, record
from .attention_block import BlockParameters, Stages, block_parameters, centred, deviation_of, stage_modules, stages_of
from .attribution import transformed_values
from .head_patterns import is_word
from .residual import ResidualStream, StackStream
from .trace import AttentionMap, RowLabel, Trace, attention_map

if TYPE_CHECKING:
    import pandas


_STAGES = tuple(name for kind in AttentionKind for name in stage_modules(kind, "*"))
ALTI_REQUEST = Request(keep=_STAGES, logits_to_keep=1)  # modules that ALTI+ reads


@dataclass(frozen=True, eq=False)
class Mixing:
    """The share of each row that comes from attention: encoder [layers, source], decoder and cross [layers, target]."""

    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray


@dataclass(frozen=True, eq=False)
class Rollout:
    """Shares of input tokens, each row summing to 1; rows after layer l are at index l - 1.

    encoder: [layers, source, source]; decoder: [layers, target, target], self-attention alone; across: [layers, target,
    source + target], the decoder's rows, shares of the source through the memory first.
    """

    encoder: np.ndarray
    decoder: np.ndarray
    across: np.ndarray

    def to_frame(self) -> "pandas.DataFrame":
        """List the shares: rows of ("encoder", "decoder" or "across"), layer, query, key, share; all count from 0, and
        a key of "across" from the first source token on through the decoder's input.
        """
        axes, parts = (
            ("layer", "query", "key"),
            {"encoder": self.encoder, "decoder": self.decoder, "across": self.across},
        )
        return frame_of("rows_of", {name: cell_columns(axes, share=shares) for name, shares in parts.items()})

    def source_share(self) -> np.ndarray:
        """Return the source's share of each decoder row after each layer; the prefix has the rest: [layers, target]."""
        return np.asarray(self.across[:, :, : self.encoder.shape[-1]].sum(axis=-1))


def share_map(
    rollout: Rollout,
    trace: Trace,
    kind: AttentionKind | str = AttentionKind.CROSS,
    layer: int | None = None,
    row_label: RowLabel | str = RowLabel.PREDICTED,
) -> AttentionMap:
    """Return the shares after a layer, counted from 0, None for the last, labelled as the layer's attention.

    Of "cross" the columns are source tokens, and a row sums to its share of the source; the prefix has the rest of 1.
    Keys later than a decoder row are NaN. Raises ValueError for a layer that the trace does not have.
    """
    layer = len(trace.attention(kind)) - 1 if layer is None else layer
    raw = attention_map(trace, kind, layer, None, row_label)
    if raw.kind == AttentionKind.CROSS:
        return replace(raw, weights=rollout.across[layer][:, : len(trace.source_tokens)])
    return replace(raw, weights=np.where(np.isnan(raw.weights), np.nan, getattr(rollout, raw.kind)[layer]))


def half_and_half(encoder: np.ndarray, decoder: np.ndarray, cross: np.ndarray) -> Mixing:
    """Return the paper's mixing for these maps, [layers, heads, queries, keys] each: 0.5 W + 0.5 I (section 3).

    Each decoder layer then takes half of every row from the memory, so after l layers the source has 1 - 0.5^l of each
    row, whatever the weights: only a measured mixing lets `Rollout.source_share` differ from step to step.
    """
    return Mixing(*(np.full((len(maps), maps.shape[2]), 0.5) for maps in (encoder, decoder, cross)))


def measured_mixing(stream: ResidualStream) -> Mixing:
    """Divide the norm of the attention output by this norm plus that of the vector it is added to.

    In the manner of the mixing ratio of Kobayashi et al. 2021, which also counts a token's reading of itself as kept.
    Two vectors of norm 0 mix half and half.
    """
    return Mixing(
        encoder=_measured(stream.encoder, SubLayerKind.SELF_ATTENTION),
        decoder=_measured(stream.decoder, SubLayerKind.SELF_ATTENTION),
        cross=_measured(stream.decoder, SubLayerKind.CROSS_ATTENTION),
    )


def roll_out(encoder: np.ndarray, decoder: np.ndarray, cross: np.ndarray, mixing: Mixing | None = None) -> Rollout:
    """Multiply the layers of a trace: [layers, heads, queries, keys] each, masked cells 0; half and half by default.

    Across both sides a decoder row begins as its own input token. Self-attention mixes the rows before it in, then
    cross-attention mixes the memory in, which stands for source tokens by the encoder's rollout. Raises ValueError when
    decoder and cross differ in layers or rows.
    """
    if decoder.shape[0] != cross.shape[0] or decoder.shape[2] != cross.shape[2]:
        raise ValueError(f"decoder {decoder.shape} and cross {cross.shape} must have the same layers and rows")
    mixing = mixing or half_and_half(encoder, decoder, cross)

    def read(maps: np.ndarray, parts: np.ndarray) -> np.ndarray:  # the attention part of rows: [layers, queries, keys]
        return np.asarray(parts[:, :, None] * np.asarray(maps, dtype=np.float64).mean(axis=1))

    of_encoder, of_decoder = (
        list(read(maps, parts) + (1 - parts)[:, :, None] * np.eye(parts.shape[1]))
        for maps, parts in ((encoder, mixing.encoder), (decoder, mixing.decoder))
    )
    of_cross = list(np.concatenate([read(cross, mixing.cross), (1 - mixing.cross)[:, :, None]], axis=2))
    return multiply(of_encoder, of_decoder, of_cross)


def _measured(stack: StackStream, name: SubLayerKind) -> np.ndarray:
    """Compute the part of attention in each row of each layer: [layers, tokens]."""
    blocks = [sublayer for sublayer in stack.sublayers if sublayer.name == name]
    change, before = (
        np.stack([np.linalg.norm(np.asarray(getattr(block, part), dtype=np.float64), axis=-1) for block in blocks])
        for part in ("change", "before")
    )
    return np.asarray(np.divide(change, change + before, out=np.full_like(change, 0.5), where=change + before > 0))


@dataclass(frozen=True, eq=False)
class SourceShares:
    """The source's share of each output token by ALTI+, [target]; the prefix has the rest of 1.

    usual: the mean over sentence pairs, None where it is not known. The first `num_forced` tokens are
    forced, and count in no measure below.
    """

    tokens: Sequence[str]
    alti: np.ndarray
    usual: float | None = None
    num_forced: int = 0

    def to_frame(self) -> "pandas.DataFrame":
        """List the shares: method, "ALTI+", step from 0, token, share."""
        columns = {"ALTI+": {**cell_columns(["step"], share=self.alti), "token": np.arange(len(self.tokens))}}
        return frame_of("method", columns, {"token": self.tokens})[["method", "step", "token", "share"]]

    @property
    def mean_alti(self) -> float:
        """Average the shares."""
        return float(self.alti[self.num_forced :].mean())

    @property
    def least(self) -> int:
        """Return the output token of the lowest share."""
        return self.num_forced + int(self.alti[self.num_forced :].argmin())

    @property
    def most(self) -> int:
        """Return the output token of the highest share."""
        return self.num_forced + int(self.alti[self.num_forced :].argmax())

    @property
    def least_word(self) -> int:
        """Return the word of the lowest share, which tells more than the end of a sentence; if any is a word."""
        words = [step for step in range(self.num_forced, len(self.tokens)) if is_word(self.tokens[step])]
        return min(words, key=lambda step: self.alti[step], default=self.least)


def alti(model: Transformer, source: Ids, decoder_input: Ids) -> Rollout:
    """Compute the contributions of source and prefix to every vector, rows summing to 1, in the shape of a rollout.

    `Rollout.source_share` of the last layer is the source's part in each output token. Ids, errors: as for `record`.
    """
    return alti_of(model, record(model, [source], [decoder_input], ALTI_REQUEST))


def alti_of(model: Transformer, seen: Activations) -> Rollout:
    """Read the contributions off a pass over one sentence that was recorded with `ALTI_REQUEST`."""

    def layers(kind: AttentionKind) -> list[np.ndarray]:
        count = range(len(getattr(model, kind.stack)))
        blocks = ((stages_of(model, seen, kind, layer), block_parameters(model, kind, layer)) for layer in count)
        return [contributions(*block, reads_itself=kind != AttentionKind.CROSS) for block in blocks]

    return multiply(*map(layers, AttentionKind))


def contributions(stages: Stages, parameters: BlockParameters, *, reads_itself: bool) -> np.ndarray:
    """Compute the contribution of each key and of the row's own vector to a block's output, for the first sentence.

    [queries, keys] for self-attention, where a row's own vector counts with its own key; [queries, keys + 1] for
    cross-attention, the row's own vector last. Rows sum to 1.
    """
    vectors = np.einsum("hqk,hkd->qkd", stages.weights[0].astype(np.float64), transformed_values(stages, parameters)[0])
    residual, total = (part[0].astype(np.float64) for part in (stages.residual, stages.total))
    if reads_itself:
        rows = range(len(residual))
        vectors[rows, rows] += residual
    else:
        vectors = np.concatenate([vectors, residual[:, None]], axis=1)
    if parameters.norm == Norm.POST:
        vectors = centred(vectors, parameters) / deviation_of(total, parameters)[:, None] * parameters.gamma
    return _shares(vectors, stages.result[0].astype(np.float64))


def _shares(vectors: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return max(0, |whole| - |whole - vector|) in the 1-norm, over the sum of its row: [queries, parts].

    A row whose every vector leads away from the whole is the part's that leads away least. A vector of 0, such as a
    masked key's, contributes nothing.
    """
    distances = np.abs(whole[:, None] - vectors).sum(axis=-1)
    distances[~vectors.any(axis=-1)] = np.inf
    near = np.maximum(0.0, np.abs(whole).sum(axis=-1, keepdims=True) - distances)
    nearest = np.eye(distances.shape[1])[distances.argmin(axis=1)]
    near = np.where(near.sum(axis=1, keepdims=True) > 0, near, nearest)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def multiply(encoder: list[np.ndarray], decoder: list[np.ndarray], cross: list[np.ndarray]) -> Rollout:
    """Multiply the layers' contributions, each row summing to 1: encoder [source, source], decoder [target, target] and
    cross [target, source + 1] a layer, the last column of the latter the row's own.
    """
    source, target = len(encoder[0]), len(decoder[0])
    of_encoder, of_decoder = (
        np.stack(list(accumulate(layers, lambda below, layer: layer @ below))) for layers in (encoder, decoder)
    )
    shares, across = np.hstack([np.zeros((target, source)), np.eye(target)]), []
    for reads_prefix, reads_memory in zip(decoder, cross, strict=True):
        read = np.hstack([reads_memory[:, :source] @ of_encoder[-1], np.zeros((target, target))])
        shares = read + reads_memory[:, source:] * (reads_prefix @ shares)
        across.append(shares)
    return Rollout(read_only(of_encoder), read_only(of_decoder), read_only(np.stack(across)))
