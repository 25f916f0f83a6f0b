"""One head for one sentence of a batch: its scores, its mask, its weights, and what leaks without the mask. NumPy only.

"Closed" is a cell that the mask of a kind closes: later tokens for the decoder, padding for every kind.
"""

from dataclasses import dataclass

import numpy as np

from .masking import MaskedPass


@dataclass(frozen=True, eq=False)
class MaskedHead:
    """Scores before the mask, open cells and weights after softmax, each [queries, keys], padding included.

    Layer, head and sentence count from 0. The first `real_queries` rows and `real_keys` columns are tokens, the rest is
    padding. `fed` and `predicted` name the rows, as in an `AttentionMap`; `predicted` is None for the encoder.
    """

    kind: str
    layer: int
    head: int
    layers: int
    heads: int
    sentence: int
    scores: np.ndarray
    open: np.ndarray
    weights: np.ndarray
    keys: tuple[str, ...]
    fed: tuple[str, ...]
    predicted: tuple[str, ...] | None
    real_queries: int
    real_keys: int
    kernel_difference: float

    def queries(self, row_label: str) -> tuple[str, ...]:
        """The rows' labels: the token "fed", or the one "predicted" where there is one."""
        return self.fed if row_label == "fed" or self.predicted is None else self.predicted

    @property
    def masked_scores(self) -> np.ndarray:
        """The scores, closed cells at minus infinity: [queries, keys]."""
        return np.where(self.open, self.scores, -np.inf)


def masked_head(run: MaskedPass, kind: str, sentence: int, layer: int, head: int) -> MaskedHead:
    """Cut one head of one sentence out of a pass; raises ValueError for what the pass has not."""
    watched = run.attention(kind)
    layers, batch, heads = watched.differences.shape
    for name, value, count in (("sentence", sentence, batch), ("layer", layer, layers), ("head", head, heads)):
        if not 0 <= value < count:
            raise ValueError(f"{name} must be in 0 to {count - 1}, got {value}")
    source = run.source_tokens[sentence], run.source_lengths[sentence]
    target = run.fed_tokens[sentence], run.target_lengths[sentence]
    queries, real_queries = source if kind == "encoder" else target
    keys, real_keys = target if kind == "decoder" else source
    return MaskedHead(
        kind, layer, head, layers, heads, sentence,
        scores=watched.scores[layer, sentence, head],
        open=watched.open[sentence],
        weights=watched.weights[layer, sentence, head],
        keys=keys,
        fed=queries,
        predicted=None if kind == "encoder" else run.next_tokens[sentence],
        real_queries=real_queries,
        real_keys=real_keys,
        kernel_difference=float(watched.differences[layer, sentence, head]),
    )  # fmt: skip


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp(score) over the sum of exp of its row, in float64; a score of minus infinity gets exactly 0."""
    scores = np.asarray(scores, dtype=np.float64)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def softmax_difference(head: MaskedHead) -> float:
    """The largest difference between softmax of the masked scores, in float64, and the weights of the pass."""
    return float(np.abs(softmax(head.masked_scores) - head.weights).max())


def share_of_closed(head: MaskedHead) -> np.ndarray:
    """What softmax of the same scores would give to closed cells, were this head's mask lifted: [real queries]."""
    rows = slice(0, head.real_queries)
    return np.where(head.open[rows], 0.0, softmax(head.scores[rows])).sum(axis=-1)


def leaked_weights(masked: MaskedPass, lifted: MaskedPass, kind: str, sentence: int) -> np.ndarray:
    """The weight that lands in closed cells in a pass without the mask: [layers, heads, real queries].

    Raises ValueError when the passes are not of batches of the same size.
    """
    closed, weights = ~masked.attention(kind).open, lifted.attention(kind).weights
    if closed.shape[-2:] != weights.shape[-2:]:
        raise ValueError(f"the passes differ in size: {closed.shape[-2:]} and {weights.shape[-2:]}")
    rows = (masked.source_lengths if kind == "encoder" else masked.target_lengths)[sentence]
    return np.where(closed[sentence], weights[:, sentence], 0.0).sum(axis=-1)[..., :rows]


def rows_that_may_leak(masked: MaskedPass, lifted: MaskedPass, kind: str, sentence: int) -> np.ndarray:
    """Real rows of which the lifted mask opens a cell: [real queries], True or False.

    The decoder's last row has no later token, and padding stays closed to it when the causal mask is lifted.
    """
    rows = (masked.source_lengths if kind == "encoder" else masked.target_lengths)[sentence]
    opened = lifted.attention(kind).open[sentence] & ~masked.attention(kind).open[sentence]
    return opened[:rows].any(axis=-1)


def padding_only_concerns_padding(run: MaskedPass, sentence: int) -> bool:
    """Whether the real rows of the target's mask are those of the causal mask alone: padding closes nothing there."""
    rows = run.target_lengths[sentence]
    return bool((run.target_mask[sentence, 0, :rows] == run.causal_mask[:rows]).all())
