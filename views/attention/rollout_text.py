"""Sentences on attention rollout, computed from the maps that are shown; none says more than its numbers."""

import numpy as np

from plots.palette import counted
from plots.text import quoted
from transformer.interpret.rollout import Rollout
from transformer.interpret.trace import AttentionMap, Trace

from .rollout_figure import parts_of_steps

HALVES, MEASURED = "half and half", "by measured lengths"
FORMULAS = {
    HALVES: r"R_0 = I, \qquad R_l = \tfrac12\, R_{l-1} + \tfrac12\, \bar A_l\, R_{l-1}",
    MEASURED: r"\begin{gathered} R_0 = I \\ R_l = (1 - m_l)\, R_{l-1} + m_l\, \bar A_l\, R_{l-1} \\ "
    r"m_l = \frac{\lVert \text{added} \rVert}{\lVert \text{added} \rVert + \lVert \text{kept} \rVert} \end{gathered}",
}
SOURCES = {
    HALVES: "Ā is the mean over the heads; half of each row stays what it was, for the way around attention (Abnar and "
    "Zuidema 2020, section 3).",
    MEASURED: "Ā is the mean over the heads. In place of the paper's half, m is measured for each token: the length of "
    "what attention adds, over this and the length of the vector it is added to (in the manner of the mixing ratio of "
    "Kobayashi et al. 2021).",
}
ACROSS = (
    "Across both sides, each decoder layer mixes twice: the rows before it through self-attention, then the memory "
    "through cross-attention, which stands for source tokens by the encoder's own rollout."
)


def describe_shares(raw: AttentionMap, rolled: AttentionMap) -> str:
    """How many rows have their maximum elsewhere after rollout, the row that changed most, and how sharp both are."""
    before, after = np.nan_to_num(raw.weights), np.nan_to_num(rolled.weights)
    rows = np.flatnonzero((~np.isnan(raw.weights)).sum(axis=1) > 1)
    if not len(rows):
        return "Each row has a single open cell: there is nothing to compare."
    moved = [row for row in rows if before[row].argmax() != after[row].argmax()]
    column = int(after.mean(axis=0).argmax())
    text = (
        f"The largest weight of a row is {before[rows].max(axis=1).mean():.2f} on average, the largest share "
        f"{after[rows].max(axis=1).mean():.2f}. Over all rows {quoted(raw.keys[column])} has the largest share, "
        f"{after[:, column].mean():.2f} on average; its weight in this layer is {before[:, column].mean():.2f}. "
    )
    if not moved:
        return f"{text}In all {len(rows)} rows with a choice both stand at the same token."
    row = max(moved, key=lambda row: after[row].max() - after[row, before[row].argmax()])
    old, new = int(before[row].argmax()), int(after[row].argmax())
    return (
        f"{text}In {len(moved)} of {len(rows)} rows they stand at different tokens: the row of "
        f"{quoted(raw.queries[row])} reads {quoted(raw.keys[old])} most ({before[row, old]:.2f}) in this layer, and "
        f"has most of {quoted(raw.keys[new])} ({after[row, new]:.2f}) in the rollout, of {quoted(raw.keys[old])} "
        f"{after[row, old]:.2f}."
    )


def describe_diagonal(rolled: AttentionMap, parts: np.ndarray) -> str:
    """How much of each token stays with itself; parts: of attention in each layer so far, [layers, tokens]."""
    kept = np.diagonal(rolled.weights)
    floor = np.prod(1 - parts, axis=0)
    most = int(kept.argmax())
    return (
        f"A row has {kept.mean():.2f} of its own token on average, most that of {quoted(rolled.queries[most])} "
        f"({kept[most]:.2f}). Of this {floor.mean():.2f} came the way around every layer, whatever the weights."
    )


def describe_parts(trace: Trace, rollout: Rollout, layer: int, mixing: str) -> str:
    """What the steps have of source and prefix, and that half and half makes the source's share the same for all."""
    parts = parts_of_steps(rollout, layer)
    source, earlier, layers = parts[:, 0], parts[:, 1], layer + 1
    if mixing == HALVES:
        text = (
            f"The source has {source[0]:.4g} of every step, and would have it of any sentence: half and half, "
            f"{counted(layers, 'layer')} leave 1 − ½{_power(layers)} to it, whatever the weights are. "
        )
        if len(earlier) < 2 or not earlier.any():
            return text + "Choose measured lengths for a share that the model has a say in."
        most = int(earlier.argmax())
        return (
            f"{text}What the weights decide is how the rest is cut: step {most + 1}, which predicts "
            f"{quoted(trace.next_tokens[most])}, has most of earlier fed tokens ({earlier[most]:.3f}). Choose measured "
            "lengths for a share that the model has a say in."
        )
    least, most = int(source.argmin()), int(source.argmax())
    if least == most or np.ptp(source) < 5e-3:
        return f"The source has {source.mean():.2f} of every step here; the rest is prefix."
    return (
        f"By measured lengths step {most + 1}, which predicts {quoted(trace.next_tokens[most])}, has most of the "
        f"source ({source[most]:.2f}), step {least + 1}, which predicts {quoted(trace.next_tokens[least])}, least "
        f"({source[least]:.2f}); {source.mean():.2f} on average."
    )


def _power(layers: int) -> str:
    return "" if layers == 1 else str(layers).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
