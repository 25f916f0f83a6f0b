"""What source and prefix contribute, in words, from the shares that are shown."""

import numpy as np

from headlight.plots.text import quoted_at
from transformer.interpret.rollout import SourceShares
from transformer.interpret.trace import Trace


def describe_shares(shares: SourceShares) -> str:
    """Say the source's mean share by both methods and over sentence pairs, and which tokens have least and most."""
    usual = "" if shares.usual is None else f" ({shares.usual:.2f} over sentence pairs of this checkpoint)"
    least, most = (
        f"{quoted_at(shares.tokens, at, 'output token')} ({shares.alti[at]:.2f})" for at in (shares.least, shares.most)
    )
    return (
        f"By ALTI+ the source contributes {shares.mean_alti:.2f} on average{usual}, by rollout "
        f"{shares.mean_rollout:.2f}. Lowest by ALTI+: {least}, highest: {most}."
    )


def describe_token(trace: Trace, step: int, row: np.ndarray) -> str:
    """Say which source token and which of the prefix contributes most to an output token; row: [source + target]."""
    source, prefix = np.split(row[: len(trace.source_tokens) + step + 1], [len(trace.source_tokens)])
    return (
        f"To {quoted_at(trace.target_tokens, step, 'output token')} contribute most "
        f"{quoted_at(trace.source_tokens, int(source.argmax()))} of the source ({source.max():.2f}) and "
        f"{quoted_at(trace.decoder_input_tokens[: step + 1], int(prefix.argmax()))} of the prefix ({prefix.max():.2f})."
    )
