"""Attention rollout (Abnar and Zuidema 2020): how far each input token is mixed into each vector, layers multiplied.

NumPy only. A layer's attention is averaged over its heads and, for the way around it, mixed with the identity: half and
half. Feed-forwards, values and LayerNorm are left out, so this is a rough picture of mixing, not of influence.
"""

from dataclasses import dataclass

import numpy as np


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


def roll_out(encoder: np.ndarray, decoder: np.ndarray, cross: np.ndarray) -> Rollout:
    """Multiply the layers of a trace: [layers, heads, queries, keys] each, masked cells 0.

    Across both sides a decoder row begins as its own fed token. Self-attention mixes the rows before it in, then
    cross-attention mixes the memory in, which stands for source tokens by the encoder's rollout. Raises ValueError when
    decoder and cross differ in layers or rows.
    """
    if decoder.shape[0] != cross.shape[0] or decoder.shape[2] != cross.shape[2]:
        raise ValueError(f"decoder {decoder.shape} and cross {cross.shape} must have the same layers and rows")
    means = [np.asarray(maps, dtype=np.float64).mean(axis=1) for maps in (encoder, decoder, cross)]
    own = [_chain(mean) for mean in means[:2]]
    memory = own[0][-1]
    source, target = memory.shape[0], decoder.shape[2]
    shares = np.hstack([np.zeros((target, source)), np.eye(target)])
    across = []
    for reads_prefix, reads_memory in zip(means[1], means[2], strict=True):
        shares = (shares + reads_prefix @ shares) / 2
        shares = (shares + np.hstack([reads_memory @ memory, np.zeros((target, target))])) / 2
        across.append(shares)
    return Rollout(*own, np.stack(across))


def _chain(layers: np.ndarray) -> np.ndarray:
    """[layers, tokens, tokens] -> the products of all layers up to each."""
    shares, rolled = np.eye(layers.shape[-1]), []
    for layer in layers:
        shares = (shares + layer @ shares) / 2
        rolled.append(shares)
    return np.stack(rolled)
