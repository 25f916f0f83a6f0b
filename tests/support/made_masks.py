"""A padded batch of two sentences and heads of it, numbers chosen by a test that spells out what is said of them."""

import numpy as np

from transformer.arrays import softmax
from transformer.interpret.mask_ablation import CapturedAttention, DisabledMask, MaskedHead, MaskedPass
from transformer.model.names import AttentionKind

# The first sentence is 2 source and 2 target tokens, the second 3 and 4: a batch 3 and 4 wide.
SOURCE = ("▁no", "</s>", "<pad>"), ("▁the", "▁cat", "</s>")
FED = ("<s>", "▁nein", "<pad>", "<pad>"), ("<s>", "▁die", "▁Katze", ".")
NEXT = ("▁nein", "</s>", "<pad>", "<pad>"), ("▁die", "▁Katze", ".", "</s>")
SOURCE_MASK = np.array([[True, True, False], [True, True, True]])
PADDING_MASK = np.array([[True, True, False, False], [True, True, True, True]])
CAUSAL = np.tri(4, dtype=bool)


def _captured(unmasked: np.ndarray, weights: np.ndarray | None = None) -> CapturedAttention:
    """2 layers of 3 heads; equal weights where none are given."""
    shape = (2, 2, 3, *unmasked.shape[1:])
    equal = np.broadcast_to(unmasked / unmasked.sum(axis=-1, keepdims=True), (2, 3, *unmasked.shape)).swapaxes(1, 2)
    return CapturedAttention(unmasked, np.zeros(shape), equal if weights is None else weights, np.zeros(shape[:3]))


def made_pass(disabled: str = "nothing", probabilities=None, **changes) -> MaskedPass:
    """A pass over both sentences without the mask that is `disabled`."""
    padding = np.ones_like(SOURCE_MASK) if disabled == "padding" else SOURCE_MASK
    causal = np.ones_like(CAUSAL) if disabled == "causal" else CAUSAL
    target = np.ones_like(PADDING_MASK) if disabled == "padding" else PADDING_MASK
    fields = {
        "source_tokens": SOURCE,
        "fed_tokens": FED,
        "next_tokens": NEXT,
        "source_lengths": (2, 3),
        "target_lengths": (2, 4),
        "source_mask": SOURCE_MASK[:, None, None],
        "target_padding_mask": PADDING_MASK[:, None, None],
        "causal_mask": CAUSAL,
        "target_mask": (PADDING_MASK[:, None] & CAUSAL)[:, None],
        "disabled": DisabledMask(disabled),
        "encoder": _captured(np.repeat(padding[:, None], 3, axis=1)),
        "decoder": _captured(target[:, None] & causal),
        "cross": _captured(np.repeat(padding[:, None], 4, axis=1)),
        "next_probabilities": np.full((2, 4), 0.5) if probabilities is None else np.array(probabilities),
        "best_tokens": NEXT,
        "best_probabilities": np.full((2, 4), 0.5),
    }
    return MaskedPass(**{**fields, **changes})


def made_head(kind: str = "decoder", sentence: int = 0, layer: int = 1, head: int = 2, scores=None) -> MaskedHead:
    """A head of the pass with every mask; `scores` are [queries, keys]."""
    run = made_pass()
    unmasked = run.attention(kind).unmasked[sentence]
    scores = np.zeros(unmasked.shape) if scores is None else np.array(scores)
    own = {
        "encoder": (SOURCE[sentence], None, SOURCE[sentence]),
        "decoder": (FED[sentence], NEXT[sentence], FED[sentence]),
        "cross": (FED[sentence], NEXT[sentence], SOURCE[sentence]),
    }
    queries = run.lengths(kind)[sentence]
    keys = (run.target_lengths if kind == "decoder" else run.source_lengths)[sentence]
    weights = softmax(scores, unmasked)
    return MaskedHead(
        *(AttentionKind(kind), layer, head, 2, 3, weights, *own[kind]),
        *(sentence, scores, unmasked, queries, keys, 5.96e-8),
    )
