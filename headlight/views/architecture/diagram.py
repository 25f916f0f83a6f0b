"""The paper's figure for the loaded checkpoint: choose a block and see what it is and what it did to this sentence."""

import functools

import pandas as pd
import streamlit as st

from headlight.app import results, url_state
from headlight.app.results import CheckpointFiles, Choice
from headlight.app.sentences import show_translation
from headlight.app.widgets import offer_table, plain, show_table
from headlight.components.architecture_diagram import architecture_diagram
from headlight.plots.text import counted, signed
from transformer.interpret.parameters import Block, blocks_of, parameter_rows
from transformer.interpret.trace import Trace

from .block_text import BlockText, block_text
from .diagram_payload import diagram_payload, statistics
from .text import share_words


def show(choice: Choice) -> None:
    """The diagram, the chosen block, and the table of all parameters. Raises UserError."""
    translator = results.translator(choice.checkpoint)
    trace = results.trace(choice)
    blocks = blocks_of(translator.model, results.residual_stream(choice))
    show_translation(choice)
    by_name = {block.name: block for block in blocks}
    chosen = by_name.get(url_state.read("block"), by_name[url_state.PARAMETERS["block"].default])
    config = translator.model.config
    diagram, details = st.columns([11, 10], gap="large")
    with diagram:
        payload = diagram_payload(blocks, "source tokens", "target tokens, shifted right")
        architecture_diagram(payload, chosen.name, "diagram", lambda name: url_state.write("block", name))
        st.caption(
            f"{counted(config.num_encoder_layers, 'encoder layer')} and "
            f"{counted(config.num_decoder_layers, 'decoder layer')}, {config.norm}-norm, as this checkpoint has them. "
            "From the bottom to the top, as in the paper's figure 1. **Choose a block**, and another layer by its "
            "number."
        )
    with details:
        _show_block(chosen, block_text(chosen.kind, config), sum(block.parameters for block in blocks), trace)
    st.subheader("All parameters")
    _show_parameters(choice.checkpoint)


def _show_block(block: Block, text: BlockText, total: int, trace: Trace) -> None:
    place = "" if block.layer is None else f", {block.stack} layer {block.layer + 1}"
    st.subheader(f"{text.title}{place}")
    st.latex(text.formula)
    st.markdown(f"{text.meaning} *{text.source}.*")
    st.markdown(f"**Parameters:** {plain(share_words(block, total) or 'none')}")
    tokens = trace.source_tokens if block.stack == "encoder" else trace.fed_tokens
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
    show_table(f"What goes in and comes out of {text.title}, token by token", "token", tokens, rows)
    if block.kind == "softmax":
        steps = "The columns are the decoder's steps: each is a distribution over the vocabulary, its mean is 1 / V."
        st.caption(steps)


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _show_parameters(checkpoint: CheckpointFiles) -> None:
    summary, frame = _parameters(checkpoint)
    st.markdown(summary)
    formats = {"values": "localized", "share": "percent"}
    shown = {name: st.column_config.NumberColumn(format=format) for name, format in formats.items()}
    st.dataframe(frame, hide_index=True, height=320, column_config=shown)
    offer_table("Download as CSV", lambda: frame, "parameters.csv")


@functools.lru_cache(maxsize=8)  # whatever the sentence
def _parameters(checkpoint: CheckpointFiles) -> tuple[str, pd.DataFrame]:
    """How many parameters there are, and the table of all."""
    rows = parameter_rows(results.translator(checkpoint).model)
    total = sum(row.count for row in rows)
    columns = ["parameter", "shape", "values", "share", "shared with"]
    cells = [(row.name, _sizes(row.shape), row.count, row.count / total, row.shared_with or "") for row in rows]
    tensors = counted(sum(row.count > 0 for row in rows), "tensor")
    return f"{total:,} values in {tensors}, as the file names them.", pd.DataFrame(cells, columns=columns)
