"""Sentences on what source and prefix contribute, computed from the shares that are shown."""

import numpy as np

from headlight.plots.contributions import SourceShares
from headlight.plots.text import apart, quoted_at
from transformer.interpret.trace import Trace


def describe_shares(shares: SourceShares) -> str:
    """The source's mean share by both methods and over sentence pairs, and the tokens that have least and most."""
    means = f"By ALTI+ the source contributes {shares.mean_alti:.2f} on average, by rollout {shares.mean_rollout:.2f}"
    usual = "" if shares.usual is None else f"; over sentence pairs of this checkpoint, ALTI+ has {shares.usual:.2f}"
    least, most = shares.least, shares.most
    low, high = apart(float(shares.alti[least]), float(shares.alti[most]))
    if low == high:
        return f"{means}{usual}."
    return (
        f"{means}{usual}. The lowest share is that of {quoted_at(shares.tokens, least, 'output token')} ({low}), the "
        f"highest that of {quoted_at(shares.tokens, most, 'output token')} ({high})."
    )


def describe_token(trace: Trace, step: int, row: np.ndarray) -> str:
    """Which source token, and which of the prefix, contributes most to one output token; row: [source + target]."""
    count = len(trace.source_tokens)
    source, prefix = row[:count], row[count : count + step + 1]
    of_source, of_prefix = int(source.argmax()), int(prefix.argmax())
    return (
        f"To {quoted_at(trace.next_tokens, step, 'output token')} the source token that contributes most is "
        f"{quoted_at(trace.source_tokens, of_source)} ({source[of_source]:.2f}), the prefix token "
        f"{quoted_at(trace.fed_tokens[: step + 1], of_prefix)} ({prefix[of_prefix]:.2f})."
    )
