"""The page on masks: a batch of two sentences, the masks it needs, and what one of them does to a head."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from headlight.app import results
from headlight.app.choices import from_list, line, one_of, row_label, view_of
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest, measures
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
from headlight.plots import masks as figures
from headlight.plots.heatmap import mask_figure
from headlight.plots.limits import MOST_CELLS
from headlight.plots.text import KIND_NAMES, head_name, token_cells
from transformer import UserError
from transformer.data.batching import BatchView
from transformer.interpret.mask_ablation import (
    DisabledMask,
    MaskedHead,
    MaskedPass,
    leakiest_head,
    masked_head,
    without_padding,
)

from . import masks_content as content
from .masks_words import DISABLED, LABELS, READERS, VIEWS, WORDS, said


@dataclass(frozen=True)
class _Chosen:
    """A sentence of the batch, a head, and the mask that is removed, or "nothing"."""

    sentence: int
    kind: str = "decoder"
    disabled_mask: str = "nothing"
    layer: int = 0
    head: int = 0
    rows: str = "fed"


def show_page(request: TranslationRequest) -> None:
    """Show a view of the masks of a batch of two sentences, and below it the batch. Raises UserError."""
    view = view_of(VIEWS, "masks")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container():
            show_translation(request)
        options = st.popover("Batch and labels", key="batch_options")
    with options:
        second = replace(request, text=line(LABELS["second"], "second"))
        sentence = int(one_of(LABELS["row"], ("1", "2"), "row")) - 1
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        chosen = _choose(view, request, second.text, sentence)
    if view != "the three masks" and chosen.kind != "encoder":
        with options:
            chosen = replace(chosen, rows=row_label())
    try:
        batch = measures.padded_batch(request, second.text)
    except UserError as error:
        st.warning(plain(said("unused_second", error=error)), icon=":material/edit:")
        return
    if too_long := _too_long(batch, "decoder" if view == "the three masks" else chosen.kind):
        st.warning(too_long, icon=":material/content_cut:")
        return
    if view == "the three masks":
        _show_masks(batch, chosen.sentence)
    else:
        run, disabled = (
            measures.masked_pass(request, second.text, disabled_mask)
            for disabled_mask in ("nothing", chosen.disabled_mask)
        )
        index = chosen.kind, chosen.sentence, chosen.layer, chosen.head
        head = masked_head(run, *index)
        if view == "one head":
            config = results.translator(request.checkpoint).model.config
            _show_head(head, chosen.rows, content.score_words(config, head.kind))
        else:
            _show_without(run, disabled, head, masked_head(disabled, *index), chosen.rows)
    st.subheader(LABELS["batch"])
    show_warnings(second)
    _show_batch(batch, results.trace(second).target_text)


def _choose(view: str, request: TranslationRequest, second: str, sentence: int) -> _Chosen:
    """Show the controls of this view, and return what is chosen: in each first the head that leaks most."""
    if view == "the three masks":
        return _Chosen(sentence)
    start = partial(_leakiest, request, second, sentence)
    if view == "one head":
        head = choose_head_of(request, tuple(KIND_NAMES), first="decoder", start=start)
        disabled_mask = "nothing"
    else:
        disabled_mask = one_of(LABELS["disabled_mask"], DISABLED, "disabled_mask")
        reader = "decoder"
        if disabled_mask == "padding":
            reader = one_of(LABELS["reader"], READERS, "reader")
        head = choose_head_of(request, (reader,), start=start)
    assert head.layer is not None and head.head is not None, "no averages are offered"
    return _Chosen(sentence, head.kind, disabled_mask, head.layer, head.head)


def _too_long(batch: BatchView, kind: str) -> str:
    """Say that a map has too many cells for one with its words each; "" where it has not."""
    source, target = (len(tokens[0]) for tokens in (batch.source_tokens, batch.decoder_input_tokens))
    queries, keys = source if kind == "encoder" else target, target if kind == "decoder" else source
    if queries * keys <= MOST_CELLS:
        return ""
    return (
        f"These sentences make maps of {queries:,} by {keys:,} tokens, more than the {MOST_CELLS:,} cells that this "
        "page draws. Shorten the text, or see its weights on the page Attention."
    )


def _leakiest(request: TranslationRequest, second: str, sentence: int, kind: str) -> tuple[int, int]:
    """Return the head of a kind that leaks most without its mask, the plainest one where none can or maps are long."""
    disabled_mask = "causal" if kind == "decoder" else "padding"
    try:
        if _too_long(measures.padded_batch(request, second), kind):  # before what is costly
            return results.default_head(request, kind)
        masked, disabled = (measures.masked_pass(request, second, mask) for mask in ("nothing", disabled_mask))
        leakiest = leakiest_head(masked, disabled, kind, sentence)
    except UserError:  # a second sentence that cannot be read, which the page says
        leakiest = None
    return leakiest or results.default_head(request, kind)


def _show_batch(batch: BatchView, translated: str) -> None:
    """Show the batch as the model reads it, padding hatched, its shapes, and what its second sentence becomes."""
    for name, sentences, lengths in (
        ("source", batch.source_tokens, batch.source_lengths),
        ("target fed", batch.decoder_input_tokens, batch.target_lengths),
    ):
        positions = range(len(sentences[0]))
        show_table(
            f"The batch, {name}: the tokens of both sentences, filled up with padding",
            name,
            [str(position + 1) for position in positions],
            [(f"sentence {number}", token_cells(tokens)) for number, tokens in enumerate(sentences, start=1)],
            [[position >= length for position in positions] for length in lengths],
        )
    said_of_it = (f"Shapes: {content.describe_shapes(batch)}", f"{LABELS['translated']} {translated}")
    st.caption("\n\n".join(map(plain, said_of_it)))


def _show_masks(batch: BatchView, sentence: int) -> None:
    """Show the padding mask, the causal mask and both together for one sentence."""
    tokens = batch.decoder_input_tokens[sentence]
    causal, padding = batch.causal_mask, batch.target_padding_mask[sentence, 0].repeat(len(tokens), axis=0)
    reasons = {"it is padding": ~padding, "it comes later": ~causal}
    st.caption(WORDS["three"])

    def panel(title: str, cells: np.ndarray, caption: str) -> Panel:
        shown = {reason: masked for reason, masked in reasons.items() if not cells[masked].any()}
        return Panel(title, mask_figure(cells, tokens, shown), caption)

    show_panels(
        f"sentence {sentence + 1}",
        panel(LABELS["padding_mask"], padding, WORDS["padding_mask"]),
        panel(LABELS["causal_mask"], causal, WORDS["causal_mask"]),
        panel(LABELS["target_mask"], batch.target_mask[sentence, 0], WORDS["target_mask"]),
    )
    if tokens[0] == "<pad>":
        st.caption(WORDS["begins_with_pad"])
    if tokens[0] == "</s>":
        st.caption(WORDS["begins_with_end"])
    show_finding(content.describe_masks(batch, sentence), WORDS["try_masks"])
    st.markdown(f"**{WORDS['source_mask_of']}** {WORDS['source_mask']}")
    st.caption(plain(content.describe_source_mask(batch, sentence)))


def _show_head(head: MaskedHead, rows: str, scores: str) -> None:
    """Show scores, masked scores and weights of one head, and one of its rows by hand; `scores` says what these are."""
    name = f"{KIND_NAMES[head.kind]}, {head_name(head.layer, head.head, head.layers, head.heads)}"
    see = content.describe_head(head)
    show_panels(
        f"{name}, sentence {head.sentence + 1}",
        Panel(LABELS["scores"], figures.scores_figure(head, rows), plain(scores)),
        Panel(LABELS["after_mask"], figures.masked_scores_figure(head, rows), WORDS["after_mask"]),
        Panel(LABELS["softmax"], figures.weights_figure(head, rows), WORDS["softmax"]),
        see=see,
    )
    show_finding(see, WORDS["try_head"] if head.kind == "decoder" else "")
    st.markdown(f"**{LABELS['by_hand']}**")
    numbers = [str(row + 1) for row in range(len(head.fed))]
    chosen = from_list("Row, counted from the top", numbers, "query", start=numbers[min(2, len(numbers) - 1)])
    row = int(chosen) - 1
    lines = content.row_by_hand(head, row)
    masked = [(~head.unmasked[row]).tolist()] * len(lines)
    show_table(f"Row {chosen} by hand", f"row {chosen}", token_cells(head.keys), lines, masked)
    st.caption(plain(f"{content.row_words(head, row)} {content.describe_check(head)}"))


def _show_without(masked: MaskedPass, disabled: MaskedPass, head: MaskedHead, leaking: MaskedHead, rows: str) -> None:
    """Show one head without the mask and with it, and beside both what that does to the next tokens."""
    sentence = head.sentence
    if disabled.disabled == DisabledMask.CAUSAL:  # in either pass nothing reads padding
        head, leaking = without_padding(head), without_padding(leaking)
    name = f"{KIND_NAMES[head.kind]}, {head_name(head.layer, head.head, head.layers, head.heads)}"
    leak = content.describe_leak(masked, disabled, head) or content.describe_no_padding(masked, disabled, sentence)
    padded = masked.source_lengths[sentence] < len(masked.source_tokens[sentence])
    may_change = disabled.disabled == DisabledMask.CAUSAL or padded
    change = content.describe_predictions(masked, disabled, sentence) if may_change else None
    left, middle, right = st.columns([4, 4, 3], gap="small")
    with left, phone_container(len(head.keys), "leaking_head"):
        st.markdown(f"**{LABELS['without']}**")
        alt = f"Weights without the mask, the model run again: {name}"
        show_figure(figures.leaking_figure(head, leaking, rows), "leaking", alt, leak[0])
    with middle, phone_container(len(head.keys), "masked_head"):
        st.markdown(f"**{LABELS['with']}**")
        show_figure(figures.masked_weights_figure(head, rows), "with_the_mask", f"Weights with the mask: {name}")
    with right:
        st.markdown(f"**{LABELS['next']}**")
        alt = f"Probability of each next token of sentence {sentence + 1}, with the mask and without"
        show_figure(
            figures.next_tokens_figure(masked, disabled, sentence), "next_tokens", alt, change[0] if change else ""
        )
    findings = ((key, found) for key, found in (("leak_found", leak), ("change_found", change)) if found)
    for column, (key, found) in zip(st.columns(2, gap="medium"), findings, strict=False):
        with column.container(key=key):
            show_finding(*found)
    coloured = said("coloured", outlined=WORDS["outlined"] if head.kind == "decoder" else "")
    changed = WORDS["changed_cross" if head.kind == "cross" else "changed"]
    st.caption(said("without", colours=coloured, changed=changed))
