"""Feed-forward: the strongest hidden units of one token."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_token, one_number
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_result, show_translation
from headlight.plots.architecture import ACTIVATION_NAMES
from transformer.config import FeedForwardType

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the strongest hidden units of one token in one feed-forward. Raises UserError."""
    config, trace = results.translator(request.checkpoint).model.config, show_translation(request)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        stack, token, tokens = choose_token(trace)
        layers = config.num_encoder_layers if stack == "encoder" else config.num_decoder_layers
        layer = one_number(layers, "unit_layer") - 1
    name, does = ACTIVATION_NAMES[config.activation], TEMPLATES(config.activation)
    if config.feed_forward == FeedForwardType.GATED:
        gates, values = results.study(request).gates(stack, layer)
        figure = plots.hidden_units((gates * values)[token], parts=(gates[token], values[token]), theme="page")
        finding = describe_gates((gates, values), token, tokens, name)
    else:
        units = results.study(request).hidden_units(stack, layer)
        figure = plots.hidden_units(units[token], name, theme="page")
        finding = describe_units(units, token, tokens, name)
    show_result(figure, "units", TEMPLATES.text("alt", token=tokens[token]), finding)
    sizes = {"width": config.d_model, "units": config.d_ff}
    st.caption(plain(TEMPLATES.text(f"caption_{config.feed_forward}", activation=name, does=does, **sizes)))


def describe_units(units: np.ndarray, token: int, tokens: Sequence[str], activation: str = "ReLU") -> Finding:
    """Count the hidden units [tokens, d_ff] above 0 for a token, for every token, and for none.

    ReLU sets all others to 0; GELU and SiLU let small negative values through.
    """
    active = units > 0
    name, count = "few_units" if active[token].mean() < 0.1 else "units", int(active[token].sum())
    lowest = None if activation == "ReLU" else TEMPLATES("lowest", lowest=float(units[token].min()))
    always, never = int(active.all(axis=0).sum()), int((~active.any(axis=0)).sum())
    finding = TEMPLATES(name, units=count, width=units.shape[1], token=tokens[token])
    return finding.followed_by(lowest, TEMPLATES("of_all_tokens", always=always, never=never))


def describe_gates(parts: tuple[np.ndarray, np.ndarray], token: int, tokens: Sequence[str], activation: str) -> Finding:
    """Return the share of a token's gates that are open, and the factors of its strongest unit.

    parts: the activated map and the one that it is multiplied with, [tokens, d_ff] each.
    """
    gates, values = (part[token].astype(np.float64) for part in parts)
    at = int(np.abs(gates * values).argmax())
    factors = {"gate": gates[at], "value": values[at], "product": gates[at] * values[at]}
    finding = TEMPLATES("gates", open=(gates > 0).mean(), width=len(gates), token=tokens[token])
    return finding.followed_by(TEMPLATES("strongest", unit=at + 1, activation=activation, **factors))
