"""Sentences of made-up tokens whose attention is random: what every explorer is given alike."""

import numpy as np

from transformer.interpret.trace import Trace

LAYERS, HEADS = 6, 8


def random_trace(tokens: int, number: int) -> Trace:
    """Sentence `number`, `tokens` on either side: softmax of normal scores, 6 x 8 heads, the decoder's causal.

    Every token names the sentence, so that a page shows which one it has drawn.
    """
    random = np.random.default_rng(number)
    shape = (LAYERS, HEADS, tokens, tokens)
    scores = [2 * random.standard_normal(shape, dtype=np.float32) for _ in range(3)]
    scores[1] = np.where(np.tri(tokens, dtype=bool), scores[1], -np.inf)
    source, fed, following = (tuple(f"{side}{number}.{place}" for place in range(tokens)) for side in "sft")
    ids, row, nothing = tuple(range(number, number + tokens)), np.zeros(tokens), np.zeros((tokens, 0))
    return Trace(
        source_text="", target_text="", origin="target", finished=True, source_pieces=(),
        source_tokens=source, source_ids=ids, fed_tokens=fed, fed_ids=ids, next_tokens=following, next_ids=ids,
        encoder=_softmax(scores[0]), decoder=_softmax(scores[1]), cross=_softmax(scores[2]),
        next_probabilities=row, next_ranks=row, entropies=row,
        candidate_ids=nothing, candidate_probabilities=nothing, candidate_tokens=((),) * tokens,
    )  # fmt: skip


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
