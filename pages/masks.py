"""Masks: which cells of attention are closed and why, and what leaks when they are not."""

import streamlit as st

import session
from plots.text import KIND_NAMES, sentence_case
from transformer import UserError
from transformer.interpret.mask_ablation import masked_head
from ui import choices, sidebar
from ui.widgets import plain
from views.masks import views as mask_views

VIEWS = ("the three masks", "one head", "without the mask")
SECOND_TEXT = "Tom lives in Boston with his three sisters."

st.title("Masks")
choice = sidebar.taken_choice()
with sidebar.messages():
    trace = session.trace(choice.checkpoint, choice.text, choice.strategy)
    translator = session.translator(choice.checkpoint)
sidebar.show_sentences(translator, trace)
columns = st.columns(2)
second = columns[0].text_input("Second sentence of the batch", SECOND_TEXT, key="second", bind="query-params") or ""
batch = st.container()
with st.container(horizontal=True, gap="medium"):
    view = choices.one_of("Show", VIEWS, "masks")
    sentence = int(choices.one_of("Sentence of the batch", ("1", "2"), "row")) - 1
with st.container(horizontal=True, gap="medium"):
    kind, lift, rows = "decoder", "nothing", "fed"
    if view == "one head":
        kind = choices.one_of("Kind of attention", list(KIND_NAMES), "kind")
    elif view == "without the mask":
        lift = choices.one_of("Mask to lift", ("causal", "padding"), "lift")
        if lift == "padding":
            kind = choices.one_of("Kind of attention", ("cross", "encoder"), "reader")
    if view != "the three masks":
        layers, heads = trace.attention(kind).shape[:2]
        layer, head = choices.single_head(layers, heads)
        if kind != "encoder":
            rows = choices.row_label()

try:
    run = session.masked_pass(choice.checkpoint, choice.text, second, choice.strategy, "nothing")
    lifted = session.masked_pass(choice.checkpoint, choice.text, second, choice.strategy, lift)
    other = session.trace(choice.checkpoint, second, choice.strategy)
except UserError as error:
    batch.warning(plain(f"The second sentence cannot be used. {error}"), icon=":material/edit:")
    st.stop()

with columns[1].container(gap="xxsmall"):
    st.caption("Its translation")
    st.markdown(f"#### {plain(' '.join(other.target_text.split()))}", anchors=False)
with batch:
    sidebar.show_doubts(translator, other)
    mask_views.show_batch(run)
st.subheader(sentence_case(view))
if view == "the three masks":
    mask_views.show_masks(run, sentence)
elif view == "one head":
    mask_views.show_head(masked_head(run, kind, sentence, layer, head), rows)
else:
    cut = [masked_head(each, kind, sentence, layer, head) for each in (run, lifted)]
    mask_views.show_without(run, lifted, *cut, rows)
