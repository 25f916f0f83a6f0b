"""A translation's tokens and one head's weights between them, as the plain values that the lines are drawn from."""

import numpy as np

from headlight.plots.text import chance_words, head_name
from transformer.interpret.trace import SPECIAL_TOKENS, AttentionMap, Trace

APART = 230  # pixels between the rows


def lines_payload(trace: Trace, chosen: AttentionMap, apart: int = APART) -> dict:
    """What `browser.token_lines` shows of a trace and a cross-attention map of it, ready for JSON.

    weights: [outputs, source], numbers with the digits of float32; rows are named by their output tokens. `apart` is
    the distance between the rows in pixels.
    """
    probabilities = _digits(trace.next_probabilities)
    return {
        "name": head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads),
        "source": list(trace.source_tokens),
        "outputs": list(trace.next_tokens),
        "special": list(SPECIAL_TOKENS),
        "probabilities": probabilities,
        "chances": [chance_words(each) for each in probabilities],
        "short_chances": [short_chance(each) for each in probabilities],
        "ranks": [int(rank) for rank in trace.next_ranks],
        "weights": [_digits(row) for row in chosen.weights],
        "apart": apart,
    }


def short_chance(probability: float) -> str:
    """A probability in whole percent, never rounded to all or to nothing: "39 %", "> 99 %", "< 1 %"."""
    if probability >= 0.995:
        return "> 99 %"
    return f"{probability * 100:.0f} %" if probability >= 0.01 else "< 1 %"


def _digits(values: np.ndarray) -> list[float]:
    """float32 numbers with as few digits as tell them from all others."""
    return [float(str(value)) for value in np.asarray(values, dtype=np.float32)]
