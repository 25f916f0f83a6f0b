"""Sentences on the four measures of one target token, computed from their values; none calls any an explanation."""

from collections.abc import Sequence

import numpy as np

from plots.palette import counted, sentence_case, signed
from plots.text import quoted

from .beyond_weights_figure import FEWEST, GRADIENT, LEFT_OUT, MEASURES, NORMED, RAW

# One line each: what is computed, and whose it is.
FORMULAS = {
    RAW: r"\text{raw weight:}\quad \tfrac1H \textstyle\sum_h \alpha^h_{tj}",
    NORMED: r"\begin{gathered} \text{norm-weighted:}\quad n_j \,/\, \textstyle\sum_{j'} n_{j'}, \\ "
    r"n_j = \lVert \textstyle\sum_h \alpha^h_{tj}\, v^h_j W_O^h \rVert \end{gathered}",
    GRADIENT: r"\begin{gathered} \text{gradient × input:} \\ "
    r"\textstyle\sum_d x_{jd}\; \partial \log P / \partial x_{jd} \end{gathered}",
    LEFT_OUT: r"\text{leave-one-out:}\quad \log P - \log P_{\text{without } j}",
}
SOURCES = {
    RAW: "the weights of the cross-attention, the mean over its heads (Vaswani et al. 2017, equation 1)",
    NORMED: "how long the vector is that a token hands over, its weight times its value, all heads together (Kobayashi "
    "et al. 2020)",
    GRADIENT: "what a small stretch of the token's embedding does to log P (Denil et al. 2014)",
    LEFT_OUT: "how far log P falls when no other token may read this one (Li et al. 2016, “erasure”)",
}


def describe_measures(values: dict[str, np.ndarray], tokens: Sequence[str]) -> str:
    """Which token is the largest by each measure, signs aside, and for how many the two with signs contradict."""
    first = {}
    for name in MEASURES:
        sizes = np.abs(values[name])
        if np.isfinite(sizes).any():
            first.setdefault(int(np.nanargmax(sizes)), []).append(name)
    if len(first) == 1:
        ((place, names),) = first.items()
        all_of_them = "All four measures" if len(names) == len(MEASURES) else f"All {len(names)} that can be computed"
        text = f"{all_of_them} have {quoted(tokens[place])} first here, by size."
    else:
        parts = [f"{quoted(tokens[place])} by {', '.join(names)}" for place, names in first.items()]
        text = f"They differ in what comes first by size: {'; '.join(parts)}."
    opposed = int((values[GRADIENT] * values[LEFT_OUT] < 0).sum())
    if opposed:
        text += f" {sentence_case(GRADIENT)} and {LEFT_OUT} have opposite signs for {opposed} of {len(tokens)} tokens."
    return text


def describe_agreement(found: np.ndarray, tokens: int) -> str:
    """The two measures whose ranks agree most, and the two that agree least."""
    pairs = [
        (float(found[one, other]), MEASURES[one], MEASURES[other])
        for one in range(len(MEASURES))
        for other in range(one)
        if not np.isnan(found[one, other])
    ]
    if not pairs:
        return f"The source has {counted(tokens, 'token')}: too few to compare ranks (at least {FEWEST})."
    (least, *apart), (most, *close) = min(pairs), max(pairs)
    return (
        f"Over these {tokens} tokens the ranks of {close[1]} and {close[0]} are closest ({signed(most, 2)}), those of "
        f"{apart[1]} and {apart[0]} farthest apart ({signed(least, 2)}; 1 is the same order, 0 none in common, −1 the "
        "reverse)."
    )


def describe_disagreement(values: dict[str, np.ndarray], tokens: Sequence[str]) -> str:
    """The token whose rank by raw weight and by leave-one-out differ most; "" where there is nothing to tell."""
    weights, drops = values[RAW], values[LEFT_OUT]
    if not np.isfinite(drops).all() or len(tokens) < FEWEST:
        return ""
    by_weight, by_drop = (_places(np.abs(each)) for each in (weights, drops))
    token = int(np.abs(by_weight - by_drop).argmax())
    if by_weight[token] == by_drop[token]:
        return "Raw weight and leave-one-out put all tokens in the same order here."
    change = f"{'lowers' if drops[token] > 0 else 'raises'} log P by {abs(drops[token]):.3f}"
    return (
        f"Weight and leave-one-out differ most on {quoted(tokens[token])}: number {by_weight[token]} of {len(tokens)} "
        f"by raw weight ({weights[token]:.2f}), number {by_drop[token]} by leaving it out, which {change}."
    )


def describe_prefix(gradient: np.ndarray, drops: np.ndarray, source_drops: np.ndarray, fed: Sequence[str]) -> str:
    """What leaving a fed token out does, beside the largest of the source; gradient, drops: [fed]."""
    if len(fed) < 2 or not np.isfinite(source_drops).any():
        return ""
    place = int(np.nanargmax(np.abs(drops)))
    largest = float(np.nanmax(np.abs(source_drops)))
    size, verb = abs(float(drops[place])), "lowers" if drops[place] > 0 else "raises"
    beside = "more than any source token does" if size > largest else "less than the first of the source does"
    return (
        f"The prefix has a say too: leaving out the fed {quoted(fed[place])} {verb} log P by {size:.3f}, {beside} "
        f"({largest:.3f}); its gradient × input is {signed(float(gradient[place]), 2)}."
    )


def _places(sizes: np.ndarray) -> np.ndarray:
    """The place of each in the order from the largest on, 1 first; equal ones share the first of their places."""
    return 1 + (sizes[None, :] > sizes[:, None]).sum(axis=1)
