"""What became of a translation under a change, in words: the new one, and how log P of the unchanged one moved."""

from collections.abc import Sequence

import numpy as np

from headlight.plots.text import LEAST_SHOWN, quoted_at, signed
from transformer.interpret.trace import Trace


def outcome_words(before: Trace, forced: Trace, after: Trace) -> str:
    """Whether the translation is another, and what the unchanged one lost; to follow on a condition such as "Without
    this head".

    forced: the unchanged translation teacher-forced under the change.
    """
    same = before.next_ids == after.next_ids
    outcome = (
        f"the model {'still finds the same translation, token for token' if same else 'finds another translation'}"
    )
    old, new = (each.log_probabilities for each in (before, forced))
    sums = f", from {signed(old.sum(), 2)} to {signed(new.sum(), 2)}"
    text = f"{outcome}. With the same tokens fed, log P of the unchanged translation"
    text += f" {moved_words(old - new, before.next_tokens, sums)}."
    if not same:
        text += f" The new translation has log P {signed(after.log_probability, 2)} under the change."
    return text


def moved_words(losses: np.ndarray, tokens: Sequence[str], sums: str = "") -> str:
    """How log P moved by the losses of its tokens: "falls by 2.23 nats, most at “▁er” (by 1.20)".

    sums: from where to where, said before the place: ", from −0.86 to −3.09".
    """
    total = float(losses.sum())
    if np.abs(losses).max() < LEAST_SHOWN:
        return f"stays as it is{sums}"
    most = int(losses.argmax() if total > 0 else losses.argmin())
    place = (
        f", most at {quoted_at(tokens, most, 'output token')} (by {abs(losses[most]):.2f})" if len(losses) > 1 else ""
    )
    return f"{'falls' if total > 0 else 'rises'} by {abs(total):.2f} nats{sums}{place}"
