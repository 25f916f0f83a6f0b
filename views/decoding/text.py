"""Sentences on a decoding: its least certain step, one step in words, and what beam search gained."""

from collections.abc import Callable, Sequence

import numpy as np

from plots.text import chance_words, head_name, quoted, sentence_case
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.trace import AttentionMap, Trace

NEVER_CHOSEN = ("<pad>", "<s>")  # decoding never chooses these, whatever their probability


def hardest_step(trace: Trace) -> str:
    """The step of the greatest entropy, and what to try there."""
    step = int(trace.entropies.argmax())
    other, probability = runner_up(trace, step)
    return (
        f"Step {step + 1} of {len(trace.next_tokens)} is the least certain: perplexity "
        f"{np.exp(trace.entropies[step]):.1f}. {quoted(trace.next_tokens[step])} got "
        f"{chance_words(trace.next_probabilities[step])}, {quoted(other)} {chance_words(probability)}. Go there, force "
        f"{quoted(other)} instead, and see how the rest changes."
    )


def step_sentence(trace: Trace, step: int, cross: AttentionMap, decoder: AttentionMap, forced: bool = False) -> str:
    """One step in words: input token, next token with its probability, and what the chosen maps attend to most."""
    chosen = quoted(trace.next_tokens[step])
    probability, rank = chance_words(trace.next_probabilities[step]), int(trace.next_ranks[step])
    place = "the most probable token" if rank == 1 else f"rank {rank}"
    name = head_name(cross.layer, cross.head, cross.layers, cross.heads)
    return (
        f"With input {quoted(trace.fed_tokens[step])} the model gives {chosen} {probability}: {place}; "
        f"{'you forced it' if forced else 'it is chosen'}. "
        f"{f'The {name}' if name.startswith('average') else sentence_case(name)} attends most to {_most(cross, step)} "
        f"of the source and to {_most(decoder, step)} of the prefix."
    )


def entropy_words(entropy: float) -> str:
    """An entropy in nats, and its perplexity."""
    return f"{entropy:.2f} nats, perplexity {np.exp(entropy):.1f}"


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
        return f"{words}; beam search found a likelier one: {likelier}. Step through both, and see where they differ."
    if greedy.ids in {one.ids for one in found}:
        return f"{words}, which is likelier ({likelier}); the length penalty (alpha {alpha:g}) ranks it lower. Try 0."
    return f"{words}, which is likelier ({likelier}): the beam dropped it on the way. Try a wider beam."


def runner_up(trace: Trace, step: int) -> tuple[str, float]:
    """The most probable candidate that was not chosen and could have been."""
    return next(
        (token, float(probability))
        for token, probability in zip(trace.candidate_tokens[step], trace.candidate_probabilities[step], strict=True)
        if token != trace.next_tokens[step] and token not in NEVER_CHOSEN
    )


def _most(chosen: AttentionMap, row: int) -> str:
    weights = np.nan_to_num(chosen.weights[row])
    key = int(weights.argmax())
    return f"{quoted(chosen.keys[key])} ({weights[key]:.2f})"
