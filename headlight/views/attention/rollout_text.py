"""Sentences on attention rollout, computed from the maps that are shown."""

import numpy as np

from headlight.plots.text import apart, counted, quoted, quoted_at
from transformer.interpret.rollout import Rollout
from transformer.interpret.trace import AttentionMap, Trace

from .rollout_figure import parts_of_steps

HALVES, MEASURED, ALTI = "0.5", "norm-based", "ALTI+"
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
    """How many rows have their maximum elsewhere after rollout, the row that changed most, and how sharp both are.

    The shares of cross-attention are those of the source tokens; what the prefix has is not compared.
    """
    before, after = np.nan_to_num(raw.weights), np.nan_to_num(rolled.weights)
    rows = np.flatnonzero((~np.isnan(raw.weights)).sum(axis=1) > 1)
    if not len(rows):
        return "Each row has a single unmasked cell: there is nothing to compare."
    best = [each == each.max(axis=1, keepdims=True) for each in (before, after)]
    moved = [row for row in rows if not (best[0] & best[1])[row].any()]
    column = int(after.mean(axis=0).argmax())
    tokens = "of a source token " if raw.kind == "cross" else ""
    text = (
        f"The largest weight of a row is {before[rows].max(axis=1).mean():.2f} on average, the largest share {tokens}"
        f"{after[rows].max(axis=1).mean():.2f}. Over all rows {quoted_at(raw.keys, column)} has the largest "
        f"share {tokens}({after[:, column].mean():.2f} on average); its average weight in this layer is "
        f"{before[:, column].mean():.2f}. "
    )
    if not moved:
        where = f"all {len(rows)} rows" if len(rows) > 1 else "the only row"
        return f"{text}In {where} with a choice both belong to the same token."
    row = max(moved, key=lambda row: after[row].max() - after[row, before[row].argmax()])
    old, new = int(before[row].argmax()), int(after[row].argmax())
    largest, other = apart(float(after[row, new]), float(after[row, old]))
    return (
        f"{text}In {len(moved)} of {counted(len(rows), 'row')} with a choice they belong to different tokens: in the "
        f"row of {quoted_at(raw.queries, row)} the largest weight of this layer is that of {quoted_at(raw.keys, old)} "
        f"({before[row, old]:.2f}), the largest share {tokens}that of {quoted_at(raw.keys, new)} ({largest}); the "
        f"share of {quoted_at(raw.keys, old)} is {other}."
    )


def describe_diagonal(rolled: AttentionMap, parts: np.ndarray | None) -> str:
    """How much of each token stays with itself; parts: of attention in each layer so far, [layers, tokens], None where
    a row's own token and its residual connection are one.
    """
    kept = np.diagonal(rolled.weights)
    most = int(kept.argmax())
    text = (
        f"The share of a row's own token is {kept.mean():.2f} on average, the largest that of "
        f"{quoted_at(rolled.queries, most)} ({kept[most]:.2f})."
    )
    if parts is None:
        return text
    alone = float(np.prod(1 - parts, axis=0).mean())
    return f"{text} Of the average, {alone:.2f} comes through the residual connections alone."


def describe_parts(trace: Trace, rollout: Rollout, layer: int, mixing: str) -> str:
    """What shares the steps have of source and prefix, and that with a half each the source's share is always equal."""
    parts = parts_of_steps(rollout, layer)
    if mixing == HALVES:
        return _describe_halves(trace, parts, layer + 1)
    source, measure = parts[:, 0], "By ALTI+" if mixing == ALTI else "By norm-based rollout"
    least, most = int(source.argmin()), int(source.argmax())
    if f"{source[least]:.2f}" == f"{source[most]:.2f}":
        return f"{measure} the source's share is {source[most]:.2f} in every step here; the rest is prefix."
    return (
        f"{measure} the source's share is largest in step {most + 1}, which predicts "
        f"{quoted(trace.next_tokens[most])} ({source[most]:.2f}), and smallest in step {least + 1}, which predicts "
        f"{quoted(trace.next_tokens[least])} ({source[least]:.2f}); {source.mean():.2f} on average."
    )


def _describe_halves(trace: Trace, parts: np.ndarray, layers: int) -> str:
    source, earlier = parts[:, 0], parts[:, 1]
    text = (
        f"The source's share is {source[0]:.4g} in every step, and would be in any sentence: with a half each, "
        f"{counted(layers, 'layer')} {'leaves' if layers == 1 else 'leave'} 1 − ½{_power(layers)} to it, whatever the "
        "weights are. "
    )
    advice = "Choose “norm-based” for a share that depends on the model."
    if len(earlier) < 2 or not earlier.any():
        return text + advice
    most = int(earlier.argmax())
    return (
        f"{text}The weights decide how the rest is divided: step {most + 1}, which predicts "
        f"{quoted(trace.next_tokens[most])}, has the largest share of earlier input tokens ({earlier[most]:.3f}). "
        f"{advice}"
    )


def _power(layers: int) -> str:
    return "" if layers == 1 else str(layers).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
