"""Rewrite attention: other weights for a head, a layer or all heads, and what the model makes of them."""

from functools import partial

import numpy as np
import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import from_list, one_of, slider
from headlight.app.head_choice import Head, choose_head_of
from headlight.app.results import TranslationRequest, what_if
from headlight.app.widgets import one_line, plain, show_attempt, show_figure, show_finding, show_translation
from headlight.components.show import weight_bars
from headlight.plots.text import KIND_NAMES
from headlight.plots.what_if import candidates_figure
from transformer.interpret.head_patterns import strongest_word_pair
from transformer.interpret.trace import Trace

from . import rewriting_content as content
from .change_content import compared_html


def show(request: TranslationRequest) -> None:
    """Show a head's row of weights to change by buttons or by hand, and both runs. Raises UserError."""
    trace = results.trace(request)
    show_translation(request)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="rewriting_heads"):
        head = choose_head_of(request, tuple(KIND_NAMES), "cross")
        scope = from_list("Which heads", content.SCOPES, "rewrite_heads", width=170, hide_label=True)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="rewriting_how"):
        action = one_of("Change", tuple(content.Action), "rewrite", hide_label=True)
        concerned = from_list("Which rows", content.CONCERNED, "rewrite_rows", width=170, hide_label=True)
        row, key, weights = _places(trace, head)
    heads, rows = content.heads_of(scope, *head), content.rows_of(concerned, row)
    change = content.interventions_of(action, heads, rows, key, weights)
    left, right = st.columns([8, 12], gap="medium")
    with left:
        before = forced = after = trace
        if change:
            forced, after = what_if.same_target_trace(request, change), what_if.changed_trace(request, change)
        marked = key if action in (content.Action.FORBID, content.Action.FOCUS) else -1
        payload = content.bars_payload(head, row, marked, before, forced)
        weight_bars(payload, "weight_bars", partial(url_state.write, "rewrite_key"), _take_by_hand)
        st.caption(content.EXPLAINED[content.Action(action)])
    with right:
        st.markdown(f"With these weights: **{one_line(after.target_text)}**")
        st.html(compared_html(before, forced, after))
        said = [content.describe_rewriting(each, before, forced, after) for each in change]
        show_finding(" ".join(said) or "Nothing is changed yet: drag a bar.")
        step = row
        if head.kind == "encoder":  # the step whose own token gains or loses the most probability
            moved = np.abs(before.target_probabilities - forced.target_probabilities)
            step = max(before.scored_steps, key=lambda at: moved[at])
        _show_next(request, trace, change, step)
    show_attempt(
        "Hide the verb of the source from all heads of the cross-attention, at every step: which words change, its "
        "translation alone? Then at its own step only. Cutting an attention and looking at what is lost is called "
        "attention knockout (Geva et al. 2023); it tells what went through these weights in this sentence."
    )


def _places(trace: Trace, head: Head) -> tuple[int, int, tuple[float, ...] | None]:
    """Return row, key and weights by hand; what the address has not, or the model, is what to begin with."""
    weights, is_decoder = trace.attention(head.kind)[head.layer, head.head], head.kind == "decoder"
    others = weights if head.kind == "cross" else weights * ~np.eye(len(weights), dtype=bool)  # than its own token
    row, key = strongest_word_pair(others, content.keys_of(trace, head.kind)) or (0, 0)
    if len(weights) > 1:
        label = "Row (source token)" if head.kind == "encoder" else "Step"
        row = slider(label, 1, len(weights), "rewrite_row", start=row + 1, width=300) - 1
    keys = row + 1 if is_decoder else weights.shape[1]
    key = url_state.read_number("rewrite_key", min(key, keys - 1) + 1) - 1
    return row, min(key, keys - 1), content.weights_in(url_state.read("rewrite_weights"), keys)


def _take_by_hand(weights: str) -> None:
    """Keep what was drawn: the weights, and with them the change by hand."""
    url_state.write("rewrite_weights", weights)
    st.session_state["rewrite"] = str(content.Action.BY_HAND)


def _show_next(request: TranslationRequest, trace: Trace, change: what_if.Interventions, step: int) -> None:
    """Show the candidates of one step in both runs."""
    old, new = (what_if.step_probabilities(request, asked, step) for asked in ((), change))
    name = results.translator(request.checkpoint).tokenizer.piece_text
    st.markdown(plain(f"Next token at step {step + 1}, after {trace.decoder_input_tokens[step]}"))
    alt = "The most probable next tokens of both runs with their probabilities"
    see = content.describe_next(old, new, name)
    show_figure(candidates_figure(old, new, name), "next_tokens", alt, see)
    show_finding(see)
