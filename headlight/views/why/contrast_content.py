"""What speaks for one candidate and what for another, in words, from the bars that are shown."""

import numpy as np

from headlight.plots.text import quoted, quoted_at, signed
from headlight.plots.why import Contrast
from transformer.interpret.attribution import rank_correlation
from transformer.interpret.trace import Trace

AGREE, PARTLY = 0.7, 0.3  # rank correlations from which two methods agree, and from which they do in part


def most_doubtful_step(trace: Trace) -> int:
    """Return the step, from 0, whose best other candidate is the most probable; none with a forced token."""
    return max(trace.scored_steps, key=lambda step: trace.candidate_probabilities[step][trace.runner_up(step)])


def describe_contrast(contrast: Contrast) -> str:
    """Name the highest and the lowest bar by each method, and say whether the methods rank tokens alike.

    The begin of sentence is left out: no row was ever trained without it.
    """
    begin = len(contrast.source)
    values = {method: np.delete(each, begin) for method, each in contrast.values().items()}

    def named(bars: np.ndarray, at: int) -> str:
        if at < begin:
            return f"{quoted_at(contrast.source, at)} of the source ({signed(bars[at], 2)})"
        return f"{quoted_at(contrast.prefix, at - begin + 1)} of the prefix ({signed(bars[at], 2)})"

    ends = " ".join(
        f"By {method} the highest bar is that of {named(bars, int(np.nanargmax(bars)))}, the lowest that of "
        f"{named(bars, int(np.nanargmin(bars)))}."
        for method, bars in values.items()
    )
    correlation, count = rank_correlation(*values.values()), int(np.isfinite(sum(values.values())).sum())
    how = "agree" if correlation >= AGREE else "agree in part" if correlation >= PARTLY else "do not agree"
    if np.isnan(correlation):
        agreement = f"{count} of the tokens are in both, too few or too alike to compare the methods."
    else:
        agreement = f"The ranks of {count} tokens correlate by {signed(correlation, 2)} (Spearman): the methods {how}."
    return (
        f"Above 0 speaks for {quoted(contrast.chosen)}, below for {quoted(contrast.other)}. {ends} {agreement} "
        f"{quoted(contrast.prefix[0])} is not counted here."
    )
