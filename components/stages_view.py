"""The view of one attention block, step by step."""

import re

import streamlit as st

import session
from figures.stages import View, stages_payload
from figures.style import KIND_NAMES

from . import address, choices, sidebar
from .attention_steps import attention_steps


def show(choice: sidebar.Choice) -> None:
    """Sentence, kind, layer and head, and every step below one another. Raises UserError."""
    translator = session.translator(choice.checkpoint)
    trace = session.trace(choice.checkpoint, choice.text, choice.strategy)
    sidebar.show_sentences(translator, trace)
    kind = choices.one_of("Kind of attention", list(KIND_NAMES), "kind")
    layers, heads = trace.attention(kind).shape[:2]
    with st.container(horizontal=True, gap="medium"):
        layer, head = choices.single_head(layers, heads)
    stages, parameters, gaps = session.stages(choice.checkpoint, choice.text, choice.strategy, kind, layer)
    view = View(
        kind, layer, head, 0,
        queries=trace.source_tokens if kind == "encoder" else trace.fed_tokens,
        keys=trace.fed_tokens if kind == "decoder" else trace.source_tokens,
        predicted=None if kind == "encoder" else trace.next_tokens,
    )  # fmt: skip
    query = _number("query", min(3, len(view.queries)))
    key = _number("key", int(stages.weights[0, head, min(query, len(view.queries)) - 1].argmax()) + 1)
    dimension = _number("dimension", head * stages.d_k + 1)
    attention_steps(stages_payload(stages, parameters, gaps, view), (query, key, dimension), "steps", _remember)


def _number(name: str, default: int) -> int:
    said = address.remembered(name, str(default))
    return int(said) if re.fullmatch(r"[0-9]{1,5}", said) and int(said) else default


def _remember(query: int, key: int, dimension: int) -> None:
    for name, value in (("query", query), ("key", key), ("dimension", dimension)):
        address.remember(name, str(value))
