"""A padded batch of sentences run through the model with its masks, or with one of them lifted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..arrays import read_only
from ..data.batching import pad
from ..data.tokenizer import Tokenizer
from ..model.attention import attention_scores, attention_weights, causal_mask, padding_mask, target_mask
from ..model.transformer import Transformer
from .hooks import KINDS, watched
from .trace import Trace

LIFTS = ("nothing", "causal", "padding")


@dataclass(frozen=True, eq=False)
class WatchedAttention:
    """All attention of a kind in one pass over a batch, as its core saw it.

    open: [batch, queries, keys], True where a query might attend; scores before the mask and weights after softmax:
    [layers, batch, heads, queries, keys]; differences: [layers, batch, heads], the largest between weights times value
    and what the fused kernel gave back, which never shows its weights.
    """

    open: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    differences: np.ndarray


@dataclass(frozen=True, eq=False)
class MaskedPass:
    """One teacher-forced pass over a padded batch. Arrays are read-only, floats float32; nothing here is changed later.

    The tokens of each sentence are as long as the batch is wide, padding included; of each, the first
    `source_lengths[sentence]` and `target_lengths[sentence]` are real. The four masks are those of the batch, whatever
    was lifted: source_mask [batch, 1, 1, source], target_padding_mask [batch, 1, 1, target], causal_mask [target,
    target], target_mask [batch, 1, target, target]. What the pass ran with stands in `open` of each kind.
    next_probabilities: [batch, target], what the model gave to `next_tokens`; best_tokens: its first choices, with
    best_probabilities. Rows of padding have numbers too, and they mean nothing.
    """

    lifted: str
    source_tokens: tuple[tuple[str, ...], ...]
    fed_tokens: tuple[tuple[str, ...], ...]
    next_tokens: tuple[tuple[str, ...], ...]
    source_lengths: tuple[int, ...]
    target_lengths: tuple[int, ...]
    source_mask: np.ndarray
    target_padding_mask: np.ndarray
    causal_mask: np.ndarray
    target_mask: np.ndarray
    encoder: WatchedAttention
    decoder: WatchedAttention
    cross: WatchedAttention
    next_probabilities: np.ndarray
    best_tokens: tuple[tuple[str, ...], ...]
    best_probabilities: np.ndarray

    def attention(self, kind: str) -> WatchedAttention:
        """The attention of a kind: "encoder", "decoder" or "cross"; raises ValueError for another."""
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        return getattr(self, kind)


@torch.inference_mode()
def run_masked(
    model: Transformer, tokenizer: Tokenizer, sentences: Sequence[Trace], lifted: str = "nothing"
) -> MaskedPass:
    """Feed the sentences and their targets side by side, padded on the right, with every attention watched.

    lifted: "causal" lets every decoder row read later tokens in every layer, "padding" lets every attention read
    <pad>; the other mask stays. Both are arguments of the model's `encode` and `decode`: the model itself is not
    touched. Raises ValueError for an unknown `lifted`, an empty batch, or a model in training mode.
    """
    if lifted not in LIFTS or not sentences:
        raise ValueError(f"run_masked expects sentences and lifted in {LIFTS}, got {len(sentences)} and {lifted!r}")
    pad_id = model.config.pad_id
    source = pad([sentence.source_ids for sentence in sentences], pad_id, model.device)
    fed = pad([sentence.fed_ids for sentence in sentences], pad_id, model.device)
    following = pad([sentence.next_ids for sentence in sentences], pad_id, model.device)
    seen_source, seen_target = _masks(source, fed, pad_id, lifted)
    with (
        watched(model, "encoder", _look) as encoder,
        watched(model, "decoder", _look) as decoder,
        watched(model, "cross", _look) as cross,
    ):
        memory = model.encode(source, seen_source)
        logits = model.generator(model.decode(fed, memory, seen_target, seen_source))  # batch target vocab
    probabilities = logits.softmax(dim=-1)
    best = probabilities.max(dim=-1)
    return MaskedPass(
        lifted=lifted,
        source_tokens=_texts(source, tokenizer),
        fed_tokens=_texts(fed, tokenizer),
        next_tokens=_texts(following, tokenizer),
        source_lengths=tuple(len(sentence.source_ids) for sentence in sentences),
        target_lengths=tuple(len(sentence.fed_ids) for sentence in sentences),
        source_mask=_frozen(padding_mask(source, pad_id)),
        target_padding_mask=_frozen(padding_mask(fed, pad_id)),
        causal_mask=_frozen(causal_mask(fed.shape[1], fed.device)),
        target_mask=_frozen(target_mask(fed, pad_id)),
        encoder=_together(encoder),
        decoder=_together(decoder),
        cross=_together(cross),
        next_probabilities=_frozen(probabilities.gather(-1, following[..., None])[..., 0]),
        best_tokens=_texts(best.indices, tokenizer),
        best_probabilities=_frozen(best.values),
    )


def _masks(source: Tensor, fed: Tensor, pad_id: int, lifted: str) -> tuple[Tensor | None, Tensor]:
    """The masks to run with: for keys of the source (None: all open), and for keys of the target."""
    if lifted == "causal":
        return padding_mask(source, pad_id), padding_mask(fed, pad_id)
    if lifted == "padding":
        return None, causal_mask(fed.shape[1], fed.device)
    return padding_mask(source, pad_id), target_mask(fed, pad_id)


def _look(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, output: Tensor) -> tuple[Tensor, ...]:
    """What one layer's core did: open cells [batch, queries, keys], scores, weights, and how well they explain it."""
    scores = attention_scores(query, key)  # batch heads queries keys
    weights = attention_weights(query, key, mask)
    open_cells = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
    return open_cells[:, 0], scores, weights, (weights @ value - output).abs().amax(dim=(-2, -1))


def _together(layers: list[tuple[Tensor, ...]]) -> WatchedAttention:
    open_cells, scores, weights, differences = zip(*layers, strict=True)
    return WatchedAttention(
        _frozen(open_cells[0]), *(_frozen(torch.stack(parts)) for parts in (scores, weights, differences))
    )


def _texts(ids: Tensor, tokenizer: Tokenizer) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(tokenizer.piece_text, row)) for row in ids.tolist())


def _frozen(tensor: Tensor) -> np.ndarray:
    return read_only(tensor.cpu().numpy())


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
