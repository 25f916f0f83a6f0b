"""Attention rollout (Abnar and Zuidema 2020): how far each input token is mixed into each vector, layers multiplied.

NumPy only. A layer's attention is averaged over its heads and mixed with the residual connection: half and half as in
the paper, or by the norms of both vectors. Feed-forwards, values and LayerNorm are left out, so this is a rough
picture of mixing, not of influence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import read_only
from ..config import Norm
from ..data.batching import Ids
from ..model.names import AttentionKind, SubLayerKind
from ..model.transformer import Transformer
from .activations import Request, record
from .attention_block import BlockParameters, Stages, block_parameters, stage_modules, stages_of
from .attribution import transformed_values
from .head_patterns import is_word
from .residual import ResidualStream, StackStream


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
    source + target], the decoder's rows with what they took from the source through the memory first.
    """

    encoder: np.ndarray
    decoder: np.ndarray
    across: np.ndarray

    def source_share(self) -> np.ndarray:
        """What each decoder row has from the source after each layer, the rest from its prefix: [layers, target]."""
        return self.across[:, :, : self.encoder.shape[-1]].sum(axis=-1)


def half_and_half(encoder: np.ndarray, decoder: np.ndarray, cross: np.ndarray) -> Mixing:
    """The paper's mixing for these maps, [layers, heads, queries, keys] each: 0.5 W + 0.5 I (section 3).

    Each decoder layer then takes half of every row from the memory, so after l layers the source has 1 - 0.5^l of each
    row, whatever the weights: only a measured mixing lets `Rollout.source_share` differ from step to step.
    """

    def half(maps: np.ndarray) -> np.ndarray:
        return np.full((len(maps), maps.shape[2]), 0.5)

    return Mixing(encoder=half(encoder), decoder=half(decoder), cross=half(cross))


def measured_mixing(stream: ResidualStream) -> Mixing:
    """The norm of what attention adds, over this norm plus that of the vector it is added to.

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
    means = [np.asarray(maps, dtype=np.float64).mean(axis=1) for maps in (encoder, decoder, cross)]
    of_encoder = _chain(means[0], mixing.encoder)
    memory = of_encoder[-1]
    source, target = memory.shape[0], decoder.shape[2]
    shares = np.hstack([np.zeros((target, source)), np.eye(target)])
    across = []
    for layer, (reads_prefix, reads_memory) in enumerate(zip(means[1], means[2], strict=True)):
        shares = _mixed(shares, reads_prefix @ shares, mixing.decoder[layer])
        read = np.hstack([reads_memory @ memory, np.zeros((target, target))])
        shares = _mixed(shares, read, mixing.cross[layer])
        across.append(shares)
    return Rollout(encoder=of_encoder, decoder=_chain(means[1], mixing.decoder), across=np.stack(across))


def _chain(layers: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """[layers, tokens, tokens] -> the products of all layers up to each, each row mixed by its part."""
    shares, rolled = np.eye(layers.shape[-1]), []
    for layer, part in zip(layers, parts, strict=True):
        shares = _mixed(shares, layer @ shares, part)
        rolled.append(shares)
    return np.stack(rolled)


def _mixed(kept: np.ndarray, read: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Rows that are kept and rows that are read, as one: [tokens, inputs], `part` of the read ones: [tokens]."""
    return kept + part[:, None] * (read - kept)


def _measured(stack: StackStream, name: SubLayerKind) -> np.ndarray:
    """The part of attention in each row of each layer: [layers, tokens]."""
    blocks = [sublayer for sublayer in stack.sublayers if sublayer.name == name]
    added, kept = (
        np.stack([np.linalg.norm(np.asarray(getattr(block, part), dtype=np.float64), axis=-1) for block in blocks])
        for part in ("change", "before")
    )
    return np.divide(added, added + kept, out=np.full_like(added, 0.5), where=added + kept > 0)


