"""ALTI+: how much each token contributes, through residual connections and LayerNorm (Ferrando et al. 2022a, 2022b).

What an attention block gives out is a sum of vectors, one for each token that it reads and the residual's, put through
LayerNorm with its standard deviation held at its own. A token contributes the more, the nearer its vector comes to the
whole, in the 1-norm; layers are then multiplied as in rollout. Feed-forwards are left out. Biases belong to no token,
but for the value's, which goes with its key. NumPy only, in float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import read_only
from ...config import Norm
from ...data.batching import Ids
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ..activations import Request, record
from ..attention_block import BlockParameters, Stages, block_parameters, stage_modules, stages_of
from ..attribution import transformed_values
from ..head_patterns import is_word
from ..rollout import Rollout


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
