"""Sentences on a translation and on one of its attention maps: what to look for in them."""

import numpy as np

from headlight.plots.text import (
    chance_words,
    counted,
    head_name,
    pattern_words,
    percent,
    quoted,
    quoted_at,
    sentence_case,
    signed,
)
from headlight.views.decoding.text import runner_up
from transformer.decoding.output_statistics import MANY_TOKENS, OutputStatistics, split_words
from transformer.interpret.head_patterns import (
    LEAST_ROWS,
    is_word,
    mean_maximum,
    measure_head,
    rows_with_choice,
)
from transformer.interpret.trace import AttentionMap, Trace

OUT_OF_DEPTH = "This sentence may be out of the model's depth"
_RARE = 0.05  # of the corpus's sentences


def least_probable_token(trace: Trace) -> str:
    """The token of the lowest probability, with the best one that was not chosen."""
    step = int(trace.log_probabilities.argmin())
    other, probability = runner_up(trace, step)
    rank = int(trace.next_ranks[step])
    return (
        f"Lowest-probability token: {quoted_at(trace.next_tokens, step)}, "
        f"{chance_words(trace.next_probabilities[step])}, {'top-1' if rank == 1 else f'rank {rank}'}; {quoted(other)} "
        f"got {chance_words(probability)}."
    )


def depth_words(trace: Trace, usual: OutputStatistics | None, drawn: bool = False) -> str:
    """What tells that a sentence is too much for the model: it is surer, or knows more words, in nearly all others.

    "" where it does not, or where nothing was measured to compare with. How sure it is of tokens that were `drawn` says
    nothing of the sentence.
    """
    if usual is None:
        return ""
    mean = trace.mean_log_probability
    split, words = split_words(trace.source_tokens[:-1])
    share = split / max(1, words)
    findings = []
    lower = usual.less_sure(mean)
    if lower <= _RARE and not drawn:
        findings.append(
            f"the mean log-probability of its output tokens is {signed(mean, 2)}, and lower in "
            f"{percent(lower) if lower else 'none'} of them"
        )
    if split and usual.less_split(share) >= 1 - _RARE:
        usually = percent(usual.typical_split())
        findings.append(
            f"{split} of its {counted(words, 'word')} {'is' if split == 1 else 'are'} split into {MANY_TOKENS} tokens "
            f"or more ({percent(share)}; there {usually} on average)"
        )
    if not findings:
        return ""
    return (
        f"{OUT_OF_DEPTH}. Beside the greedy translations of "
        f"{counted(usual.sentences, 'sentence')} ({usual.pairs}): {'; '.join(findings)}. Read the maps with that in "
        "mind."
    )


def strongest_reading(chosen: AttentionMap) -> str:
    """The largest weight between two words of a cross-attention map; "" where only special tokens remain."""
    weights = np.nan_to_num(chosen.weights).copy()
    weights[:, [not is_word(token) for token in chosen.keys]] = 0
    if chosen.predicted is not None:
        weights[[not is_word(token) for token in chosen.predicted]] = 0
    if not weights.any():
        return ""
    row, column = np.unravel_index(weights.argmax(), weights.shape)
    name = head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads)
    return (
        f"In the {name if name.startswith('average') else f'map of {name}'}, the row that predicts "
        f"{quoted_at(chosen.predicted, int(row))} attends to {quoted_at(chosen.keys, int(column))} with weight "
        f"{weights[row, column]:.2f}, the largest weight between two words."
    )


def describe_map(chosen: AttentionMap) -> str:
    """What most rows of a map attend to, with the share; or that no single pattern holds."""
    name = sentence_case(head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads))
    if rows_with_choice(chosen.weights).sum() < LEAST_ROWS:
        return f"{name}: the sentence is too short to find a pattern."
    measured = measure_head(chosen.kind, chosen.weights, chosen.keys)
    sharp = mean_maximum(chosen.weights)
    if measured.label is not None:
        return f"{name}: {pattern_words(measured, measured.label)}; a row's largest weight is {sharp:.2f} on average."
    return (
        f"{name} follows no single pattern here: a row's largest weight is {sharp:.2f} on average (1 would be a single "
        f"token), its entropy that of {np.exp(measured.entropy):.1f} equal weights."
    )
