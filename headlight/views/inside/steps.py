"""The view of one attention block of the model, step by step, and the choice of that block."""

from dataclasses import dataclass

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import row_label
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import offer_download, offer_page, show_translation
from headlight.components.show import attention_steps
from headlight.plots.names import KIND_NAMES
from transformer.config import Positions
from transformer.interpret.attention_block import BlockParameters, Stages, bundle, script
from transformer.interpret.trace import RowLabel, name_rows

from .steps_content import View, stages_payload, steps_page

ALL_STEPS, FIRST_STEP = "all", "products"
HOW_TO_READ = (
    "Choose a query, a key and a dimension; **point at any cell** and the sum behind it is written out, recomputed "
    "from the numbers of the step before. A solid frame is the query, a dashed one key or dimension. ← and → go from "
    "step to step."
)


@dataclass(frozen=True)
class ChosenBlock:
    """One attention block as the model goes through it, what it has learned, and how closely both agree."""

    view: View
    stages: Stages
    parameters: BlockParameters
    gaps: dict[str, float]
    row_names: tuple[str, ...]


def choose_block(request: TranslationRequest) -> ChosenBlock:
    """Show the sentence, ask for kind, layer and head, and read the block. Raises UserError."""
    beside = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    with beside:
        trace = show_translation(request)
    with st.container(horizontal=True, gap="medium"):
        kind, layer, head = choose_head_of(request, tuple(KIND_NAMES), first="cross")
    with beside:
        named_by = RowLabel.FED if kind == "encoder" else row_label()
    source, fed = trace.source_tokens, trace.decoder_input_tokens
    queries, keys = source if kind == "encoder" else fed, fed if kind == "decoder" else source
    config = results.translator(request.checkpoint).model.config
    predicted = None if kind == "encoder" else trace.target_tokens
    relative = config.positions == Positions.RELATIVE
    positioned = config.positions != Positions.NONE and not relative
    enters = {"scaled": config.scale_embeddings, "positioned": positioned, "normalised": config.embedding_norm}
    enters["by_distance"] = relative
    view = View(kind, layer, head, 0, queries, keys, predicted, **enters)  # type: ignore[arg-type]  # no averages
    names = name_rows(queries, predicted, named_by)
    stages, parameters, gaps = measures.stages(request, kind, layer)
    return ChosenBlock(view=view, stages=stages, parameters=parameters, gaps=gaps, row_names=names)


def show(request: TranslationRequest) -> None:
    """Show the block, every step below one another, and the program that recomputes it. Raises UserError."""
    block = choose_block(request)
    view, stages = block.view, block.stages
    query = min(url_state.read_number("at_query", 3), len(view.queries))
    key = url_state.read_number("at_key", int(stages.weights[0, view.head, query - 1].argmax()) + 1)
    dimension = url_state.read_number("at_dimension", view.head * stages.d_k + 1)
    payload = stages_payload(stages, block.parameters, block.gaps, view) | {"queries": list(block.row_names)}
    chosen, checkpoint = (query, key, dimension, chosen_step(payload)), request.checkpoint.name
    attention_steps(payload, chosen, "steps", remember)
    st.caption(HOW_TO_READ)
    title = f"{KIND_NAMES[view.kind]} of {checkpoint}, layer {view.layer + 1}, head {view.head + 1}"
    name = f"attention-{view.kind}-{view.layer + 1}-{view.head + 1}"
    offer_page(lambda: steps_page(payload, chosen, title, results.trace(request), checkpoint), f"{name}.html")
    offer_program(stages, block.parameters, view, title, name)


def chosen_step(payload: dict, start: str = FIRST_STEP) -> str:
    """Return the name of the step that the address asks for; `start` if there is no such step."""
    asked = url_state.read("at_step", start)
    return asked if asked in (ALL_STEPS, *(step["name"] for step in payload["steps"])) else start


def remember(query: int, key: int, dimension: int, step: str, start: str = FIRST_STEP) -> None:
    """Keep in the address what was chosen in the steps."""
    for name, value in (("at_query", query), ("at_key", key), ("at_dimension", dimension)):
        url_state.write(name, str(value))
    url_state.write("at_step", step, start)


def offer_program(stages: Stages, parameters: BlockParameters, view: View, title: str, name: str) -> None:
    """Offer the program and its download; `title` says what it recomputes, `name` begins the file's."""
    program = script(stages, parameters, title, cross=view.kind == "cross", sentence=view.sentence, head=view.head)
    st.subheader("The same in NumPy")
    st.markdown(
        f"These {len(program.splitlines())} lines go through all the steps in float64 and print the same numbers. The "
        "download holds them and this example's arrays."
    )
    label = "Download program and arrays"
    offer_download(label, lambda: bundle(stages, parameters, program), f"{name}.zip", "application/zip")
    with st.expander("The program"):
        st.code(program, language="python")
