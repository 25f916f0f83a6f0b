"""Atlas: every head of the model as a dot by two measures over a corpus; a click chooses one."""

from functools import partial

import streamlit as st

from headlight.app import results, state
from headlight.app.finding import Templates
from headlight.app.head_choice import head_in_address
from headlight.app.model_queue import fragment
from headlight.app.results import TranslationRequest
from headlight.app.selection import shapes_of
from headlight.app.widgets import offer_table
from headlight.components.show import head_finder
from headlight.views.attention.explorer_content import CROSS_FIRST
from headlight.views.attention.one_head import atlas_of, summaries_of, take_address
from transformer.interpret.trace import Trace

from .atlas_content import finder_payload

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the finder with the head of the address chosen. Raises UserError."""
    trace, atlas = results.trace(request), atlas_of(request)
    _show_finder(request, trace, finder_payload(summaries_of(request, trace, atlas)))
    if atlas:
        offer_table(TEMPLATES.text("csv"), atlas.to_frame, "atlas.csv")


@fragment  # a choice need not bring the whole page again
def _show_finder(request: TranslationRequest, trace: Trace, payload: dict) -> None:
    shapes = shapes_of(trace, CROSS_FIRST)
    head = head_in_address(shapes, partial(results.default_head, request))
    measures = [measure["name"] for measure in payload["measures"]]
    axes = {axis: state.value(axis) for axis in ("x", "y")}
    others = [name for name in measures if name not in axes.values()] + measures  # where one is not measured
    chosen = {axis: name if name in measures else others.pop(0) for axis, name in axes.items()}
    chosen["head"] = head.address
    st.caption(TEMPLATES.text("caption"))
    head_finder({**payload, "chosen": chosen}, "head_finder", _take_choice)
    query = {"attention": "one head", "head": head.address}
    icon = ":material/arrow_forward:"
    st.page_link("pages/attention.py", label=TEMPLATES.text("this_head"), icon=icon, query_params=query)


def _take_choice(chosen: dict[str, str]) -> None:
    take_address(chosen["head"], x=chosen["x"], y=chosen["y"])
