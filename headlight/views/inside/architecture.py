"""The architecture as a map: the paper's figure for the loaded checkpoint, and the way from each block to its view."""

from functools import lru_cache, partial

import pandas as pd
import streamlit as st

from headlight.app import results, state
from headlight.app.head_choice import take_head
from headlight.app.parameters import default_of
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.app.widgets import offer_table, plain, show_translation
from headlight.components.show import architecture_diagram
from headlight.plots.numbers import pluralize
from transformer.interpret.parameters import Block, blocks_of, parameter_rows
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .architecture_content import diagram_payload, share_words, sizes, sizes_words
from .block_texts import block_text

_KINDS = {("encoder", "self_attention"): "encoder", ("decoder", "self_attention"): "decoder"}
_PAGES = {
    "embedding": ("pages/positions.py", "Positions: how the model knows the order of words"),
    "positions": ("pages/positions.py", "Positions: how the model knows the order of words"),
    "output_projection": ("pages/decoding.py", "Decoding: from these numbers to a word"),
    "softmax": ("pages/decoding.py", "Decoding: from these numbers to a word"),
}


def show(request: TranslationRequest) -> None:
    """Show the paper's figure for this checkpoint, the chosen block, and all parameters. Raises UserError."""
    translator = results.translator(request.checkpoint)
    trace = show_translation(request)
    blocks = blocks_of(translator.model)
    by_name = {block.name: block for block in blocks}
    chosen = by_name.get(state.value("block"), by_name[default_of("block")])
    config = translator.model.config
    diagram, details = st.columns([11, 10], gap="large")
    with diagram:
        payload = diagram_payload(blocks, config, "source tokens", "target tokens, shifted right")
        architecture_diagram(payload, chosen.name, "diagram", lambda name: state.go(block=name))
    with details:
        text = block_text(chosen.kind, config)
        where = "" if chosen.layer is None else f", {chosen.stack} layer {chosen.layer + 1}"
        st.subheader(f"{text.title}{where}")
        st.latex(text.formula)
        st.markdown(f"{text.meaning} *{text.source}.*")
        _show_ways(chosen)
        share = share_words(chosen, sum(block.parameters for block in blocks)) or "none"
        st.markdown(f"**Parameters:** {plain(share)}{' of all parameters' * share.endswith('%')}")
        tokens = trace.source_tokens if chosen.stack == "encoder" else trace.decoder_input_tokens
        st.markdown(plain(sizes_words(chosen, len(tokens), config)))
        st.caption(
            "Choose a block, or another layer by its number. Under its name: its parameters and their share of all."
        )
        with st.expander("All parameters", key="parameters_fold"):
            _show_parameters(request.checkpoint)


def _show_ways(block: Block) -> None:
    """Offer the view or the page that goes on from a block."""
    if "attention" in block.kind and block.layer is not None:
        head = Head(AttentionKind(_KINDS.get((block.stack, block.kind), "cross")), block.layer, 0)
        with st.container(horizontal=True):
            _offer_view("Step by step through this block", "step by step", head)
            if head.kind == "decoder":
                _offer_view("What its mask hides", "masks", head)
    elif block.kind in _PAGES:
        page, label = _PAGES[block.kind]
        st.page_link(page, label=label, icon=":material/arrow_forward:")


def _offer_view(label: str, view: str, head: Head) -> None:
    st.button(label, icon=":material/arrow_forward:", on_click=partial(take_head, head, inside=view), type="primary")


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
    """Return the number of parameters in words, and the table of all."""
    rows = parameter_rows(results.translator(checkpoint).model)
    total = sum(row.count for row in rows)
    columns = ["parameter", "shape", "values", "share", "shared with"]
    cells = [(row.name, sizes(*row.shape), row.count, row.count / total, row.shared_with or "") for row in rows]
    tensors = pluralize(sum(row.count > 0 for row in rows), "tensor")
    return f"{total:,} values in {tensors}, as the file names them.", pd.DataFrame(cells, columns=columns)
