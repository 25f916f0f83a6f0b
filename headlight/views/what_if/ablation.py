"""Switch heads off and translate on: the worth of each head, and the translation with some of them ablated."""

from collections.abc import Iterator

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import one_of
from headlight.app.line import is_there
from headlight.app.results import TranslationRequest, what_if
from headlight.app.widgets import one_line, show_attempt, show_finding, show_translation
from headlight.components.show import head_switches
from headlight.plots.text import pluralize
from transformer.interpret.what_if.importance import ABLATIONS
from transformer.interpret.what_if.intervention import Heads
from transformer.model.names import AttentionKind

from .ablation_content import EXPLAINED, describe_change, describe_ranking, heads_in, heads_text, switches_payload
from .change_content import compared_html

_NONE = "none"  # in the address: no head is off


def show(request: TranslationRequest) -> None:
    """Show every head as a switch, coloured by what is lost without it, and both translations. Raises UserError."""
    trace = results.trace(request)
    show_translation(request)
    left, right = st.columns([7, 13], gap="medium")
    with left:
        possible = [name for name in EXPLAINED if name != "mean" or results.has_samples(request.checkpoint)]
        explanation = " ".join(f"**{name}**: {words}" for name, words in EXPLAINED.items())
        ablation = one_of("Ablate by", possible, "ablated_by", explanation)
        if not importance_is_there(request, ablation):
            return
        found = what_if.importance(request, ablation)
        start = heads_text([found.default_head()])
        off = heads_in(url_state.read("off", start), found)
        payload = switches_payload(found, trace) | {"ablated_by": ablation}
        head_switches(payload, heads_text(off), "switches", lambda text: url_state.write("off", text or _NONE, start))
    with right:
        _show_change(request, ablation, off)
        show_finding(describe_ranking(found, trace))
    show_attempt(
        "Switch off all heads of one layer, then all of another: which layer can this sentence do without? Heads that "
        "may go one at a time may not all go together, since each makes up for the others (Michel et al. 2019; Voita "
        "et al. 2019). What is lost without a head is what the model has no other way to get: it does not tell what "
        "the head computes."
    )


def importance_is_there(request: TranslationRequest, ablation: str) -> bool:
    """Return whether `what_if.importance` is known; else the page says that it is to come."""
    url_state.keep("off")
    asked = url_state.asked("off").get("off", "")
    return is_there((request, ablation), lambda: _compute(request, ablation, asked), "Ablating each head")


def _compute(request: TranslationRequest, ablation: str, asked: str) -> Iterator[None]:
    """Fill the caches part by part: what each head is worth, then the translation without those asked for."""
    for kind in AttentionKind:
        what_if.losses_without(request, ablation, kind)
        yield
    found = what_if.importance(request, ablation)
    off = heads_in(asked, found) if asked else [found.default_head()]
    if off:
        interventions = tuple(map(ABLATIONS[ablation].of, off))
        what_if.changed_trace(request, interventions)
        yield
        what_if.same_target_trace(request, interventions)


def _show_change(request: TranslationRequest, ablation: str, off: list[Heads]) -> None:
    if not off:
        st.markdown("**All heads are on.** Choose one to switch it off: the model translates anew without it.")
        return
    interventions = tuple(map(ABLATIONS[ablation].of, off))
    before, after = results.trace(request), what_if.changed_trace(request, interventions)
    forced = what_if.same_target_trace(request, interventions)
    st.markdown(f"Without {pluralize(len(off), 'head')}: **{one_line(after.target_text)}**")
    st.html(compared_html(before, forced, after))
    show_finding(describe_change(before, forced, after, off))
