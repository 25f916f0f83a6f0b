"""Sentences on a decoding: its step of the highest entropy, one step in words, and what beam search gained."""

from collections.abc import Callable

import numpy as np

from headlight.plots.text import apart, chance_words, head_name, quoted, sentence_case
from transformer.decoding.beam import Beam, Fate, Outcome, SearchRecord
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.trace import SPECIAL_TOKENS, AttentionMap, Trace


def hardest_step(trace: Trace) -> str:
    """The step of the highest entropy, and what to try there; that of the lowest probability may be another."""
    step = max(trace.scored_steps, key=lambda step: trace.entropies[step])
    other, probability = runner_up(trace, step)
    text = (
        f"Step {step + 1} of {len(trace.next_tokens)} has the highest entropy: perplexity "
        f"{np.exp(trace.entropies[step]):.1f}. {quoted(trace.next_tokens[step])} got "
        f"{chance_words(trace.next_probabilities[step])}, {quoted(other)} {chance_words(probability)}."
    )
    if not may_take(trace, step):
        return text
    return f"{text} Go there, force {quoted(other)} instead, and see how the rest changes."


def step_sentence(trace: Trace, step: int, cross: AttentionMap, decoder: AttentionMap, forced: bool = False) -> str:
    """One step in words: input token, next token with its probability, and what the chosen maps attend to most."""
    chosen = quoted(trace.next_tokens[step])
    probability, rank = chance_words(trace.next_probabilities[step]), int(trace.next_ranks[step])
    place = "the most probable token" if rank == 1 else f"rank {rank}"
    name = head_name(cross.layer, cross.head, cross.layers, cross.heads)
    taken = "you forced it" if forced else "it is chosen"
    if step not in trace.scored_steps and not forced:
        taken = "it is not chosen but given, as this model's translations begin with it"
    return (
        f"With input {quoted(trace.fed_tokens[step])} the model gives {chosen} {probability}: {place}; "
        f"{taken}. "
        f"{f'The {name}' if name.startswith('average') else sentence_case(name)} attends most to {_most(cross, step)} "
        f"of the source and to {_most(decoder, step)} of the prefix."
    )


def given_words(trace: Trace) -> str:
    """What the translation begins with without being chosen: a language, in a model that writes several."""
    first = trace.next_tokens[0]
    why = "as the first token of every translation" if first in SPECIAL_TOKENS else "as the language to be written"
    return f"{quoted(first)} is not the model's choice: it is given, {why}, and no score counts it."


def entropy_words(entropy: float) -> str:
    """An entropy in nats, and its perplexity."""
    return f"{entropy + 0.0:.2f} nats, perplexity {np.exp(entropy):.1f}"


def search_sentence(record: SearchRecord, greedy: Hypothesis, beam: Beam, text: Callable[[list[int]], str]) -> str:
    """What beam search gained over greedy decoding, or what became of greedy's path; `text` turns ids into words."""
    best, shown = record.ended[0], record.ended[: beam.size]
    if best.ids == greedy.ids:
        others = len(shown) - 1
        ranked = f", ranked above {others} {'other' if others == 1 else 'others'}" if others else ""
        return f"Greedy decoding finds the same translation here{ranked}. Try a longer sentence."
    words = f"Greedy decoding writes “{text(list(greedy.ids))}”"
    found, own = apart(best.log_probability, greedy.log_probability)
    if best.log_probability > greedy.log_probability:
        likelier = f"log P {found} against {own}"
        return f"{words}; beam search found a likelier one: {likelier}. Step through both, and see where they differ."
    fate = _fate_words(record.fate(greedy.ids), greedy, beam)
    if best.log_probability == greedy.log_probability:
        return f"{words}, which is as likely (log P {own}). {fate}"
    return f"{words}, which is likelier (log P {own} against {found}). {fate}"


def _fate_words(fate: Fate, greedy: Hypothesis, beam: Beam) -> str:
    """What became of greedy's translation in the search."""
    if fate.outcome == Outcome.ENDED and fate.place <= beam.size:
        return f"The length penalty (alpha {beam.alpha:g}) ranks it number {fate.place}. Try alpha 0."
    if fate.outcome == Outcome.ENDED:
        return f"It ended in the search as well, at rank {fate.place}, below the {beam.size} shown. Try a wider beam."
    if fate.outcome == Outcome.FELL_OUT:
        return (
            f"It fell out of the beam at step {fate.place} of {len(greedy.ids)}, where the beam's {beam.size} best "
            "continuations were all likelier. Try a wider beam."
        )
    return (
        f"It was still in the beam, unfinished, when the search stopped: with alpha {beam.alpha:g} it could no longer "
        "reach the best score. Try alpha 0."
    )


def runner_up(trace: Trace, step: int) -> tuple[str, float]:
    """The most probable candidate that was not chosen and could have been, and its probability."""
    place = trace.runner_up(step)
    return trace.candidate_tokens[step][place], float(trace.candidate_probabilities[step][place])


def may_take(trace: Trace, step: int) -> bool:
    """Whether another token can be taken at a step: a translation that met the length limit has no room after it."""
    return trace.finished or step + 1 < len(trace.next_tokens)


def _most(chosen: AttentionMap, row: int) -> str:
    weights = np.nan_to_num(chosen.weights[row])
    key = int(weights.argmax())
    return f"{quoted(chosen.keys[key])} ({weights[key]:.2f})"
