"""Switch heads off and translate on: the worth of each head, and the translation with some of them ablated."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from headlight.app import results, state
from headlight.app.choices import one_of
from headlight.app.facts import trace_facts
from headlight.app.finding import Templates
from headlight.app.model_queue import part_by_part
from headlight.app.results import TranslationRequest
from headlight.app.selection import shapes_of
from headlight.app.widgets import show_attempt, show_translation
from headlight.components.show import head_switches, translation_table
from transformer.interpret.study import Study
from transformer.interpret.what_if.importance import ABLATIONS
from transformer.model.heads import Head, heads_address, parse_heads
from transformer.model.names import AttentionKind

from .facts import head_facts, importance_facts, outcome_facts

_NONE = "none"  # in the address: no head is off
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show every head as a switch, coloured by the loss without it, and both translations. Raises UserError."""
    left, right = st.container(key="ablated").columns([7, 13], gap="medium")
    with right:
        trace = show_translation(request)
    with left:
        possible = [name for name in ABLATIONS if name != "mean" or results.has_samples(request.checkpoint)]
        with st.popover(TEMPLATES.text("options"), type="tertiary"):
            ablation = one_of(possible, "ablated_by")
        study = results.study(request)
        losses = partial(study.head_losses, ablation)

        def start() -> str:  # as headlight/components/head_switches/story.js has it
            return losses(AttentionKind.CROSS).default_head().address

        off = parse_heads(state.value("off") or start(), shapes_of(trace))  # its outcome comes before all losses
    if off:
        with right:
            translation_table(_change(study, ablation, off), "outcome")
    with left:
        part_by_part(list(AttentionKind), losses, TEMPLATES.text("ablating"))  # others may go first between the kinds
        facts = {"before": trace_facts(trace), "importance": importance_facts(study.importance(ablation))}
        head_switches(facts, ablation, heads_address(off), "switches", partial(_switch, start()))
    if not off:
        with right:
            translation_table(facts, "outcome")
    show_attempt(TEMPLATES.text("attempt"))


def _switch(start: str, off: str) -> None:
    state.go(off="" if off == start else off or _NONE)


def _change(study: Study, ablation: str, off: Sequence[Head]) -> dict:
    """Return the facts on both translations, with all heads and without some."""
    interventions, (head, *others) = tuple(map(ABLATIONS[ablation].of, off)), off
    if head.kind == AttentionKind.CROSS and not others:  # measured already where it is the first to be off
        forced = study.head_losses(ablation, head.kind).probabilities(head)
    else:
        forced = study.under(*interventions, same_target=True).trace.target_probabilities
    return outcome_facts(study.trace, forced, study.under(*interventions).trace, {"off": list(map(head_facts, off))})
