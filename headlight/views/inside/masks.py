"""The view of masks: a head with its mask and without, the next tokens of both runs, and the batch in a fold."""

import contextlib
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import line
from headlight.app.errors import error_text
from headlight.app.finding import Finding
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import (
    Panel,
    phone_container,
    plain,
    show_figure,
    show_finding,
    show_panels,
    show_table,
    show_translation,
    show_warnings,
)
from headlight.plots.limits import MOST_CELLS
from headlight.plots.names import KINDS, head_name, kind_name
from headlight.plots.tokens import shown_tokens
from transformer import UserError
from transformer.data.batching import BatchView
from transformer.interpret.mask_ablation import (
    DisabledMask,
    MaskedHead,
    MaskedPass,
    leakiest_head,
    masked_head,
)
from transformer.interpret.trace import RowLabel
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from . import masks_content as content
from .masks_content import TEMPLATES

# The mask that each kind of attention would miss: for real rows of the decoder padding is always later.
_MASK_OF = {"decoder": DisabledMask.CAUSAL, "encoder": DisabledMask.PADDING, "cross": DisabledMask.PADDING}


def show(request: TranslationRequest) -> None:
    """Show a head with its mask and without, the next tokens, and the batch in a fold. Raises UserError."""
    show_translation(request)
    controls = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    main = st.container()
    fold = st.expander(TEMPLATES.text("label_batch"), key="batch", on_change="rerun")
    with fold:
        second = replace(request, text=line("second"))
        batch = _batch(request, second) if fold.open else None
        if batch:
            _show_batch(batch, second)
    with controls:
        head = choose_head_of(request, KINDS, first="decoder", start=partial(_leakiest, request, second))
    with main:
        _show_head(request, second, head)


def _batch(request: TranslationRequest, second: TranslationRequest) -> BatchView | None:
    """Return both sentences as a batch; where the second cannot be used, say why and return None."""
    try:
        return results.study(request).beside(results.study(second))
    except UserError as error:
        st.warning(plain(TEMPLATES.text("unused_second", error=error_text(error))), icon=":material/edit:")
        return None


def _beside(request: TranslationRequest, second: TranslationRequest, kind: str) -> TranslationRequest:
    """Return the other sentence of a batch: for the causal mask the first one again, so that nothing is padded."""
    return request if kind == "decoder" else second


def _passes(request: TranslationRequest, second: TranslationRequest, kind: str) -> tuple[MaskedPass, MaskedPass]:
    """Return a pass with all masks, and one without that of a kind of attention."""
    study, other = results.study(request), results.study(second)
    return study.masked(other, DisabledMask.NOTHING), study.masked(other, _MASK_OF[kind])


def _shown(batch: BatchView) -> int:
    """Return the sentence to be shown, from 0: the shorter one, which has the padding."""
    return int(np.argmin(batch.source_lengths))


def _too_long(batch: BatchView, kind: str) -> str:
    """Return the message for a map with too many cells to be drawn with its tokens; "" for a smaller one."""
    source, target = (len(tokens[0]) for tokens in (batch.source_tokens, batch.decoder_input_tokens))
    queries, keys = source if kind == "encoder" else target, target if kind == "decoder" else source
    if queries * keys <= MOST_CELLS:
        return ""
    return TEMPLATES.text("too_long", queries=queries, keys=keys, most_cells=MOST_CELLS)


def _leakiest(request: TranslationRequest, second: TranslationRequest, kind: str) -> Head:
    """Return the head of a kind that leaks most without its mask, the plainest one where none can or maps are long."""
    leakiest = None
    with contextlib.suppress(UserError):  # a second sentence that cannot be read, which the view says
        beside = _beside(request, second, kind)
        batch = results.study(request).beside(results.study(beside))
        if not _too_long(batch, kind):
            leakiest = leakiest_head(*_passes(request, beside, kind), kind, _shown(batch))
    return Head(AttentionKind(kind), *leakiest) if leakiest else results.default_head(request, kind)