@dataclass(frozen=True, eq=False)
class SourceShares:
    """The source's share of each output token, [target]: by ALTI+ and by rollout; the prefix has the rest of 1.

    usual: the mean by ALTI+ over sentence pairs, None where it is not known. The first `num_forced` tokens are
    forced, and count in no measure below.
    """

    tokens: Sequence[str]
    alti: np.ndarray
    rollout: np.ndarray
    usual: float | None = None
    num_forced: int = 0

    @property
    def mean_alti(self) -> float:
        """The mean share by ALTI+."""
        return float(self.alti[self.num_forced :].mean())

    @property
    def mean_rollout(self) -> float:
        """The mean share by rollout."""
        return float(self.rollout[self.num_forced :].mean())

    @property
    def least(self) -> int:
        """The output token of the lowest share by ALTI+."""
        return self.num_forced + int(self.alti[self.num_forced :].argmin())

    @property
    def most(self) -> int:
        """The output token of the highest share by ALTI+."""
        return self.num_forced + int(self.alti[self.num_forced :].argmax())

    @property
    def least_word(self) -> int:
        """The word of the lowest share, which tells more than the end of a sentence; if any is a word."""
        words = [at for at in range(self.num_forced, len(self.tokens)) if is_word(self.tokens[at])]
        return min(words, key=lambda at: self.alti[at], default=self.least)


def alti(model: Transformer, source: Ids, decoder_input: Ids) -> Rollout:
    """The contributions of source and prefix to every vector, rows summing to 1, in the shape of a rollout.

    `Rollout.source_share` of the last layer is the source's part in each output token. source: ids ending with end of
    sentence; decoder_input: ids beginning with begin of sentence. Raises ValueError for a model in training mode.
    """
    keep = tuple(name for kind in AttentionKind for name in stage_modules(kind, "*"))
    seen = record(model, [source], [decoder_input], Request(keep=keep, logits_to_keep=1))

    def layers(kind: AttentionKind) -> list[np.ndarray]:
        count = range(len(getattr(model, kind.stack)))
        blocks = ((stages_of(model, seen, kind, layer), block_parameters(model, kind, layer)) for layer in count)
        return [contributions(*block, reads_itself=kind != AttentionKind.CROSS) for block in blocks]

    return multiply(*map(layers, AttentionKind))


def contributions(stages: Stages, parameters: BlockParameters, reads_itself: bool) -> np.ndarray:
    """What each key, and the row's own vector, contribute to one block's output for the first sentence of its batch.

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
        deviation = np.sqrt(total.var(axis=-1) + parameters.epsilon)[:, None, None]
        vectors = (vectors - vectors.mean(axis=-1, keepdims=True)) / deviation * parameters.gamma
    return _shares(vectors, stages.result[0].astype(np.float64))


def _shares(vectors: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """max(0, |whole| - |whole - vector|) in the 1-norm, over the sum of its row: [queries, parts].

    A row whose every vector leads away from the whole is the part's that leads away least. A vector of 0, such as a
    masked key's, contributes nothing.
    """
    distances = np.abs(whole[:, None] - vectors).sum(axis=-1)
    distances[~vectors.any(axis=-1)] = np.inf
    near = np.maximum(0.0, np.abs(whole).sum(axis=-1, keepdims=True) - distances)
    nearest = np.eye(distances.shape[1])[distances.argmin(axis=1)]
    near = np.where(near.sum(axis=1, keepdims=True) > 0, near, nearest)
    return near / near.sum(axis=1, keepdims=True)


def multiply(encoder: list[np.ndarray], decoder: list[np.ndarray], cross: list[np.ndarray]) -> Rollout:
    """The layers' contributions multiplied: [source, source], [target, target] and [target,
    source + 1] a layer, each row summing to 1, the last column of the latter the row's own.
    """
    source, target = len(encoder[0]), len(decoder[0])
    of_encoder = np.stack(_products(encoder))
    shares, across = np.hstack([np.zeros((target, source)), np.eye(target)]), []
    for reads_prefix, reads_memory in zip(decoder, cross, strict=True):
        read = np.hstack([reads_memory[:, :source] @ of_encoder[-1], np.zeros((target, target))])
        shares = read + reads_memory[:, source:] * (reads_prefix @ shares)
        across.append(shares)
    return Rollout(
        encoder=read_only(of_encoder),
        decoder=read_only(np.stack(_products(decoder))),
        across=read_only(np.stack(across)),
    )


def _products(layers: list[np.ndarray]) -> list[np.ndarray]:
    found = layers[:1]
    for layer in layers[1:]:
        found = [*found, layer @ found[-1]]
    return found
