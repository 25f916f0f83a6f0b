"""Rollout: all layers of attention multiplied, beside the raw weights."""

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import one_of
from headlight.app.finding import Finding, Templates, TokenAt
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import Panel, show_finding, show_panels, show_translation
from headlight.plots.names import head_name, with_norms
from transformer.interpret.rollout import Mixing, half_and_half, measured_mixing, roll_out, share_map
from transformer.interpret.trace import AttentionMap, RowLabel, attention_map

KINDS = {"across both": "cross", "encoder": "encoder", "decoder": "decoder"}
HALVES, MEASURED, ALTI = "0.5", "norm-based", "ALTI+"  # weightings of the residual connection, or ALTI+ in place
TEMPLATES = Templates.beside(__file__)
METHODS = {name: TEMPLATES.texts[name] for name in (HALVES, MEASURED, ALTI)}
_TITLES = {"across both": "source tokens", "encoder": "source tokens", "decoder": "fed tokens"}


def show(request: TranslationRequest) -> None:
    """Show the weights of a layer beside the shares of the layers multiplied up to it. Raises UserError."""
    trace, config = show_translation(request), results.translator(request.checkpoint).model.config
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        side = one_of("Rollout of", tuple(KINDS), "rollout")
        mixed = one_of("Residual weighting", tuple(METHODS), "residual")
        numbers = [str(number) for number in range(1, len(trace.attention(KINDS[side])) + 1)]
        layer = int(one_of("Up to layer", numbers, "up_to", start=numbers[-1])) - 1
    maps = trace.encoder, trace.decoder, trace.cross
    if mixed == ALTI:
        mixing, rollout = None, measures.contributions(request)
    else:
        measured = mixed == MEASURED
        mixing = measured_mixing(results.residual_stream(request)) if measured else half_and_half(*maps)
        rollout = roll_out(*maps, mixing)
    rows = RowLabel.FED if side == "encoder" else RowLabel.BOTH
    raw = attention_map(trace, KINDS[side], layer, None, rows)
    _show_pair(raw, share_map(rollout, trace, KINDS[side], layer, rows), mixing, side)
    st.caption(
        "A vector in a later layer is a mixture of many tokens, so looking at that position is not looking at that "
        f"word. {with_norms(METHODS[mixed], config)} {TEMPLATES.texts.get(f'rollout {side}', '')}"
    )


def _show_pair(raw: AttentionMap, rolled: AttentionMap, mixing: Mixing | None, side: str) -> None:
    """Show the weights of a layer beside the shares up to it, which are by ALTI+ without a mixing."""
    kind, layer = KINDS[side], raw.layer or 0
    title = f"Raw weights: {head_name(layer, None, raw.layers, raw.heads)}"
    weights = Panel(title, plots.shares(raw, "weight", theme="page"), columns=len(raw.keys), key="rollout_weight")
    title = f"{'Rollout' if mixing else 'ALTI+'} up to layer {layer + 1}: shares of {_TITLES[side]}"
    shares = Panel(title, plots.shares(rolled, "share", theme="page"), columns=len(raw.keys), key="rollout_share")
    finding = describe_shares(raw, rolled)
    if kind != "cross":
        parts = getattr(mixing, kind)[: layer + 1] if mixing else None
        finding = finding.followed_by(describe_diagonal(rolled, parts))
    show_finding(finding, "one layer after the other: do the rows become alike, and does one column grow?")
    show_panels("heatmap of queries by keys", weights, shares, see=str(finding))


def describe_shares(raw: AttentionMap, rolled: AttentionMap) -> Finding:
    """Count the rows where the largest share is not the largest weight's, and return the row where that is clearest.

    The shares of cross-attention are those of the source tokens; those of the prefix are not compared.
    """
    before, after = np.nan_to_num(raw.weights), np.nan_to_num(rolled.weights)
    best = [each == each.max(axis=1, keepdims=True) for each in (before, after)]
    moved = ~(best[0] & best[1]).any(axis=1)
    if not moved.any():
        return TEMPLATES("agree")
    old, new = before.argmax(axis=1), after.argmax(axis=1)
    row = int(np.where(moved, after.max(axis=1) - after[np.arange(len(before)), old], -1).argmax())
    clearest = {
        "row": TokenAt(raw.queries, row),
        "old": TokenAt(raw.keys, int(old[row])),
        "new": TokenAt(raw.keys, int(new[row])),
        "weight": before[row, old[row]],
        "share": after[row, new[row]],
    }
    finding = TEMPLATES("differ", moved=int(moved.sum()), rows=len(before))
    return finding.followed_by(TEMPLATES("clearest", **clearest))


def describe_diagonal(rolled: AttentionMap, parts: np.ndarray | None) -> Finding | None:
    """Return the mean share of a token that stays with itself; None where no row has a choice.

    parts: share of attention in each layer so far, [layers, tokens], None where a row's own token and its residual
    connection are one. A row that can read nothing else, a decoder's first, is left out: the mask gives it all.
    """
    diagonal, free = np.diagonal(rolled.weights), (~np.isnan(rolled.weights)).sum(axis=1) > 1
    if not free.any():
        return None
    aside = "" if free.all() else TEMPLATES("aside", first=TokenAt(rolled.queries, int(free.argmin())))
    numbers = {"kept": diagonal[free].mean(), "aside": aside}
    if parts is None:
        return TEMPLATES("own_token", **numbers)
    is_half = (parts == 0.5).all()  # as half_and_half has them
    alone = {"alone": np.prod(1 - parts[:, free], axis=0).mean(), "always": TEMPLATES("always") if is_half else ""}
    return TEMPLATES("own_token_alone", **numbers, **alone)
