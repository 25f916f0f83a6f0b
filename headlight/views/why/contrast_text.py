"""Sentences on what speaks for one candidate and what for another, computed from the bars that are shown."""

import numpy as np

from headlight.plots.text import counted, quoted, quoted_at, signed
from headlight.plots.why import Contrast, other_candidates
from transformer.interpret.attribution import rank_correlation
from transformer.interpret.trace import Trace

AGREE, PARTLY = 0.7, 0.3  # rank correlations from which two methods agree, and from which they do in part
_LEAST = 0.005  # what two digits do not show


def most_doubtful(trace: Trace) -> int:
    """The step, from 0, whose best other candidate has the highest probability, of those that are not forced."""

    def best_other(step: int) -> float:
        return max(chance for _, chance in other_candidates(trace, step).values())

    return max(trace.scored_steps, key=best_other)


def describe_contrast(contrast: Contrast) -> str:
    """The token that speaks most for either candidate, by each method, and whether the methods rank tokens alike.

    The begin of sentence is left out: no row was ever trained without it.
    """
    begin = len(contrast.source)
    values = {method: np.delete(each, begin) for method, each in contrast.values().items()}
    pushes = [f"By {method} {_pushes(contrast, each)}." for method, each in values.items() if _is_told(each)]
    correlation, count = rank_correlation(*values.values()), int(np.isfinite(sum(values.values())).sum())
    begin_token = quoted(contrast.prefix[0])
    return " ".join([*pushes, _agreement(correlation, count), f"{begin_token} is not counted here."])


def _is_told(values: np.ndarray) -> bool:
    return bool((np.abs(values[np.isfinite(values)]) >= _LEAST).any())


def _pushes(contrast: Contrast, values: np.ndarray) -> str:
    """Which token speaks most for either: "“▁my” of the source speaks most for “▁meinen” (1.37), …"."""
    found = []
    for sign, candidate in ((1, contrast.chosen), (-1, contrast.other)):
        place = int(np.nanargmax(sign * values))
        if sign * values[place] >= _LEAST:
            found.append(f"{_named(contrast, place)} speaks most for {quoted(candidate)} ({signed(values[place], 2)})")
        else:
            found.append(f"none speaks for {quoted(candidate)}")
    return " and ".join(found)


def _named(contrast: Contrast, place: int) -> str:
    """A token and its side; places are those of the source, then of the prefix without its begin of sentence."""
    if place < len(contrast.source):
        return f"{quoted_at(contrast.source, place)} of the source"
    return f"{quoted_at(contrast.prefix, place - len(contrast.source) + 1)} of the prefix"


def _agreement(correlation: float, count: int) -> str:
    if np.isnan(correlation):
        return f"The ranks of {counted(count, 'token')} are too few, or too alike, to compare the methods."
    how = "agree" if correlation >= AGREE else "agree in part" if correlation >= PARTLY else "do not agree"
    return (
        f"Over {counted(count, 'token')} the ranks of both have the correlation {signed(correlation, 2)} (Spearman): "
        f"the methods {how}."
    )
