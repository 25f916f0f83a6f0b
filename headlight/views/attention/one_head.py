"""One head: its role over a corpus, with examples, beside its map of this sentence."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import offer_view
from headlight.app.finding import Templates
from headlight.app.head_choice import choose_head_of, take_head
from headlight.app.model_queue import fragment
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_page, plain, show_warnings
from headlight.components.show import head_card
from headlight.views.research import atlas_content
from transformer import UserError
from transformer.corpus import Atlas
from transformer.interpret.trace import Trace
from transformer.model.heads import Heads

from . import one_head_content as content
from .explorer_content import CROSS_FIRST

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the head of the address, at first the one that aligns this sentence best. Raises UserError."""
    trace, atlas = results.trace(request), atlas_of(request)
    _show_head(request, trace, atlas, summaries_of(request, trace, atlas))
    show_warnings(request)


@fragment  # a choice need not bring the whole page again
def _show_head(
    request: TranslationRequest, trace: Trace, atlas: Atlas | None, summaries: list[atlas_content.HeadSummary]
) -> None:
    with st.container(horizontal=True, gap="medium"):
        heads = choose_head_of(request, CROSS_FIRST)
    alignment = results.alignment(request.checkpoint)
    gold = (alignment.gold, alignment.sentences) if alignment else None
    summary = next(each for each in summaries if each.heads == heads)
    error_rate = summary.values.get(atlas_content.ALIGNMENT_ERROR)
    payload = content.head_payload(heads, summary.role, trace, atlas, error_rate, gold)
    head_card(payload, "head_card", take_address)
    name = heads.address
    query = {"what_if": "head ablation", "off": name}
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        offer_view(TEMPLATES.text("in_sentence"), "attention", "explorer")
        label, icon = TEMPLATES.text("off"), ":material/arrow_forward:"
        st.page_link("pages/what_if.py", label=label, icon=icon, query_params=query, width="content")
        checkpoint, file = request.checkpoint.name, f"head_{name.replace('.', '_')}.html"
        offer_page(lambda: content.head_page(payload, trace, checkpoint), file)


def summaries_of(request: TranslationRequest, trace: Trace, atlas: Atlas | None) -> list[atlas_content.HeadSummary]:
    """Return the roles of all heads over the corpus of the atlas, without one in this sentence."""
    if atlas is None:
        return atlas_content.summaries_of_sentence(trace)
    return atlas_content.summaries_of_atlas(atlas, results.alignment(request.checkpoint))


def take_address(address: str, **changes: str) -> None:
    """Choose the head of an address such as "cross.2.1", with other changes; to be called in a callback."""
    if (head := Heads.parse(address)) is not None:
        take_head(head, **changes)


def atlas_of(request: TranslationRequest) -> Atlas | None:
    """Return the checkpoint's atlas; warn where there is none, or an unreadable one, or one of other weights."""
    files = request.checkpoint
    try:
        atlas = results.atlas(files)
    except UserError as error:
        st.warning(plain(TEMPLATES.text("unreadable", error=error)), icon=":material/broken_image:")
        return None
    if atlas is None:
        st.info(content.how_to_make(files.name), icon=":material/map:")
    elif atlas.provenance.weights != results.weights(files):
        st.warning(TEMPLATES.text("other_weights"), icon=":material/update:")
    return atlas
