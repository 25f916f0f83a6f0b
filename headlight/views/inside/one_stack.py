"""The view of one stack: a head's map with its four blocks, and the encoder-decoder's map that a block stands for."""

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app.choices import one_of, switch
from headlight.app.head_choice import choose_head
from headlight.app.results import TranslationRequest
from headlight.app.results.one_stack import ONE_STACK, find_one_stack, one_stack_names, traces
from headlight.app.widgets import Panel, one_line, plain, show_finding, show_panels, show_translation
from headlight.plots.limits import MOST_CELLS
from headlight.plots.names import kind_name
from transformer.errors import UserError
from transformer.interpret.one_stack import BlockName, OneStackTrace, overlaps
from transformer.interpret.trace import Trace
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from . import one_stack_content as content
from .one_stack_content import TEMPLATES

_BLOCKS = {str(name): name for name in BlockName if name.kind}


def is_offered() -> bool:
    """Return whether a checkpoint has a one stack beside it."""
    return bool(one_stack_names())


def show(request: TranslationRequest) -> None:
    """Show the one stack of the request's checkpoint beside its own translation and maps. Raises UserError."""
    stack = find_one_stack(request.checkpoint)
    if stack is None:
        beside = tuple(each.removesuffix(ONE_STACK) for each in one_stack_names())
        raise UserError(TEMPLATES.text("no_stack", checkpoints=beside))
    show_translation(request)
    controls = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    with controls:
        block = _BLOCKS[one_of(tuple(_BLOCKS), "block", visibility="collapsed")]
        prefix = switch("prefix_mask")
    trace, other = traces(request, stack, prefix)
    st.markdown(f"{plain(TEMPLATES.text('label_stack'))} **{one_line(trace.target_text)}**")
    if (size := len(trace.tokens)) ** 2 > MOST_CELLS:
        raise UserError(TEMPLATES.text("too_long", size=size, most_cells=MOST_CELLS))
    common = overlaps(trace, block, other.attention(block.kind or ""))
    with controls:
        layer, number, *_ = np.unravel_index(common.argmax(), common.shape)
        closest = Head(AttentionKind.DECODER, int(layer), int(number))
        index = choose_head({"decoder": common.shape[:2]}, lambda _: closest).index
    show_finding(content.describe_reading(trace, index))
    if prefix:
        show_finding(content.describe_prefix(traces(request, stack)[0], trace))
    _show_maps(trace, other, block, index, common[index])


def _show_maps(
    trace: OneStackTrace, other: Trace, block: BlockName, index: tuple[int, int], common: np.ndarray
) -> None:
    """Show both maps; common: the overlap of the head's block with each head of the encoder-decoder."""
    nearest = tuple(map(int, np.unravel_index(common.argmax(), common.shape)))
    head = Head(AttentionKind(block.kind or ""), *nearest)
    left = plots.one_stack(trace, *index, theme="page")
    right = plots.one_stack_block(trace, block, other, *head.index, theme="page")
    near = TEMPLATES.text("nearest", head=head, heads=common.size, common=common.max())
    show_panels(
        trace.source_text,
        Panel(TEMPLATES.text("panel_stack"), left, TEMPLATES.text("hover"), len(trace.tokens), "one_stack"),
        Panel(kind_name(head.kind), right, near, other.attention(head.kind).shape[-1], "stack_block"),
    )
