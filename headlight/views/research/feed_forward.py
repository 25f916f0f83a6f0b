"""Feed-forward: the strongest hidden units of one token."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_token, one_number
from headlight.app.finding import Finding
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_result, show_translation
from headlight.plots.architecture import ACTIVATION_NAMES
from headlight.plots.numbers import percent, signed
from headlight.plots.tokens import quoted
from transformer.config import Activation, FeedForwardType

# Effect of each activation on a hidden unit.
ACTIVATIONS = {
    Activation.RELU: "keeps the positive ones",
    Activation.GELU: "multiplies each by the share of a standard normal distribution below it",
    Activation.GELU_NEW: "multiplies each by about the share of a standard normal distribution below it",
    Activation.SILU: "multiplies each by its sigmoid",
}


def show(request: TranslationRequest) -> None:
    """Show the strongest hidden units of one token in one feed-forward. Raises UserError."""
    config, trace = results.translator(request.checkpoint).model.config, show_translation(request)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        stack, token, tokens = choose_token(trace)
        layers = config.num_encoder_layers if stack == "encoder" else config.num_decoder_layers
        layer = one_number("Layer", layers, "unit_layer") - 1
    name, does = (words[config.activation] for words in (ACTIVATION_NAMES, ACTIVATIONS))
    if config.feed_forward == FeedForwardType.GATED:
        gates, values = results.gates(request, stack, layer)
        figure = plots.hidden_units((gates * values)[token], parts=(gates[token], values[token]), theme="page")
        finding = describe_gates((gates, values), token, tokens, name)
        words = (
            f"Two maps go from {config.d_model} numbers to {config.d_ff:,} units. {name} {does} of the first map: the "
            "gates. Each gate is multiplied with its number of the second map, and a third map goes back."
        )
    else:
        units = results.hidden_units(request, stack, layer)
        figure = plots.hidden_units(units[token], name, theme="page")
        finding = describe_units(units, token, tokens, name)
        words = (
            f"Each token alone goes from {config.d_model} numbers to {config.d_ff:,} units; {name} {does}; then back."
        )
    show_result(figure, "units", f"The strongest hidden units for {tokens[token]}", finding)
    st.caption(plain(words))


def describe_units(units: np.ndarray, token: int, tokens: Sequence[str], activation: str = "ReLU") -> Finding:
    """Say how many hidden units [tokens, d_ff] are above 0 for a token, for every token, and for none.

    ReLU sets all others to 0; GELU and SiLU let small negative values through.
    """
    active = units > 0
    lowest = "" if activation == "ReLU" else f"The lowest is {signed(float(units[token].min()), 2)}. "
    only = "Only " if active[token].mean() < 0.1 else ""
    return Finding(
        f"{only}{int(active[token].sum()):,} of {units.shape[1]:,} units fire for {quoted(tokens[token])}.",
        f"{lowest}{int(active.all(axis=0).sum()):,} fire for every token of the sentence, "
        f"{int((~active.any(axis=0)).sum()):,} for none.",
    )


def describe_gates(parts: tuple[np.ndarray, np.ndarray], token: int, tokens: Sequence[str], activation: str) -> Finding:
    """Say how many gates of a token are closed, and what its strongest unit is made of; parts: [tokens, d_ff] each.

    They are the activated map and the one that it is multiplied with.
    """
    gates, values = (part[token].astype(np.float64) for part in parts)
    strongest = int(np.abs(gates * values).argmax())
    gate, value = float(gates[strongest]), float(values[strongest])
    return Finding(
        f"{percent((gates > 0).mean())} of {len(gates):,} gates are open for {quoted(tokens[token])}.",
        f"The strongest unit is {strongest + 1}: its gate {signed(gate, 2)}, after {activation}, times "
        f"{signed(value, 2)} of the second map is {signed(gate * value, 2)}. Where either is 0, so is the unit.",
    )
