"""Attention rollout on a page: layers multiplied, beside the raw weights; how much of each step is source or prefix."""

from dataclasses import replace

import numpy as np
import streamlit as st

from headlight.app import results
from headlight.app.choices import one_of, row_label
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import Panel, show_attempt, show_figure, show_finding, show_panels, show_translation
from headlight.plots.contributions import (
    KINDS,
    Residual,
    limit_of,
    raw_and_rolled,
    rollout_parts_figure,
    share_map_figure,
)
from headlight.plots.text import Finding, head_name, percent, pluralize, quoted, quoted_at, with_norms
from transformer.interpret.rollout import Mixing, Rollout, half_and_half, measured_mixing, roll_out
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
_ROLLOUT = (
    "**Rollout** follows the mixing: it multiplies the maps of all layers and tells how much of each input token is "
    "mixed into each vector."
)
WORDS = {
    ALTI: "**ALTI+** follows the mixing: like rollout it multiplies all layers, but in place of weights it "
    "takes what each token contributes to the vector that an attention block gives out, with values, residual "
    "connections and LayerNorm. It leaves out feed-forwards.",
    HALVES: f"{_ROLLOUT} It looks at weights alone, and leaves out values, feed-forwards and LayerNorm.",
    MEASURED: f"{_ROLLOUT} Of the heads it looks at weights alone; how much of a row stays is measured by norms, of "
    "what attention adds and of what is there. It leaves out feed-forwards and LayerNorm.",
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


_TITLES = {"across both": "source tokens", "encoder": "source tokens", "decoder": "fed tokens"}


def show(request: TranslationRequest) -> None:
    """Show raw weights beside rollout, then source and prefix by step. Raises UserError."""
    trace, config = show_translation(request), results.translator(request.checkpoint).model.config
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        side = one_of("Rollout of", tuple(KINDS), "rollout_of")
        mixed = Residual(one_of("Residual weighting", tuple(Residual), "rollout_residual"))
        layer = _layer(len(trace.attention(KINDS[side])))
        rows = "fed" if KINDS[side] == "encoder" else row_label()
    maps = trace.encoder, trace.decoder, trace.cross
    if mixed == ALTI:
        mixing, rollout = None, measures.contributions(request)
    else:
        measured = mixed == MEASURED
        mixing = measured_mixing(results.residual_stream(request)) if measured else half_and_half(*maps)
        rollout = roll_out(*maps, mixing)
    _show_pair(raw_and_rolled(trace, rollout, KINDS[side], layer, rows), mixing, side, layer)
    st.markdown(
        "A vector in a later layer is a mixture of many tokens, so a weight on its place is no weight on its token. "
        f"{with_norms(WORDS[mixed], config)}"
    )
    st.latex((FORMULAS_ACROSS if side == "across both" else FORMULAS)[mixed])
    across = ACROSS + (EXTENSION if mixing else "")
    remarks = {"across both": f" {across}", "decoder": f" {DECODER}"}
    st.caption(with_norms(SOURCES[mixed], config) + remarks.get(side, ""))
    if side == "across both":
        _show_parts(trace, rollout, layer, mixed)


def _layer(layers: int) -> int:
    """Ask how many layers are multiplied, all by default; return the last of them counted from 0."""
    numbers = [str(number) for number in range(1, layers + 1)]
    return int(one_of("Up to layer", numbers, "rollout_layers", start=numbers[-1])) - 1


def _show_pair(pair: tuple[AttentionMap, ...], mixing: Mixing | None, side: str, layer: int) -> None:
    """Show the weights of a layer beside the shares up to it, which are by ALTI+ without a mixing."""
    kind, (raw, rolled) = KINDS[side], pair
    title = f"Raw weights: {head_name(layer, None, raw.layers, raw.heads)}"
    weights = Panel(title, share_map_figure(raw, "weight"), columns=len(raw.keys), key="rollout_weight")
    title = f"{'Rollout' if mixing else 'ALTI+'} up to layer {layer + 1}: shares of {_TITLES[side]}"
    shares = Panel(title, share_map_figure(rolled, "share"), columns=len(raw.keys), key="rollout_share")
    finding = describe_shares(raw, rolled)
    if kind != "cross":
        diagonal = describe_diagonal(rolled, getattr(mixing, kind)[: layer + 1] if mixing else None)
        finding = replace(finding, more=f"{finding.more} {diagonal}".strip())
    show_panels("heatmap of queries by keys", weights, shares, see=str(finding))
    st.caption(
        f"Each is coloured from 0 to its own largest value, {limit_of(raw):.2f} and {limit_of(rolled):.2f}. A row of "
        "weights sums to 1, a row of shares "
        + ("to what the step has of the source, the rest is prefix." if kind == "cross" else "too.")
    )
    show_finding(finding)
    show_attempt(
        "Try layer 1, the first that mixes, and go up layer by layer: do the rows become alike, and does one column "
        "grow?"
    )


def _show_parts(trace: Trace, rollout: Rollout, layer: int, mixed: str) -> None:
    st.subheader("Source or prefix?")
    st.markdown(
        "Raw weights cannot say how much of a step comes from either side: a row of cross-attention sums to 1, and so "
        "does the same row of self-attention. Multiplying the layers divides the row between both."
    )
    alt = "For each step: shares of the source, of earlier fed tokens, and of the token fed in it"
    finding = describe_parts(trace, rollout, layer, mixed)
    show_figure(rollout_parts_figure(trace, rollout, layer), "rollout_parts", alt, str(finding))
    show_finding(finding)


def describe_shares(raw: AttentionMap, rolled: AttentionMap) -> Finding:
    """Return in how many rows the largest share is not the largest weight's, and where that is clearest.

    The shares of cross-attention are those of the source tokens; what the prefix has is not compared.
    """
    before, after = np.nan_to_num(raw.weights), np.nan_to_num(rolled.weights)
    best = [each == each.max(axis=1, keepdims=True) for each in (before, after)]
    moved = ~(best[0] & best[1]).any(axis=1)
    if not moved.any():
        return Finding("Shares and weights peak at the same token in every row.")
    old, new = before.argmax(axis=1), after.argmax(axis=1)
    row = int(np.where(moved, after.max(axis=1) - after[np.arange(len(before)), old], -1).argmax())
    return Finding(
        f"Shares and weights peak at different tokens in {moved.sum()} of {pluralize(len(before), 'row')}.",
        f"Clearest in that of {quoted_at(raw.queries, row)}: {quoted_at(raw.keys, int(old[row]))} has the largest "
        f"weight ({before[row, old[row]]:.2f}), {quoted_at(raw.keys, int(new[row]))} the largest share "
        f"({after[row, new[row]]:.2f}).",
    )


def describe_diagonal(rolled: AttentionMap, parts: np.ndarray | None) -> str:
    """Return how much of a token stays with itself on average; parts: of attention in each layer so far, [layers,
    tokens], None where a row's own token and its residual connection are one.

    A row that can read nothing else, a decoder's first, is left out: the mask alone gives it all of itself.
    """
    kept, free = np.diagonal(rolled.weights), (~np.isnan(rolled.weights)).sum(axis=1) > 1
    if not free.any():
        return ""
    aside = "" if free.all() else f", {quoted_at(rolled.queries, int(free.argmin()))} aside"
    text = f"A row's own token has {kept[free].mean():.2f} on average{aside}"
    if parts is None:
        return f"{text}."
    alone = np.prod(1 - parts[:, free], axis=0).mean()
    always = ", whatever the weights" if (parts == 0.5).all() else ""  # as half_and_half has them
    return f"{text}; of this, {alone:.2f} comes through the residual connections alone{always}."


def describe_parts(trace: Trace, rollout: Rollout, layer: int, mixing: str) -> Finding:
    """Return what share the source has of the steps; with a half each it is the same in every sentence."""
    source = rollout.source_share()[layer]
    if mixing == HALVES:
        power = str(layer + 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return Finding(
            f"The source's share is 1 − ½{power} = {source[0]:.4g} in every step.",
            "With a half each it is the same in any sentence, whatever the weights, which divide the rest. Choose "
            "“norm-based” for a share that depends on the model.",
        )
    least, most = (
        f"{percent(float(source[step]))} in step {step + 1}, which predicts {quoted(trace.target_tokens[step])}"
        for step in (source.argmin(), source.argmax())
    )
    return Finding(
        f"On average {percent(float(source.mean()))} of a step comes from the source.",
        f"By {'ALTI+' if mixing == ALTI else 'norm-based rollout'}: from {least}, to {most}.",
    )
