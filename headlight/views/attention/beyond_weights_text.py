"""Sentences on the four measures of one target token, computed from their values; none of them is an explanation."""

from collections.abc import Sequence

import numpy as np

from headlight.plots.text import counted, quoted, quoted_at, sentence_case, signed

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
    LEFT_OUT: "how far log P falls when attention to this token is masked for all others (in the manner of the erasure "
    "of Li et al. 2016, who set vectors to zero and divide by log P)",
}


def describe_measures(values: dict[str, np.ndarray], tokens: Sequence[str]) -> str:
    """Which token is the largest by each measure, signs aside, and for how many the two with signs contradict."""
    first = {}
    for name in MEASURES:
        sizes = np.abs(values[name])
        if np.isfinite(sizes).any():
            first.setdefault(_first(sizes, tokens), []).append(name)
    if len(first) == 1:
        ((token, names),) = first.items()
        all_of_them = "All four measures" if len(names) == len(MEASURES) else f"All {len(names)} that can be computed"
        text = f"{all_of_them} have {token} first here, by absolute value."
    else:
        parts = [f"{token} by {', '.join(names)}" for token, names in first.items()]
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
        if tokens >= FEWEST:
            return "No two of the measures have ranks to compare here."
        return f"The source has {counted(tokens, 'token')}: too few to compare ranks (at least {FEWEST})."
    (least, *apart), (most, *close) = min(pairs), max(pairs)
    if len(pairs) == 1:
        two = f"{close[1]} and {close[0]}"
        return f"Over these {tokens} tokens the ranks of {two} have the correlation {signed(most, 2)}."
    if signed(least, 2) == signed(most, 2):
        return f"Over these {tokens} tokens each pair of ranks has the same correlation ({signed(most, 2)})."
    return (
        f"Over these {tokens} tokens the ranks of {close[1]} and {close[0]} are closest ({signed(most, 2)}), those of "
        f"{apart[1]} and {apart[0]} farthest apart ({signed(least, 2)}; 1 is the same order, 0 no monotone "
        "relation, −1 the reverse order)."
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
    return (
        f"The ranks by raw weight and by leave-one-out differ nowhere more than on {quoted_at(tokens, token)}: number "
        f"{by_weight[token]} of {len(tokens)} by raw weight ({weights[token]:.2f}), number {by_drop[token]} by "
        f"leave-one-out, which {_change(float(drops[token]), 'lowers', 'raises', 'changes', 'log P')}."
    )


def describe_prefix(gradient: np.ndarray, drops: np.ndarray, source_drops: np.ndarray, fed: Sequence[str]) -> str:
    """Which earlier input token changes most when masked, beside the source token that does; gradient, drops: [input
    tokens].

    The begin of sentence is left out: in training no decoder row ever was without it.
    """
    if not np.isfinite(drops[1:]).any() or not np.isfinite(source_drops).any():
        return ""
    place = 1 + int(np.nanargmax(np.abs(drops[1:])))
    largest = float(source_drops[int(np.nanargmax(np.abs(source_drops)))])
    change = _change(float(drops[place]), "falls", "rises", "changes")
    return (
        f"Of the earlier input tokens {quoted_at(fed, place)} has the largest change: with attention to it masked, "
        f"log P {change}; the source token with the largest change, masked alike, "
        f"{_change(largest, 'lowers', 'raises', 'changes', 'it')}. The input token's gradient × input is "
        f"{signed(float(gradient[place]), 2)}. {quoted(fed[0])} is left out here, for no row was ever trained without "
        "it."
    )


def _first(sizes: np.ndarray, tokens: Sequence[str]) -> str:
    """The token of the largest value; no single one where several share it."""
    places = np.flatnonzero(sizes == np.nanmax(sizes))
    return quoted_at(tokens, int(places[0])) if len(places) == 1 else "no single token"


def _change(drop: float, down: str, up: str, either: str, what: str = "") -> str:
    """How log P changes when something is left out: "falls by 0.120", "lowers it by 0.120"."""
    size = f"{abs(drop):.3f}"
    verb, by = (either, "by less than 0.0005") if not float(size) else (down if drop > 0 else up, f"by {size}")
    return " ".join(filter(None, (verb, what, by)))


def _ranks(sizes: np.ndarray) -> np.ndarray:
    """The rank of each, 1 for the largest; equal ones share the first of their ranks."""
    return 1 + (sizes[None, :] > sizes[:, None]).sum(axis=1)
