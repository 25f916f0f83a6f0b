"""Sentences on the four measures of one target token, computed from their values; none of them is an explanation."""

from collections.abc import Sequence

import numpy as np

from plots.text import counted, quoted, sentence_case, signed

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
    NORMED: "the norm of the weighted value vector: weight times value, projected by W_O and summed over the heads "
    "(Kobayashi et al. 2020)",
    GRADIENT: "how log P changes when the token's embedding is scaled a little (Denil et al. 2014)",
    LEFT_OUT: "how far log P falls when no other token may attend to this one (Li et al. 2016, “erasure”)",
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
        text = f"{all_of_them} have {quoted(tokens[place])} first here, by absolute value."
    else:
        parts = [f"{quoted(tokens[place])} by {', '.join(names)}" for place, names in first.items()]
        text = f"They differ in which token is first by absolute value: {'; '.join(parts)}."
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
        f"{apart[1]} and {apart[0]} farthest apart ({signed(least, 2)}; 1 is the same order, 0 no correlation, −1 the "
        "reverse order)."
    )


def describe_disagreement(values: dict[str, np.ndarray], tokens: Sequence[str]) -> str:
    """The token whose rank by raw weight and by leave-one-out differ most; "" where it cannot be compared."""
    weights, drops = values[RAW], values[LEFT_OUT]
    if not np.isfinite(drops).all() or len(tokens) < FEWEST:
        return ""
    by_weight, by_drop = (_ranks(np.abs(each)) for each in (weights, drops))
    token = int(np.abs(by_weight - by_drop).argmax())
    if by_weight[token] == by_drop[token]:
        return "Raw weight and leave-one-out put all tokens in the same order here."
    change = f"{'lowers' if drops[token] > 0 else 'raises'} log P by {abs(drops[token]):.3f}"
    return (
        f"Weight and leave-one-out differ most on {quoted(tokens[token])}: number {by_weight[token]} of {len(tokens)} "
        f"by raw weight ({weights[token]:.2f}), number {by_drop[token]} by leave-one-out, which {change}."
    )


def describe_prefix(gradient: np.ndarray, drops: np.ndarray, source_drops: np.ndarray, fed: Sequence[str]) -> str:
    """What leaving an input token out does, beside the largest of the source; gradient, drops: [input tokens]."""
    if len(fed) < 2 or not np.isfinite(source_drops).any():
        return ""
    place = int(np.nanargmax(np.abs(drops)))
    largest = float(np.nanmax(np.abs(source_drops)))
    size, verb = abs(float(drops[place])), "lowers" if drops[place] > 0 else "raises"
    beside = "more than any source token" if size > largest else "less than the most effective source token"
    return (
        f"The prefix matters too: leaving out the input token {quoted(fed[place])} {verb} log P by {size:.3f}, "
        f"{beside} ({largest:.3f}); its gradient × input is {signed(float(gradient[place]), 2)}."
    )


def _ranks(sizes: np.ndarray) -> np.ndarray:
    """The rank of each, 1 for the largest; equal ones share the first of their ranks."""
    return 1 + (sizes[None, :] > sizes[:, None]).sum(axis=1)
