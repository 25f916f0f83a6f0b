"""The architecture: the paper's figure for the loaded checkpoint, block by block."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from headlight.app import results, url_state
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.app.widgets import (
    offer_table,
    plain,
    show_table,
    show_translation,
)
from headlight.components.show import architecture_diagram
from headlight.plots.text import pluralize, signed, token_cells
from transformer.interpret.parameters import Block, blocks_of, parameter_rows
from transformer.interpret.trace import Trace

from .architecture_content import (
    BlockText,
    block_text,
    diagram_payload,
    share_words,
    statistics,
)


def show(request: TranslationRequest) -> None:
    """Show the paper's figure for this checkpoint, the chosen block, and all parameters. Raises UserError."""
    translator = results.translator(request.checkpoint)
    trace = show_translation(request)
    blocks = blocks_of(translator.model, results.residual_stream(request))
    by_name = {block.name: block for block in blocks}
    chosen = by_name.get(url_state.read("block"), by_name[str(url_state.PARAMETERS["block"].default)])
    config = translator.model.config
    diagram, details = st.columns([11, 10], gap="large")
    with diagram:
        payload = diagram_payload(blocks, config, "source tokens", "target tokens, shifted right")
        architecture_diagram(payload, chosen.name, "diagram", lambda name: url_state.write("block", name))
        st.caption(
            f"{pluralize(config.num_encoder_layers, 'encoder layer')} and "
            f"{pluralize(config.num_decoder_layers, 'decoder layer')}, {config.norm}-norm, from the bottom to the top "
            "as in the paper's figure 1. Under a block's name: its parameters and their share of all. **Choose a "
            "block**, and another layer by its number."
        )
    with details:
        _show_block(chosen, block_text(chosen.kind, config), sum(block.parameters for block in blocks), trace)
    st.subheader("All parameters")
    _show_parameters(request.checkpoint)


def _show_block(block: Block, text: BlockText, total: int, trace: Trace) -> None:
    where = "" if block.layer is None else f", {block.stack} layer {block.layer + 1}"
    st.subheader(f"{text.title}{where}")
    st.latex(text.formula)
    st.markdown(f"{text.meaning} *{text.source}.*")
    share = share_words(block, total) or "none"
    st.markdown(f"**Parameters:** {plain(share)}{' of all parameters' * share.endswith('%')}")
    tokens = trace.source_tokens if block.stack == "encoder" else trace.decoder_input_tokens
    shapes = [f"{len(tokens)} ids" if block.before is None else _sizes(block.before.shape), _sizes(block.after.shape)]
    st.markdown(plain(f"Here: {shapes[0]} in, {shapes[1]} out (batch 1)."))
    rows = []
    for name, array in (("in", block.before), ("out", block.after)):
        if array is not None:
            values = statistics(array)
            rows += [
                (f"{name}: {what}", [signed(number, 2 if abs(number) >= 0.005 else 4) for number in line])
                for what, line in zip(("mean", "std. dev.", "norm"), values, strict=True)
            ]
    show_table(f"What goes in and comes out of {text.title}, token by token", "token", token_cells(tokens), rows)
    if block.kind == "softmax":
        st.caption("Columns are the decoder's steps, each a distribution over the vocabulary with mean 1 / V.")


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _show_parameters(checkpoint: CheckpointFiles) -> None:
    summary, frame = _parameters(checkpoint)
    st.markdown(summary)
    formats = {"values": "localized", "share": "percent"}
    shown = {name: st.column_config.NumberColumn(format=form) for name, form in formats.items()}
    with st.container(key="parameters"):
        st.dataframe(frame, hide_index=True, height=320, column_config=shown)
    offer_table("Download as CSV", lambda: frame, "parameters.csv")


@lru_cache(maxsize=8)  # the same for every sentence
def _parameters(checkpoint: CheckpointFiles) -> tuple[str, pd.DataFrame]:
    """Return how many parameters there are, in words, and the table of all."""
    rows = parameter_rows(results.translator(checkpoint).model)
    total = sum(row.count for row in rows)
    columns = ["parameter", "shape", "values", "share", "shared with"]
    cells = [(row.name, _sizes(row.shape), row.count, row.count / total, row.shared_with or "") for row in rows]
    tensors = pluralize(sum(row.count > 0 for row in rows), "tensor")
    return f"{total:,} values in {tensors}, as the file names them.", pd.DataFrame(cells, columns=columns)
