"""The page on masks: a batch of two sentences, the masks it needs, and what one of them does to a head."""

from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import session
from plots.text import KIND_NAMES, sentence_case
from session import Choice
from transformer import UserError
from transformer.interpret.mask_ablation import MaskedPass, masked_head
from ui.choices import line, one_of
from ui.selectors import row_label, single_head
from ui.sentences import show_doubts, show_sentence, show_sentences
from ui.widgets import plain

from .views import show_batch, show_head, show_masks, show_without

VIEWS = ("the three masks", "one head", "without the mask")


@dataclass(frozen=True)
class _Chosen:
    """What a view shows: a sentence of the batch, and the head, with the mask that is removed, or "nothing"."""

    sentence: int
    kind: str = "decoder"
    lift: str = "nothing"
    layer: int = 0
    head: int = 0
    rows: str = "fed"


def show_page(choice: Choice) -> None:
    """The batch, then a view of its masks. Raises UserError."""
    show_sentences(choice)
    left, right = st.columns(2)
    with left:
        second = replace(choice, text=line("Second sentence of the batch", "second"))
    batch = st.container()
    with st.container(horizontal=True, gap="medium"):
        view = one_of("Show", VIEWS, "masks")
        sentence = int(one_of("Sentence of the batch", ("1", "2"), "row")) - 1
    with st.container(horizontal=True, gap="medium"):
        chosen = _choose(view, choice, sentence)
    try:
        run = session.masked_pass(choice, second.text, "nothing")
        lifted = session.masked_pass(choice, second.text, chosen.lift)
    except UserError as error:
        batch.warning(plain(f"The second sentence cannot be used. {error}"), icon=":material/edit:")
        return
    _show_batch(run, second, right, batch)
    st.subheader(sentence_case(view))
    _show_view(view, chosen, run, lifted)


def _choose(view: str, choice: Choice, sentence: int) -> _Chosen:
    """What this view lets one choose."""
    if view == "the three masks":
        return _Chosen(sentence)
    kind, lift = "decoder", "nothing"
    if view == "one head":
        kind = one_of("Kind of attention", list(KIND_NAMES), "kind")
    else:
        lift = one_of("Mask to remove", ("causal", "padding"), "lift")
        if lift == "padding":
            kind = one_of("Kind of attention", ("cross", "encoder"), "reader")
    layer, head = single_head(*session.trace(choice).attention(kind).shape[:2])
    return _Chosen(sentence, kind, lift, layer, head, "fed" if kind == "encoder" else row_label())


def _show_batch(run: MaskedPass, second: Choice, translation: DeltaGenerator, batch: DeltaGenerator) -> None:
    with translation:
        show_sentence("Its translation", session.trace(second).target_text)
    with batch:
        show_doubts(second)
        show_batch(run)


def _show_view(view: str, chosen: _Chosen, run: MaskedPass, lifted: MaskedPass) -> None:
    if view == "the three masks":
        show_masks(run, chosen.sentence)
        return
    with_mask, without = (
        masked_head(each, chosen.kind, chosen.sentence, chosen.layer, chosen.head) for each in (run, lifted)
    )
    if view == "one head":
        show_head(with_mask, chosen.rows)
    else:
        show_without(run, lifted, with_mask, without, chosen.rows)
