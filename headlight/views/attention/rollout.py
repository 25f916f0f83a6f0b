"""Attention rollout on a page: layers multiplied, beside the raw weights; how much of each step is source or prefix."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import one_of
from headlight.app.figures import show_figure
from headlight.app.results import TranslationRequest, contributions
from headlight.app.selectors import row_label
from headlight.app.sentences import show_translation
from headlight.app.widgets import Panel, show_attempt, show_finding, show_panels
from headlight.plots.contributions import (
    KINDS,
    Residual,
    limit_of,
    raw_and_rolled,
    rollout_parts_figure,
    share_map_figure,
)
from headlight.plots.text import head_name
from transformer.interpret.rollout import Mixing, Rollout, half_and_half, measured_mixing, roll_out
from transformer.interpret.trace import AttentionMap, Trace

from . import rollout_content as content

_TITLES = {"across both": "source tokens", "encoder": "source tokens", "decoder": "fed tokens"}


def show(request: TranslationRequest) -> None:
    """Show raw weights beside rollout, then source and prefix by step. Raises UserError."""
    trace = results.trace(request)
    show_translation(request)
    with st.container(horizontal=True, gap="medium"):
        side = one_of("Rollout of", tuple(KINDS), "rollout_of")
        mixed = Residual(one_of("Residual weighting", tuple(Residual), "rollout_residual"))
        layer = _layer(len(trace.attention(KINDS[side])))
        rows = "fed" if KINDS[side] == "encoder" else row_label()
    maps = trace.encoder, trace.decoder, trace.cross
    if mixed == content.ALTI:
        mixing, rollout = None, contributions.contributions(request)
    else:
        measured = mixed == content.MEASURED
        mixing = measured_mixing(results.residual_stream(request)) if measured else half_and_half(*maps)
        rollout = roll_out(*maps, mixing)
    _show_pair(raw_and_rolled(trace, rollout, KINDS[side], layer, rows), mixing, side, layer)
    st.markdown(
        "A vector in a later layer is a mixture of many tokens, so a weight on its place is no weight on its token. "
        f"{content.WORDS[mixed]}"
    )
    st.latex((content.FORMULAS_ACROSS if side == "across both" else content.FORMULAS)[mixed])
    across = content.ACROSS + (content.EXTENSION if mixing else "")
    remarks = {"across both": f" {across}", "decoder": f" {content.DECODER}"}
    st.caption(content.SOURCES[mixed] + remarks.get(side, ""))
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
    see = content.describe_shares(raw, rolled)
    if kind != "cross":
        parts = getattr(mixing, kind)[: layer + 1] if mixing else None
        see += " " + content.describe_diagonal(rolled, parts)
    show_panels("heatmap of queries by keys", weights, shares, see=see)
    st.caption(
        f"Each is coloured from 0 to its own largest value, {limit_of(raw):.2f} and {limit_of(rolled):.2f}. A row of "
        "weights sums to 1, a row of shares "
        + ("to what the step has of the source, the rest is prefix." if kind == "cross" else "too.")
    )
    show_finding(see)
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
    see = content.describe_parts(trace, rollout, layer, mixed)
    show_figure(rollout_parts_figure(trace, rollout, layer), "rollout_parts", alt, see)
    show_finding(see)
