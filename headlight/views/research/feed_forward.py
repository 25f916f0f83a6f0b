"""Feed-forward: the hidden units of one token and of a whole sentence."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_side, choose_token, one_number
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding, show_translation
from headlight.plots.architecture import (
    ACTIVATION_NAMES,
    sentence_figure,
    signed_units_figure,
    units_figure,
)
from headlight.plots.text import Finding, percent, quoted, signed
from transformer.config import Activation, FeedForwardType

# What each activation does to a hidden unit.
ACTIVATIONS = {
    Activation.RELU: "keeps the positive ones",
    Activation.GELU: "multiplies each by the share of a standard normal distribution below it",
    Activation.GELU_NEW: "multiplies each by about the share of a standard normal distribution below it",
    Activation.SILU: "multiplies each by its sigmoid",
}


def show(request: TranslationRequest) -> None:
    """Show hidden units of a feed-forward: one token's, and the whole sentence's. Raises UserError."""
    model, trace = results.translator(request.checkpoint).model, show_translation(request)
    with st.container(horizontal=True, gap="medium"):
        stack = choose_side()
        layer = one_number("Layer", len(getattr(model, stack)), "unit_layer") - 1
    token, tokens = choose_token(trace, stack)
    if model.config.feed_forward == FeedForwardType.GATED:
        _show_gates(request, stack, layer, token)
        return
    units = results.hidden_units(request, stack, layer)
    sizes = f"{model.config.d_model} numbers to {units.shape[1]:,}"
    name, does = (words[model.config.activation] for words in (ACTIVATION_NAMES, ACTIVATIONS))
    st.markdown(plain(f"Each token alone goes from {sizes}; {name} {does}; then back."))
    st.subheader(plain(f"The strongest units for “{tokens[token]}”"))
    alt = f"The strongest hidden units for {tokens[token]} after {name}"
    see = describe_units(units, token, tokens, name)
    show_figure(units_figure(units[token], name), "units", alt, see)
    show_finding(see)
    st.subheader("Which units fire across the sentence")
    alt = "The units that fire most, tokens by units"
    show_figure(sentence_figure(units, tokens), "sentence_units", alt)
    blank = "that ReLU silenced" if name == "ReLU" else "not above 0"
    st.caption(f"Rows are tokens, columns the units with the largest sum; a blank cell is a unit {blank}.")


def _show_gates(request: TranslationRequest, stack: str, layer: int, token: int) -> None:
    """Show the hidden units of a gated feed-forward, each the product of a gate and a number."""
    config, trace = results.translator(request.checkpoint).model.config, results.trace(request)
    tokens = trace.source_tokens if stack == "encoder" else trace.decoder_input_tokens
    gates, values = results.gates(request, stack, layer)
    units, name = gates * values, ACTIVATION_NAMES[config.activation]
    st.markdown(
        plain(
            f"Each token alone goes from {config.d_model} numbers to {units.shape[1]:,} by two maps. Of the first "
            f"one's numbers {name} {ACTIVATIONS[config.activation]}: these are the gates. Each is multiplied with its "
            "number of the second map, and a third map brings the products back."
        )
    )
    st.subheader(plain(f"The strongest units for “{tokens[token]}”"))
    see = describe_gates((gates, values), token, tokens, name)
    alt = f"The strongest hidden units for {tokens[token]}, gate times second map"
    show_figure(units_figure(units[token], parts=(gates[token], values[token])), "units", alt, see)
    show_finding(see, "the same unit for another token: is it the gate that changes, or the second map?")
    st.subheader("Which units are strong across the sentence")
    show_figure(signed_units_figure(units, tokens), "sentence_units", "The strongest units, tokens by units")
    st.caption("Rows are tokens, columns the units with the largest sum of absolute values: teal above 0, brown below.")


def describe_units(units: np.ndarray, token: int, tokens: Sequence[str], activation: str = "ReLU") -> Finding:
    """Say how many hidden units [tokens, d_ff] are above 0 for a token, for every token, and for none.

    ReLU sets all others to 0; GELU and SiLU let small negative values through.
    """
    active = units > 0
    silent = "0" if activation == "ReLU" else "not above 0"
    lowest = "" if activation == "ReLU" else f"The lowest is {signed(float(units[token].min()), 2)}. "
    return Finding(
        f"For {quoted(tokens[token])} {percent(1 - active[token].mean())} of {units.shape[1]:,} units are {silent}.",
        f"{lowest}Active for every token: {int(active.all(axis=0).sum()):,}; for none: "
        f"{int((~active.any(axis=0)).sum()):,}.",
    )


def describe_gates(parts: tuple[np.ndarray, np.ndarray], token: int, tokens: Sequence[str], activation: str) -> Finding:
    """Say how many gates of a token are closed, and what its strongest unit is made of; parts: [tokens, d_ff] each.

    They are the activated map and the one that it is multiplied with.
    """
    gates, values = (part[token].astype(np.float64) for part in parts)
    strongest = int(np.abs(gates * values).argmax())
    gate, value = float(gates[strongest]), float(values[strongest])
    return Finding(
        f"For {quoted(tokens[token])} {percent((gates <= 0).mean())} of {len(gates):,} gates are not above 0.",
        f"The strongest unit is {strongest + 1}: its gate {signed(gate, 2)}, after {activation}, times "
        f"{signed(value, 2)} of the second map is {signed(gate * value, 2)}. Where either is 0, so is the unit.",
    )
