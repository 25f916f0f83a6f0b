"""Sentences on a given translation beside the model's own, computed from both teacher-forced passes."""

import numpy as np

from headlight.plots.text import LEAST_SHOWN, chance_words, counted, quoted, quoted_at, scientific, signed
from transformer.interpret.trace import Trace


def describe_own(own: Trace, model: Trace) -> str:
    """Log P of both, in all and a token, and how many times as probable one of them is to the model."""
    if own.next_ids == model.next_ids:
        return f"This is the model's own translation, token for token: {_sums(own)}."
    given, found = own.log_probability, model.log_probability
    sums = f"Your translation has {_sums(own)}; the model's has {_sums(model)}"
    if abs(given - found) < LEAST_SHOWN:
        return f"{sums}. To the model both are equally probable."
    if given < found:
        return f"{sums}. To the model its own is {_times(found - given)} times as probable."
    return f"{sums}. To the model yours is {_times(given - found)} times as probable: its search did not find it."


def describe_where(own: Trace) -> str:
    """At how many tokens the model would have gone another way, and the least probable of these."""
    other = np.flatnonzero(~own.is_greedy)
    if not len(other):
        return "Each token is the model's first candidate."
    values = own.log_probabilities
    most = int(other[values[other].argmin()])
    best = own.runner_up(most)
    first, chance = own.candidate_tokens[most][best], float(own.candidate_probabilities[most][best])
    which = "this is" if len(other) == 1 else "the least probable of these is"
    return (
        f"The model would have written another token at {len(other)} of {counted(len(own.scored_steps), 'token')}; "
        f"{which} {quoted_at(own.next_tokens, most, 'output token')} (log P "
        f"{signed(values[most], 2)}, rank {own.next_ranks[most]:,}), where its first candidate is {quoted(first)} "
        f"({chance_words(chance)})."
    )


def _sums(trace: Trace) -> str:
    total, mean = signed(trace.log_probability, 2), signed(trace.mean_log_probability, 2)
    return f"log P {total} over {counted(len(trace.scored_steps), 'token')}, {mean} a token"


def _times(difference: float) -> str:
    """exp of a difference of log P, as digits that can be read."""
    if difference > 700:
        return "more than 10³⁰⁰"
    ratio = float(np.exp(difference))
    if ratio < 10:
        return f"{ratio:.2f}"
    return f"{ratio:,.0f}" if ratio < 1e6 else scientific(ratio, 2)