def _show_head(request: TranslationRequest, second: TranslationRequest, chosen: Head) -> None:
    """Show one head with the mask and without it, and beside both the next tokens."""
    kind, beside = chosen.kind, _beside(request, second, chosen.kind)
    batch = _batch(request, beside)
    if batch is None:
        return
    if too_long := _too_long(batch, kind):
        st.warning(too_long, icon=":material/content_cut:")
        return
    sentence, (masked, disabled) = _shown(batch), _passes(request, beside, kind)
    head, leaking = (masked_head(run, kind, sentence, chosen.layer, chosen.head) for run in (masked, disabled))
    leak = content.describe_leak(masked, disabled, head)
    change = content.describe_predictions(masked, disabled, sentence) if leak else None
    if leak is None and kind != "decoder":
        leak = content.describe_no_padding(masked, disabled, sentence)
    left, middle, right = st.columns([4, 4, 3], gap="small")
    _show_maps((left, middle), head, leaking, leak[0] if leak else "")
    with right:
        st.markdown(TEMPLATES.text("label_next"))
        dots = plots.next_tokens(masked, disabled, sentence, theme="page")
        show_figure(dots, "next_tokens", TEMPLATES.text("alt_next"), change[0] if change else "")
    findings = ((key, finding) for key, finding in (("leak_found", leak), ("change_found", change)) if finding)
    for column, (key, finding) in zip(st.columns(2, gap="medium"), findings, strict=False):
        with column.container(key=key):
            show_finding(*finding)
    st.caption(TEMPLATES.text("caption", outlined=TEMPLATES("outlined") if kind == "decoder" else ""))


def _show_maps(
    columns: tuple[DeltaGenerator, DeltaGenerator], head: MaskedHead, leaking: MaskedHead, see: Finding | str
) -> None:
    """Show the maps of a head with its mask and without."""
    rows = RowLabel.FED if head.kind == "encoder" else RowLabel.BOTH
    name = f"{kind_name(head.kind)}, {head_name(head.layer, head.head, head.layers, head.heads)}"
    left, right = columns
    with left, phone_container(len(head.keys), "masked_head"):
        st.markdown(TEMPLATES.text("label_with"))
        alt = TEMPLATES.text("alt_with", head=name)
        show_figure(plots.masked_weights(head, rows, theme="page"), "with_the_mask", alt)
    with right, phone_container(len(head.keys), "leaking_head"):
        st.markdown(TEMPLATES.text("label_without"))
        alt = TEMPLATES.text("alt_without", head=name)
        show_figure(plots.without_causal_mask(head, leaking, rows, theme="page"), "leaking", alt, see)


def _show_batch(batch: BatchView, second: TranslationRequest) -> None:
    """Show the batch as the model reads it, padding hatched, and the decoder's masks of its shorter sentence."""
    show_warnings(second)
    st.caption(plain(TEMPLATES.text("translated", text=results.trace(second).target_text)))
    for side, sentences, lengths in (
        ("source", batch.source_tokens, batch.source_lengths),
        ("target", batch.decoder_input_tokens, batch.target_lengths),
    ):
        positions, name = range(len(sentences[0])), TEMPLATES.text(side)
        show_table(
            TEMPLATES.text("alt_batch", side=name),
            name,
            [str(position + 1) for position in positions],
            [
                (TEMPLATES.text("sentence", number=number), shown_tokens(tokens))
                for number, tokens in enumerate(sentences, start=1)
            ],
            [[position >= length for position in positions] for length in lengths],
        )
    st.caption(TEMPLATES.text("source_mask"))
    if too_long := _too_long(batch, "decoder"):
        st.warning(too_long, icon=":material/content_cut:")
    else:
        _show_masks(batch, int(np.argmin(batch.target_lengths)))


def _show_masks(batch: BatchView, sentence: int) -> None:
    """Show the padding mask, the causal mask and both together for one sentence."""
    tokens = batch.decoder_input_tokens[sentence]
    causal, padding = batch.causal_mask, batch.target_padding_mask[sentence, 0].repeat(len(tokens), axis=0)
    reasons = {TEMPLATES.text("is_padding"): ~padding, TEMPLATES.text("is_later"): ~causal}
    masks = {"padding_mask": padding, "causal_mask": causal, "target_mask": batch.target_mask[sentence, 0]}
    panels = []
    for name, cells in masks.items():
        shown = {reason: masked for reason, masked in reasons.items() if not cells[masked].any()}
        figure = plots.mask(cells, tokens, shown, theme="page")
        panels.append(Panel(TEMPLATES.text(f"label_{name}"), figure, TEMPLATES.text(name), key=name))
    show_panels(TEMPLATES.text("sentence", number=sentence + 1), *panels)
    if begins := {"<pad>": "begins_with_pad", "</s>": "begins_with_end"}.get(tokens[0]):
        st.caption(TEMPLATES.text(begins))
    show_finding(content.describe_masks(batch, sentence))
