"""Figures of one sentence, or of two runs, for which their traces suffice."""

import numpy as np

from headlight.plots.heatmap import attention_map_figure, mask_figure
from headlight.views.questions.figures import overview_figure, shift_figure
from headlight.views.what_if.compare_figure import difference_figure, distances_figure
from headlight.views.what_if.own_translation_figure import sums_figure
from transformer.interpret.trace import Trace, attention_map, masked_maps, row_and_column_labels
from transformer.interpret.what_if.difference import subtract
from transformer.model.names import AttentionKind

_SIDE = 460  # pixels of a square map


def _head(trace: Trace, kind="cross", layer=None, head=None, rows="predicted"):
    return attention_map_figure(attention_map(trace, kind, layer, head, rows), _SIDE)


def _all_heads(trace: Trace, kind="cross"):
    kind = AttentionKind(kind)
    fed, predicted, keys = row_and_column_labels(kind, trace.source_tokens, trace.fed_tokens, trace.next_tokens)
    return overview_figure(masked_maps(trace, kind), predicted or fed, keys)


def _causal_mask(trace: Trace):
    cells = np.tril(np.ones((len(trace.fed_tokens),) * 2, dtype=bool))
    return mask_figure(cells, trace.fed_tokens, {"it comes later": ~cells})


def _shifted_target(trace: Trace):
    return shift_figure(trace.fed_tokens, trace.next_tokens)


def _difference(trace: Trace, other: Trace, kind="cross", layer=None, head=None):
    """The other's weights less this one's, of tokens that both have; without a head, of the one that differs most."""
    difference = subtract(trace, other, kind)
    if layer is None or head is None:
        layer, head = difference.ranked()[0][:2]
    maps = [attention_map(each, kind, layer, head, "predicted") for each in (trace, other)]
    return difference_figure(difference, *maps, _SIDE)


def _differences_of_heads(trace: Trace, other: Trace, kind="cross"):
    return distances_figure(subtract(trace, other, kind))


def _log_probabilities(trace: Trace, other: Trace):
    """Log P of a translation that was given, added up token by token, beside that of another."""
    return sums_figure(trace, other)


OF_TRACES = {
    "head": _head,
    "all heads": _all_heads,
    "causal mask": _causal_mask,
    "shifted target": _shifted_target,
    "difference": _difference,
    "differences of heads": _differences_of_heads,
    "log-probabilities": _log_probabilities,
}
