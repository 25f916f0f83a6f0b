"""Figures of a translation and its model, for notebooks and scripts, and for the app's pages.

    import headlight as hl

    model = hl.load("en-de")
    trace = model.trace("I love my teacher.")
    hl.plots.head(trace, "cross", layer=2, head=4)

Each function draws a trace, or a measure of `transformer` that its description names, and returns a Plotly figure.
With `theme="page"` the browser replaces some colours by those of the app's theme; "paper" is for a light background.
Layers, heads, steps, tokens and positions count from 0.
"""

from .architecture import hidden_units, nearest_tokens, trajectory
from .attention import head, largest_weight, score_deviation, without_scaling
from .contributions import attribution, contrast, logit_kinds, logit_parts, shares, source_or_prefix
from .decoding import calibration, confidence_histogram, logits, probabilities
from .masks import mask, masked_weights, next_tokens, without_causal_mask
from .positional_encoding import positions, rotation, waves
from .relative_positions import bias_curves, bias_map
from .training import learning_rates, smoothed_loss, training_runs
from .what_if import candidates, log_probabilities, patching

__all__ = [
    "attribution",
    "bias_curves",
    "bias_map",
    "calibration",
    "candidates",
    "confidence_histogram",
    "contrast",
    "head",
    "hidden_units",
    "largest_weight",
    "learning_rates",
    "log_probabilities",
    "logit_kinds",
    "logit_parts",
    "logits",
    "mask",
    "masked_weights",
    "nearest_tokens",
    "next_tokens",
    "patching",
    "positions",
    "probabilities",
    "rotation",
    "score_deviation",
    "shares",
    "smoothed_loss",
    "source_or_prefix",
    "training_runs",
    "trajectory",
    "waves",
    "without_causal_mask",
    "without_scaling",
]
