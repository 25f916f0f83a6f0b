"""The view of one attention block of the model, step by step, and the choice of that block."""

import streamlit as st

from headlight.app import results, state
from headlight.app.choices import row_label
from headlight.app.finding import Templates
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_download, offer_page, show_translation
from headlight.components.show import attention_steps
from headlight.plots.names import KINDS, kind_name
from transformer.config import Positions
from transformer.interpret.attention_block import bundle, script
from transformer.interpret.trace import RowLabel, name_rows
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .block_facts import Block, steps_page

_CHOSEN = ("query", "key", "at_dimension", "at_step")
TEMPLATES = Templates.beside(__file__)


def choose_block(request: TranslationRequest) -> Block:
    """Show the sentence and the choice of kind, layer and head; return the block. Raises UserError."""
    beside = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    with beside:
        trace = show_translation(request)
    with st.container(horizontal=True, gap="medium"):
        chosen = choose_head_of(request, KINDS, first="cross")
    kind, layer, head = chosen.kind, chosen.layer, chosen.head
    with beside:
        named_by = RowLabel.FED if kind == "encoder" else row_label()
    source, fed = trace.source_tokens, trace.decoder_input_tokens
    tokens, predicted = (source, None) if kind == "encoder" else (fed, trace.target_tokens)
    config = results.translator(request.checkpoint).model.config
    study = results.study(request)
    stages, parameters = study.stages(kind, layer), study.parameters(kind, layer)
    return Block(
        kind=kind,
        layer=layer,
        head=head,
        stages=stages,
        parameters=parameters,
        gaps=study.rounding_errors(kind, layer),
        query_tokens=tokens,
        queries=name_rows(tokens, predicted, named_by),
        keys=fed if kind == "decoder" else source,
        embedding={
            "scaled": config.scale_embeddings,
            "positioned": config.positions not in (Positions.NONE, Positions.RELATIVE),
            "normalised": config.embedding_norm,
        },
    )


def show(request: TranslationRequest) -> None:
    """Show the block, every step below one another, and the program that recomputes it. Raises UserError."""
    block = choose_block(request)
    facts, chosen, checkpoint = block.facts(), read_chosen(), request.checkpoint.name
    st.caption(TEMPLATES.text("how_to_read"))
    attention_steps(facts, chosen, "steps", remember)
    head = Head(AttentionKind(block.kind), block.layer, block.head)
    title = TEMPLATES.text("title", kind=kind_name(block.kind), checkpoint=checkpoint, head=head)
    name = f"attention-{block.kind}-{block.layer + 1}-{block.head + 1}"
    offer_page(lambda: steps_page(facts, chosen, title, results.trace(request), checkpoint), f"{name}.html")
    offer_program(block, title, name)


def read_chosen() -> tuple[str, ...]:
    """Return the query, key, dimension and step of the address."""
    return tuple(map(state.value, _CHOSEN))


def remember(chosen: tuple[str, ...]) -> None:
    """Write the visitor's query, key, dimension and step into the address."""
    state.go(**dict(zip(_CHOSEN, chosen, strict=True)))


def offer_program(block: Block, title: str, name: str) -> None:
    """Offer the program and its download; `title` names the head, `name` begins the file's."""
    stages, parameters = block.stages, block.parameters
    program = script(stages, parameters, title, cross=block.kind == "cross", sentence=block.sentence, head=block.head)
    st.subheader(TEMPLATES.text("in_numpy"))
    st.markdown(TEMPLATES.text("lines", lines=len(program.splitlines())))
    label = TEMPLATES.text("download")
    offer_download(label, lambda: bundle(stages, parameters, program), f"{name}.zip", "application/zip")
    with st.expander(TEMPLATES.text("program")):
        st.code(program, language="python")
