"""Sentences and formulas on attention rollout and ALTI+, computed from the maps that are shown."""

import numpy as np

from headlight.plots.contributions import Residual
from headlight.plots.text import quoted, quoted_at
from transformer.interpret.rollout import Rollout
from transformer.interpret.trace import AttentionMap, Trace

HALVES, MEASURED, ALTI = Residual
# Of one token, with its vector v in the sum that a block gives out, y.
_CONTRIBUTION = r"C_{tj} \propto \max(0, \lVert y_t \rVert_1 - \lVert y_t - v_{tj} \rVert_1)"
FORMULAS = {
    HALVES: r"R_0 = I, \qquad R_l = \tfrac12\, R_{l-1} + \tfrac12\, \bar A_l\, R_{l-1}",
    MEASURED: r"\begin{gathered} R_0 = I \\ R_l = (1 - m_l)\, R_{l-1} + m_l\, \bar A_l\, R_{l-1} \\ "
    r"m_l = \frac{\lVert \text{added} \rVert}{\lVert \text{added} \rVert + \lVert \text{kept} \rVert} \end{gathered}",
    ALTI: rf"\begin{{gathered}} R_0 = I, \qquad R_l = C_l\, R_{{l-1}} \\ {_CONTRIBUTION} \end{{gathered}}",
}
SOURCES = {
    HALVES: "Ā is the mean over the heads; half of each row stays what it was, for the residual connection (Abnar "
    "and Zuidema 2020, section 3).",
    MEASURED: "Ā is the mean over the heads. In place of the paper's half, m is measured for each token: the norm of "
    "what attention adds, divided by the sum of this and the norm of the vector it is added to (in the manner of the "
    "mixing ratio of Kobayashi et al. 2021).",
    ALTI: "ALTI+ (Ferrando et al. 2022): what an attention block gives out, y, is a sum with a vector v for "
    "each token that it reads, the residual's among them, put through LayerNorm; a token contributes the more, the "
    "nearer its vector comes to y in the 1-norm. The rows of C sum to 1.",
}
WORDS = {
    ALTI: "**ALTI+** follows the mixing: like rollout it multiplies all layers, but in place of weights it "
    "takes what each token contributes to the vector that an attention block gives out, with values, residual "
    "connections and LayerNorm. It leaves out feed-forwards.",
    **dict.fromkeys(
        (HALVES, MEASURED),
        "**Rollout** follows the mixing: it multiplies the maps of all layers and tells how much of each input token "
        "is mixed into each vector. It looks at weights alone, and leaves out values, feed-forwards and LayerNorm.",
    ),
}
# The shares across both sides: R of the decoder's rows, over source and prefix; E of the encoder, over the source.
_HALF_ACROSS = (
    r"\tfrac12\, R_{l-1} + \tfrac12\, \bar A^{\text{self}}_l R_{l-1}",
    r"\tfrac12\, R'_l + \tfrac12\, \bar A^{\text{cross}}_l E",
)
_MEASURED_ACROSS = (
    r"(1 - m_l)\, R_{l-1} + m_l\, \bar A^{\text{self}}_l R_{l-1}",
    r"(1 - m'_l)\, R'_l + m'_l\, \bar A^{\text{cross}}_l E",
)
_CONTRIBUTED_ACROSS = (
    r"C^{\text{self}}_l R_{l-1}",
    rf"C^{{\text{{kept}}}}_l R'_l + C^{{\text{{cross}}}}_l E \\ {_CONTRIBUTION}",
)
_ACROSS = {HALVES: _HALF_ACROSS, MEASURED: _MEASURED_ACROSS, ALTI: _CONTRIBUTED_ACROSS}
FORMULAS_ACROSS = {
    name: rf"\begin{{gathered}} R_0 = I, \qquad R'_l = {first} \\ R_l = {second} \end{{gathered}}"
    for name, (first, second) in _ACROSS.items()
}
ACROSS = (
    "Across both sides, each decoder layer mixes twice: the rows before it through self-attention, then the memory "
    "through cross-attention; E, the encoder's own rollout, traces the memory back to source tokens."
)
EXTENSION = " Our extension to two stacks; compare Chefer et al. 2021 and Ferrando et al. 2022."
DECODER = "The decoder's self-attention alone: what cross-attention adds from the source is left out."


def describe_shares(raw: AttentionMap, rolled: AttentionMap) -> str:
    """Return how sharp both maps are, the column with most, and how many rows have their maximum elsewhere.

    The shares of cross-attention are those of the source tokens; what the prefix has is not compared.
    """
    before, after = np.nan_to_num(raw.weights), np.nan_to_num(rolled.weights)
    column = int(after.mean(axis=0).argmax())
    best = [each == each.max(axis=1, keepdims=True) for each in (before, after)]
    moved = ~(best[0] & best[1]).any(axis=1)
    old, new = before.argmax(axis=1), after.argmax(axis=1)
    rows = np.arange(len(before))
    row = int(np.where(moved, after.max(axis=1) - after[rows, old], -1).argmax())
    where = (
        f", most clearly in that of {quoted_at(raw.queries, row)}: from {quoted_at(raw.keys, old[row])} (weight "
        f"{before[row, old[row]]:.2f}) to {quoted_at(raw.keys, new[row])} (share {after[row, new[row]]:.2f})"
    )
    return (
        f"The maximum moves in {moved.sum()} of {len(rows)} rows{where if moved.any() else ''}. Row maxima are "
        f"{before.max(axis=1).mean():.2f} on average in the weights, {after.max(axis=1).mean():.2f} in the shares; "
        f"over all rows {quoted_at(raw.keys, column)} has most (share {after[:, column].mean():.2f}, weight "
        f"{before[:, column].mean():.2f})."
    )


def describe_diagonal(rolled: AttentionMap, parts: np.ndarray | None) -> str:
    """Return how much of each token stays with itself; parts: of attention in each layer so far, [layers, tokens], None
    where a row's own token and its residual connection are one.
    """
    kept = np.diagonal(rolled.weights)
    most = int(kept.argmax())
    text = (
        f"A row's own token has {kept.mean():.2f} on average, at most {kept[most]:.2f} "
        f"({quoted_at(rolled.queries, most)})"
    )
    if parts is None:
        return f"{text}."
    alone = np.prod(1 - parts, axis=0).mean()
    return f"{text}; of the average, {alone:.2f} comes through the residual connections alone."


def describe_parts(trace: Trace, rollout: Rollout, layer: int, mixing: str) -> str:
    """Return what share the source has of the steps; with a half each it is the same in every sentence."""
    source = rollout.source_share()[layer]
    if mixing == HALVES:
        power = str(layer + 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return (
            f"With a half each the source's share is 1 − ½{power} = {source[0]:.4g} in every step of any sentence, "
            "whatever the weights; they divide the rest. Choose “norm-based” for a share that depends on the model."
        )
    least, most = (
        f"{source[step]:.2f} in step {step + 1}, which predicts {quoted(trace.target_tokens[step])}"
        for step in (source.argmin(), source.argmax())
    )
    measure = "ALTI+" if mixing == ALTI else "norm-based rollout"
    return f"By {measure} the source's share is {source.mean():.2f} on average: from {least}, to {most}."
