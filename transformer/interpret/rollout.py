"""Attention rollout (Abnar and Zuidema 2020): how far each input token is mixed into each vector, layers multiplied.

NumPy only. A layer's attention is averaged over its heads and mixed with the residual connection: half and half as in
the paper, or by the norms of both vectors. Feed-forwards, values and LayerNorm are left out, so this is a rough
picture of mixing, not of influence.
"""

from dataclasses import dataclass

import numpy as np

from ..model.names import SubLayerKind
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
