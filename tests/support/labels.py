"""What the figures call rows."""

from headlight.plots.tokens import shown_tokens
from transformer import Trace


def step_names(trace: Trace) -> list[str]:
    """What the rows of decoder steps are called: "liebe → meinen"."""
    sides = (trace.decoder_input_tokens, trace.target_tokens)
    return [" → ".join(pair) for pair in zip(*map(shown_tokens, sides), strict=True)]
