"""The player: a translation step by step, with the candidates of each step; each of them can be forced."""

import re
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import results, state
from headlight.app.choices import numbers, one_of
from headlight.app.finding import Templates
from headlight.app.head_choice import Start, choose_heads_of, take_head
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_page, show_translation
from headlight.components.show import decoding_player
from transformer import Beam
from transformer.interpret.trace import Trace, attention_map
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .content import decoding_facts, decoding_page, hardest_step
from .prefix import force

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest, row: DeltaGenerator) -> None:
    """Show the player, with layer and head to choose in `row`. Raises UserError."""
    request = replace(request, rank=_choose_hypothesis(request))
    with row:
        head = choose_heads_of(request, first_head(request))
    trace = results.trace(request)
    cross, decoder = (attention_map(trace, kind, head.layer, head.head) for kind in ("cross", "decoder"))
    unforced = results.trace(replace(request, prefix=(), rank=1)).target_text if request.prefix else ""
    facts = decoding_facts(trace, cross, decoder, len(request.prefix), unforced)
    shown = {"facts": facts, "layer": head.layer, "head": head.head}

    def force_token(step: int, token_id: int) -> None:
        """Force a candidate in place of the token of this step, and stay there."""
        force(".".join(map(str, (*trace.target_ids[: step - 1], token_id))), step=str(step))

    step = chosen_step(trace)
    decoding_player(
        {**shown, "autoplay": not state.value("step")},
        step + 1,
        key="player",
        on_step=lambda step: state.go(step=str(step)),
        on_head=lambda layer, head: take_head(Head(AttentionKind.CROSS, layer, head)),
        on_take=force_token,
        on_undo=lambda: force(""),
    )
    offer_page(lambda: decoding_page(shown, step + 1, request.checkpoint.name), "decoding.html")
    st.caption(TEMPLATES.text("caption"))


def chosen_step(trace: Trace) -> int:
    """Return the step that the address names, counted from 0; the hardest step without one."""
    text = state.value("step")
    if not re.fullmatch(r"[0-9]{1,4}", text):
        return hardest_step(trace)
    return min(max(int(text), 1), len(trace.target_ids)) - 1


def chosen_rank(request: TranslationRequest) -> int:
    """Return the rank, from 1, of the hypothesis that the address names: of a beam search one of those it found."""
    rank = state.value("hypothesis")
    return int(rank) if isinstance(request.strategy, Beam) and rank in _ranks(request) else 1


def first_head(request: TranslationRequest) -> Start:
    """Return the choice of the first head, that of the model's translation: a forced token does not change it."""
    return partial(results.default_head, replace(request, prefix=(), rank=1))


def _ranks(request: TranslationRequest) -> tuple[str, ...]:
    return numbers(len(results.study(replace(request, rank=1)).hypotheses()))


def _choose_hypothesis(request: TranslationRequest) -> int:
    """Show the translation, of a beam search with buttons for its hypotheses; return the rank shown, from 1."""
    if not isinstance(request.strategy, Beam):
        show_translation(request)
        return 1
    rank = chosen_rank(request)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="stretch"):
            show_translation(replace(request, rank=rank))
        one_of(_ranks(request), "hypothesis")
    return rank
