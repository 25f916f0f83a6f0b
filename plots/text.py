"""Sentences computed from a trace: what to look for in it, and what to try next."""

from collections.abc import Callable, Sequence

import numpy as np

from transformer.decoding.sampling import Hypothesis
from transformer.interpret.head_patterns import (
    LEAST_ROWS,
    HeadMeasures,
    Pattern,
    confidence,
    mean_maximum,
    measure_head,
    rows_with_choice,
)
from transformer.interpret.trace import AttentionMap, Trace, masked_maps

from .palette import head_name, sentence_case

# Where a head of each pattern has the largest weight of a row.
PATTERN_WORDS = {
    Pattern.PREVIOUS: "on the token before",
    Pattern.SAME: "on the row's own token, for a decoder row the one it was fed",
    Pattern.NEXT: "on the token after",
    Pattern.MIRRORED: "on the place mirrored left to right, on one line against the diagonal",
    Pattern.END: "on the end of sentence </s>",
    Pattern.BEGINNING: "on the beginning of sentence <s>",
    Pattern.PUNCTUATION: "on a punctuation mark",
    Pattern.ALIGNMENT: "where the mean of all cross-attention heads has its own",
}
NEVER_CHOSEN = ("<pad>", "<s>")  # decoding never chooses these, whatever their probability


def least_certain_step(trace: Trace) -> str:
    """Where the model hesitated most, with its second thought."""
    step = int(trace.next_probabilities.argmin())
    chosen = trace.next_tokens[step]
    token, probability = _second_thought(trace, step)
    rank = int(trace.next_ranks[step])
    place = "its first choice" if rank == 1 else f"its choice number {rank}"
    return (
        f"The model is least sure of {quoted(chosen)}: {chance_words(trace.next_probabilities[step])}, {place}; "
        f"{quoted(token)} got {chance_words(probability)}."
    )


def hardest_step(trace: Trace) -> str:
    """The step of the greatest entropy, where the model was least certain what comes, and what to try there."""
    step = int(trace.entropies.argmax())
    chosen = trace.next_tokens[step]
    other, probability = _second_thought(trace, step)
    return (
        f"Step {step + 1} of {len(trace.next_tokens)} is the least certain: as uncertain as a choice among "
        f"{np.exp(trace.entropies[step]):.1f} equally likely pieces. {quoted(chosen)} got "
        f"{chance_words(trace.next_probabilities[step])}, {quoted(other)} {chance_words(probability)}. Go there, take "
        f"{quoted(other)} instead, and see what the rest becomes."
    )


def search_sentence(
    found: Sequence[Hypothesis], greedy: Hypothesis, alpha: float, text: Callable[[list[int]], str]
) -> str:
    """What beam search gained over greedy decoding, and what to try; `text` turns ids into words."""
    best = found[0]
    likelier = f"log P {best.log_probability:.2f} against {greedy.log_probability:.2f}"
    if best.ids == greedy.ids:
        others = f", ranked above {len(found) - 1} others" if len(found) > 1 else ""
        return f"Greedy decoding finds the same translation here{others}. Try a longer sentence."
    words = f"Greedy decoding writes “{text(list(greedy.ids))}”"
    if best.log_probability > greedy.log_probability:
        return f"{words}; beam search found a likelier one: {likelier}. Step through both, and see where they part."
    if greedy.ids in {one.ids for one in found}:
        return f"{words}, which is likelier ({likelier}); the length penalty (alpha {alpha:g}) ranks it lower. Try 0."
    return f"{words}, which is likelier ({likelier}): the beam dropped it on the way. Try a wider beam."


def strongest_reading(chosen: AttentionMap) -> str:
    """The largest weight between two words of a cross-attention map, in words; "" where only special tokens remain."""
    weights = np.nan_to_num(chosen.weights).copy()
    for index, token in enumerate(chosen.keys):
        if not is_word(token):
            weights[:, index] = 0
    for index, token in enumerate(chosen.predicted or ()):
        if not is_word(token):
            weights[index] = 0
    if not weights.any():
        return ""
    row, column = np.unravel_index(weights.argmax(), weights.shape)
    name = head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads)
    return (
        f"In the {_noun(name)}, the row that predicts {quoted(chosen.predicted[row])} reads "
        f"{quoted(chosen.keys[column])} with weight {weights[row, column]:.2f}, the most of any word for a word."
    )


def describe_map(chosen: AttentionMap) -> str:
    """What most rows of a map look at, with the share; or that no single pattern holds."""
    name = sentence_case(head_name(chosen.layer, chosen.head, chosen.layers, chosen.heads))
    if len(rows_with_choice(chosen.weights)) < LEAST_ROWS:
        return f"{name}: the sentence is too short to tell a pattern."
    measured = measure_head(chosen.kind, chosen.weights, chosen.keys)
    sharp = mean_maximum(chosen.weights)
    if measured.label is not None:
        return f"{name}: {pattern_words(measured, measured.label)}; that weight is {sharp:.2f} on average."
    return (
        f"{name} follows no single pattern here: a row's largest weight is {sharp:.2f} on average "
        f"(1 would be a single token), its weight spread as over {np.exp(measured.entropy):.1f} equally read tokens."
    )


def sharpest_head(trace: Trace, kind: str) -> tuple[int, int, float]:
    """The head of the greatest confidence, end of sentence left out: (layer, head, that mean), counted from 0."""
    maps = masked_maps(trace, kind)
    keys = trace.fed_tokens if kind == "decoder" else trace.source_tokens
    sharp = np.array([[confidence(weights, keys) for weights in layer] for layer in maps])  # layers heads
    layer, head = np.unravel_index(sharp.argmax(), sharp.shape)
    return int(layer), int(head), float(sharp[layer, head])


def pattern_words(head: HeadMeasures, pattern: Pattern) -> str:
    """How many rows follow a pattern: "in 92 % of its rows (11 of 12) the largest weight is on the token before"."""
    count = head.counts[pattern]
    share = f"{percent(head.shares[pattern])} of its rows ({count.rows} of {count.eligible})"
    return f"in {share} the largest weight is {PATTERN_WORDS[pattern]}"


def chance_words(probability: float) -> str:
    """A probability in percent with one decimal, small ones with one digit; never rounded to all or to nothing."""
    if probability > 0.999:
        return "> 99.9 %"
    if probability < 1e-6:
        return "< 0.0001 %"
    return f"{probability * 100:.{1 if probability >= 0.001 else -int(np.floor(np.log10(probability))) - 2}f} %"


def percent(share: float) -> str:
    """A share in whole percent; "under 1 %" and "over 99 %" where rounding would claim too much."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{share * 100:.0f} %"


def quoted(token: str) -> str:
    """A token between quotation marks, its word boundary as written by the tokenizer."""
    return f"“{token}”"


def is_word(token: str) -> bool:
    """True for a token that carries letters or digits, unlike punctuation and special tokens."""
    return any(character.isalnum() for character in token) and not (token.startswith("<") and token.endswith(">"))


def _second_thought(trace: Trace, step: int) -> tuple[str, float]:
    """The most probable candidate that was not taken and could have been."""
    return next(
        (token, float(probability))
        for token, probability in zip(trace.candidate_tokens[step], trace.candidate_probabilities[step], strict=True)
        if token != trace.next_tokens[step] and token not in NEVER_CHOSEN
    )


def _noun(name: str) -> str:
    return name if name.startswith("average") else f"map of {name}"
