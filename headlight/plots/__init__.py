"""Figures of a translation and its model, for notebooks and scripts, and for the app's pages.

    import headlight as hl

    model = hl.load("en-de")
    trace = model.trace("I love my teacher.")
    hl.plots.head(trace, "cross", layer=2, head=4)
    hl.plots.probabilities(model, trace, step=1, temperature=1.5)

Each function below takes a trace, a translator and a trace, or a translator alone, and returns a Plotly figure for a
light background. Layers, heads, steps, tokens and positions count from 0. What is out of range raises ValueError. A
figure of a translator and a trace runs the model once more; the trace is to be of that model.

In the modules the colours of the same functions follow the theme of the browser, as those of the `*_figure` functions
do, which pages draw from results that they have already.
"""

from .architecture import hidden_units, nearest_tokens, trajectory
from .attention import all_heads, average, head, largest_weight, score_deviation, without_scaling
from .contributions import attribution, contrast, logit_kinds, logit_parts, rollout, source_or_prefix
from .decoding import calibration, confidence, confidence_histogram, logits, probabilities
from .layout import with_light_theme
from .masks import next_tokens_without_causal_mask, without_causal_mask
from .positional_encoding import positions, rotation, waves
from .training import smoothed_loss
from .what_if import candidates, difference, head_differences, log_probabilities, patching

__all__ = [
    "all_heads",
    "attribution",
    "average",
    "calibration",
    "candidates",
    "confidence",
    "confidence_histogram",
    "contrast",
    "difference",
    "head",
    "head_differences",
    "hidden_units",
    "largest_weight",
    "log_probabilities",
    "logit_kinds",
    "logit_parts",
    "logits",
    "nearest_tokens",
    "next_tokens_without_causal_mask",
    "patching",
    "positions",
    "probabilities",
    "rollout",
    "rotation",
    "score_deviation",
    "smoothed_loss",
    "source_or_prefix",
    "trajectory",
    "waves",
    "without_causal_mask",
    "without_scaling",
]

for _name in __all__:
    globals()[_name] = with_light_theme(globals()[_name])
