"""Rewrite attention: other weights for a head, a layer or all heads, and what the model makes of them."""

from functools import partial

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import from_list, one_of, slider
from headlight.app.figures import show_figure
from headlight.app.head_choice import Head, choose_head_of
from headlight.app.results import Choice, what_if
from headlight.app.sentences import show_translation
from headlight.app.widgets import plain, show_attempt, show_finding
from headlight.components.show import weight_bars
from headlight.plots.text import KIND_NAMES
from headlight.plots.what_if import candidates_figure
from transformer.interpret.trace import Trace

from .compared_html import compared_html
from .rewriting_payload import Action, Concerned, Rewriting, Scope, bars_payload, telling_place, weights_in
from .rewriting_text import EXPLAINED, describe_next, describe_rewriting


def show(choice: Choice) -> None:
    """A head's row of weights to change by buttons or by hand, and both runs beside each other. Raises UserError."""
    trace = results.trace(choice)
    show_translation(choice)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="rewriting_heads"):
        head = choose_head_of(choice, tuple(KIND_NAMES), "cross")
        scope = Scope(from_list("Which heads", tuple(Scope), "rewrite_heads", width=170, hide_label=True))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="rewriting_how"):
        action = Action(one_of("Change", tuple(Action), "rewrite", hide_label=True))
        concerned = Concerned(from_list("Which rows", tuple(Concerned), "rewrite_rows", width=170, hide_label=True))
        rewriting = _chosen(trace, head, scope, action, concerned)
    left, right = st.columns([8, 12], gap="medium")
    with left:
        before, forced, after = _runs(choice, str(rewriting))
        payload = bars_payload(rewriting, before, forced)
        weight_bars(payload, "weight_bars", partial(url_state.write, "rewrite_key"), _take_by_hand)
        st.caption(EXPLAINED[action])
    with right:
        words = plain(" ".join(after.target_text.split())) or "(nothing: the model ended the sentence at once)"
        st.markdown(f"With these weights: **{words}**")
        st.html(compared_html(before, forced, after))
        show_finding(describe_rewriting(rewriting, before, forced, after))
        _show_next(choice, rewriting, before, forced)
    show_attempt(
        "Hide the verb of the source from all heads of the cross-attention, at every step: which words change, its "
        "translation alone? Then at its own step only. Cutting an attention and looking at what is lost is called "
        "attention knockout (Geva et al. 2023); it tells what went through these weights in this sentence."
    )


def _chosen(trace: Trace, head: Head, scope: Scope, action: Action, concerned: Concerned) -> Rewriting:
    """What the address asks for; a row, a key or weights that are not there are those to begin with."""
    row, key = telling_place(trace, head)
    rows = len(trace.attention(head.kind)[0, 0])
    label = "Row (source token)" if head.kind == "encoder" else "Step"
    if rows > 1:
        row = slider(label, 1, rows, "rewrite_row", start=row + 1, width=300) - 1
    keys = row + 1 if head.kind == "decoder" else len(trace.attention(head.kind)[0, 0, 0])
    key = url_state.read_number("rewrite_key", min(key, keys - 1) + 1) - 1
    weights = weights_in(url_state.read("rewrite_weights"), keys)
    return Rewriting(head.kind, head.layer, head.head, scope, action, concerned, row, min(key, keys - 1), weights)


def _runs(choice: Choice, asked: str) -> tuple[Trace, Trace, Trace]:
    before = results.trace(choice)
    if not asked:
        return before, before, before
    return before, what_if.same_target_trace(choice, asked), what_if.changed_trace(choice, asked)


def _take_by_hand(weights: str) -> None:
    """What was drawn: the weights, and with them the change by hand."""
    url_state.write("rewrite_weights", weights)
    st.session_state["rewrite"] = str(Action.BY_HAND)


def _show_next(choice: Choice, rewriting: Rewriting, before: Trace, forced: Trace) -> None:
    """The candidates of one step in both runs: the chosen step, for the encoder the one that changes most."""
    step = rewriting.step_shown(before, forced)
    old, new = (what_if.next_probabilities(choice, asked, step) for asked in ("", str(rewriting)))
    name = results.translator(choice.checkpoint).tokenizer.piece_text
    st.markdown(plain(f"Next token at step {step + 1}, after {before.fed_tokens[step]}"))
    alt, see = "The most probable next tokens of both runs with their probabilities", describe_next(old, new, name)
    show_figure(candidates_figure(old, new, name), "next_tokens", alt, see)
    show_finding(see)
