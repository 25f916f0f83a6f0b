"""Which block and head of the model a view looks into, and its stages for the sentence."""

from dataclasses import dataclass

import streamlit as st

import session
from plots.text import KIND_NAMES
from session import Choice
from transformer.interpret.attention_block import BlockParameters, Stages
from ui.choices import one_of
from ui.selectors import single_head
from ui.sentences import show_sentences

from .steps_text import View


@dataclass(frozen=True)
class ChosenBlock:
    """One attention block as the model goes through it, what it has learned, and how closely both agree."""

    view: View
    stages: Stages
    parameters: BlockParameters
    gaps: dict[str, float]


def choose_block(choice: Choice) -> ChosenBlock:
    """Show the sentence, ask for kind, layer and head, and read the block. Raises UserError."""
    trace = session.trace(choice)
    show_sentences(choice)
    with st.container(horizontal=True, gap="medium"):
        kind = one_of("Kind of attention", list(KIND_NAMES), "kind")
        layer, head = single_head(*trace.attention(kind).shape[:2])
    view = View(
        kind,
        layer,
        head,
        0,
        queries=trace.source_tokens if kind == "encoder" else trace.fed_tokens,
        keys=trace.fed_tokens if kind == "decoder" else trace.source_tokens,
        predicted=None if kind == "encoder" else trace.next_tokens,
    )
    return ChosenBlock(view, *session.stages(choice, kind, layer))
