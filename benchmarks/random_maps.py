"""Sentences of made-up tokens whose attention is random: what every explorer is given alike."""

import numpy as np

from transformer.interpret.trace import Trace

LAYERS, HEADS = 6, 8


def random_trace(tokens: int, number: int, layers: int = LAYERS, heads: int = HEADS) -> Trace:
    """Sentence `number`, `tokens` on either side: softmax of normal scores, 6 x 8 heads, the decoder's causal.

    Every token names the sentence, so that a page shows which one it has drawn.
    """
    random = np.random.default_rng(number)
    shape = (layers, heads, tokens, tokens)
    scores = [2 * random.standard_normal(shape, dtype=np.float32) for _ in range(3)]
    scores[1] = np.where(np.tri(tokens, dtype=bool), scores[1], -np.inf)
    source, fed, following = (tuple(f"{side}{number}.{place}" for place in range(tokens)) for side in "sft")
    texts = {"source_text": "", "target_text": "", "origin": "target", "finished": True, "source_pieces": ()}
    tokens_of_sides = {"source_tokens": source, "decoder_input_tokens": fed, "target_tokens": following}
    maps = dict(zip(("encoder", "decoder", "cross"), map(_softmax, scores), strict=True))
    numbers = dict.fromkeys(("target_probabilities", "target_ranks", "entropies"), np.zeros(tokens))
    numbers |= dict.fromkeys(("candidate_ids", "candidate_probabilities"), np.zeros((tokens, 0)))
    numbers |= dict.fromkeys(("source_ids", "decoder_input_ids", "target_ids"), tuple(range(number, number + tokens)))
    return Trace(**texts, **tokens_of_sides, **maps, **numbers, candidate_tokens=((),) * tokens)


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
