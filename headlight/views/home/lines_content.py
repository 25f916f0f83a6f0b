"""Payload of the token lines, and sentences on a translation's tokens and on the map of one head."""

import numpy as np

from headlight.app.finding import Finding
from headlight.plots.names import head_name
from headlight.plots.numbers import format_probability
from headlight.plots.tokens import quoted, quoted_at
from transformer.interpret.head_patterns import strongest_word_pair, word_ranges
from transformer.interpret.trace import AttentionMap, RowLabel, Trace

LINES_APART, LETTERS = 230, 15  # pixels between the rows of tokens, and of their letters


def lines_payload(trace: Trace, shown: AttentionMap, apart: int = LINES_APART, letters: int = LETTERS) -> dict:
    """Return the payload of `token_lines` for a trace and a cross-attention map of it, ready for JSON.

    weights: [outputs, source], numbers with the digits of float32. The row below has the output tokens with their
    probabilities, and with `inputs` beside them where the map's rows are named by both; where these are named by the
    input token, it has the input tokens alone. `apart` is the distance between the rows, `letters` the size of the
    letters where they fit, in pixels.
    """
    probabilities, named_by = _digits(trace.target_probabilities), shown.row_label
    below = trace.decoder_input_tokens if named_by == RowLabel.FED else trace.target_tokens
    return {
        "name": head_name(shown.layer, shown.head, shown.layers, shown.heads),
        "source": list(trace.source_tokens),
        "outputs": list(below),
        "below": "input" if named_by == RowLabel.FED else "output",
        "inputs": list(trace.decoder_input_tokens) if named_by == RowLabel.BOTH else None,
        "source_words": [[each.start, each.stop] for each in word_ranges(trace.source_tokens)],
        "output_words": [[each.start, each.stop] for each in word_ranges(below)],
        "probabilities": probabilities,
        "chances": [format_probability(each) for each in probabilities],
        "short_chances": [short_chance(each) for each in probabilities],
        "ranks": [int(rank) for rank in trace.target_ranks],
        "weights": [_digits(row) for row in shown.weights],
        "apart": apart,
        "letters": letters,
    }


def short_chance(probability: float) -> str:
    """Return a probability in whole percent, never rounded to all or to nothing: "39 %", "> 99 %", "< 1 %"."""
    if probability >= 0.995:
        return "> 99 %"
    return f"{probability * 100:.0f} %" if probability >= 0.01 else "< 1 %"


def _digits(values: np.ndarray) -> list[float]:
    """Return float32 numbers with as few digits as tell them from all others."""
    return [float(str(value)) for value in np.asarray(values, dtype=np.float32)]


def least_probable_token(trace: Trace) -> Finding:
    """Return the chosen token of the lowest probability, and the best other candidate of its step."""
    step = trace.num_forced + int(trace.target_probabilities[trace.num_forced :].argmin())
    other = trace.runner_up(step)
    token, chance = quoted_at(trace.target_tokens, step), format_probability(trace.target_probabilities[step])
    rank = trace.target_ranks[step]
    return Finding(
        f"The model was least sure of {token}: {chance}.",
        f"{'Runner-up' if rank == 1 else f'It has rank {rank}. Most probable'}: "
        f"{quoted(trace.candidate_tokens[step][other])}, "
        f"{format_probability(trace.candidate_probabilities[step, other])}.",
    )


def strongest_reading(shown: AttentionMap) -> Finding | None:
    """Return the largest weight between two words of a cross-attention map; None where only special tokens have any."""
    rows = shown.predicted or shown.fed
    pair = strongest_word_pair(shown.weights, shown.keys, rows)
    if pair is None:
        return None
    name = head_name(shown.layer, shown.head, shown.layers, shown.heads)
    return Finding(
        f"{quoted_at(rows, pair[0])} looks at {quoted_at(shown.keys, pair[1])}: {shown.weights[pair]:.2f}.",
        f"No weight between two words is larger in this map ({name}).",
    )
