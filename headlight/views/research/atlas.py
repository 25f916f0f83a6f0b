"""The page Atlas: the finder of heads at the left, the chosen head at the right."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import view_of
from headlight.app.head_choice import Head, head_in_address, take_head
from headlight.app.line import fragment
from headlight.app.navigation import beside_title
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_page, offer_table, plain, show_warnings
from headlight.components.show import head_card, head_finder
from headlight.views.attention import corpus_head_content as head_content
from headlight.views.attention.explorer_content import CROSS_FIRST
from transformer import UserError
from transformer.interpret.atlas.atlas import Atlas
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.intervention import Heads
from transformer.model.names import AttentionKind

from . import atlas_content as content

VIEWS = ("dots", "list")


def show_page(request: TranslationRequest) -> None:
    """Show the finder, and the head that the address asks for. Raises UserError."""
    with beside_title():
        view = view_of(VIEWS, "atlas")
    trace, atlas = results.trace(request), _atlas(request)
    alignment = results.alignment(request.checkpoint)
    found = content.found_in_atlas(atlas, alignment) if atlas else content.found_in_sentence(trace)
    gold = (alignment.gold, alignment.sentences) if alignment else None
    with st.container(key="atlas_page"):
        _show_heads(request, trace, atlas, found, content.finder_payload(found), gold, view)
    show_warnings(request)


@fragment  # a choice need not bring the whole page again
def _show_heads(
    request: TranslationRequest,
    trace: Trace,
    atlas: Atlas | None,
    found: Sequence[content.Found],
    finder: dict,
    gold: tuple[str, int] | None,
    view: str,
) -> None:
    shapes = {kind: trace.attention(kind).shape[:2] for kind in CROSS_FIRST}
    kind, layer, head = head_in_address(shapes, partial(results.default_head, request))
    heads = Heads(AttentionKind(kind), layer, head)
    one = next(each for each in found if each.heads == heads)
    payload = head_content.head_payload(heads, one.told, trace, atlas, one.values.get(content.ALIGNMENT_ERROR), gold)
    group = url_state.read("atlas_examples")
    shown = {**payload, "group": group if group in head_content.GROUPS else head_content.STRONGEST}
    left, right = st.columns([5, 8], gap="medium")
    with left:
        _show_finder(finder, view, heads)
    with right:
        _show_ways(heads)
        head_card(shown, "head_card", _take_examples, _take_head)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        name, checkpoint = _name_of(heads).replace(".", "_"), request.checkpoint.name
        offer_page(lambda: head_content.head_page(shown, trace, checkpoint), f"head_{name}.html")
        if atlas:
            offer_table("Every head as CSV", atlas.to_frame, "atlas.csv")


def _atlas(request: TranslationRequest) -> Atlas | None:
    """Return the atlas, and say where there is none, where it cannot be read, or is of other weights."""
    files = request.checkpoint
    try:
        atlas = results.atlas(files)
    except UserError as error:
        st.warning(plain(f"{error} What stands here is of your sentence alone."), icon=":material/broken_image:")
        return None
    if atlas is None:
        st.info(head_content.how_to_make(files.name), icon=":material/map:")
    elif atlas.provenance.weights != results.weights(files):
        words = "This atlas was made with other weights than the checkpoint has now: make it anew with headlight atlas."
        st.warning(words, icon=":material/update:")
    return atlas


def _show_finder(payload: dict, view: str, heads: Heads) -> None:
    names = [measure["name"] for measure in payload["measures"]]
    role = url_state.read("atlas_role")
    asked = {"x": url_state.read("atlas_x"), "y": url_state.read("atlas_y")}
    others = [name for name in names if name not in asked.values()] + names  # where one is not measured
    chosen = {
        **{axis: name if name in names else others.pop(0) for axis, name in asked.items()},
        "sort": url_state.read("atlas_sort"),
        "kinds": url_state.read("atlas_kinds"),
        "role": role if role in {pattern["name"] for pattern in payload["patterns"]} else "",
        "head": _name_of(heads),
    }
    head_finder({**payload, "view": view, "chosen": chosen}, "head_finder", _take_choice)


def _take_choice(chosen: dict[str, str]) -> None:
    """Put what was chosen in the finder into the address; to be called in a callback."""
    url_state.write("atlas_x", chosen["x"])
    url_state.write("atlas_y", chosen["y"])
    url_state.write("atlas_sort", chosen["sort"])
    url_state.write("atlas_kinds", chosen["kinds"])
    url_state.write("atlas_role", chosen["role"])
    _take_head(chosen["head"])


def _name_of(heads: Heads) -> str:
    """Name a head as the components and addresses do, counted from 1: "cross.2.1"."""
    return f"{heads.kind}.{heads.layer + 1}.{heads.head + 1}"  # type: ignore[operator]


def _take_head(name: str) -> None:
    kind, layer, head = name.split(".")
    take_head(Head(kind, int(layer) - 1, int(head) - 1))


def _take_examples(group: str) -> None:
    url_state.write("atlas_examples", group)


def _show_ways(heads: Heads) -> None:
    query = Head(heads.kind, heads.layer, heads.head).query()
    ways = (
        ("pages/attention.py", "This head in Attention", query),
        ("pages/what_if.py", "What if it is off?", {"what_if": "head ablation", "off": _name_of(heads)}),
    )
    with st.container(horizontal=True, gap="medium"):
        for page, label, asked in ways:
            st.page_link(page, label=label, icon=":material/arrow_forward:", query_params=asked, width="content")
