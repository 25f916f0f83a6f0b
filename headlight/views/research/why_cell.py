"""Why this cell: the exact parts of one attention score, and a check by intervention."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

import headlight.plots as plots
from headlight.app import results, state
from headlight.app.choices import from_list
from headlight.app.finding import Templates
from headlight.app.head_choice import choose_head_of
from headlight.app.model_queue import fragment
from headlight.app.results import TranslationRequest
from headlight.app.selection import parse_numbers
from headlight.app.widgets import offer_table, plain, show_figure, show_finding, show_warnings
from headlight.plots.names import norm_name
from headlight.plots.tokens import shown_tokens
from headlight.views.attention.explorer_content import CROSS_FIRST
from transformer.interpret.score_parts import ScoreParts, StreamPart
from transformer.interpret.trace import Trace, keys_of
from transformer.model.heads import Head

from . import why_content as content
from .why_content import Cell

NOTHING, NO_KEY = -1, "none"  # compared with: in a list, and in the address
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the parts of the score of the address's cell. Raises UserError."""
    _show_cell(request, results.trace(request))
    show_warnings(request)


@fragment  # a choice need not bring the whole page again
def _show_cell(request: TranslationRequest, trace: Trace) -> None:
    with st.container(horizontal=True, gap="medium"):
        head = choose_head_of(request, CROSS_FIRST)
    with st.container(horizontal=True, gap="medium"):
        cell = _choose_cell(trace, head)
    parts = results.study(request).parts(head, cell.query, cell.key, cell.against)
    finding = content.describe_cell(trace, parts)
    words, figure = st.columns(2, gap="small")
    with words, st.container(gap="xsmall", key="score_words"):
        show_finding(finding)
        with st.container(gap="xsmall", key="score_removal"):
            _show_removal(request, parts)
        _show_pairs(trace, parts)
        st.caption(plain(str(content.describe_biases(parts, results.translator(request.checkpoint).model.config))))
    with figure, st.container(key="crowded_1_score_parts"):
        opened = _choose_group(parts)
        figure = plots.score_parts(parts, opened=opened, theme="page")
        show_figure(figure, "score_parts", TEMPLATES.text("alt"), finding)
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            _offer_explorer(cell)
            offer_table(TEMPLATES.text("csv"), parts.to_frame, "score_parts.csv")


def _offer_explorer(cell: Cell) -> None:
    """Show a link to the cell's head on the page Attention."""
    query = {"head": cell.head.address, "query": str(cell.query + 1), "key": str(cell.key + 1)}
    icon = ":material/arrow_forward:"
    st.page_link("pages/attention.py", label=TEMPLATES.text("in_sentence"), icon=icon, query_params=query)


def _choose_group(parts: ScoreParts) -> StreamPart | None:
    """Show a list of the layers whose heads wrote before; return the one to draw head by head, None for none."""
    written = (part.group for part in (*parts.query_parts, *parts.key_parts) if part.source_head is not None)
    groups = {f"{group.kind}.{(group.layer or 0) + 1}": group for group in dict.fromkeys(written)}
    if not groups:
        return None
    labels = {"": TEMPLATES.text("no_group")} | {
        name: TEMPLATES.text("group", kind=group.kind, layer=(group.layer or 0) + 1) for name, group in groups.items()
    }
    return groups.get(from_list(labels, "opened"))


def _choose_cell(trace: Trace, head: Head) -> Cell:
    """Show lists for the query, the key, and the key to compare with; return the chosen cell."""
    queries, keys = content.row_names(trace, head.kind), keys_of(trace, head.kind)
    start = content.default_query(trace, head)
    query = _choose(
        "query",
        state.value("query"),
        queries,
        range(len(queries)),
        start,
        lambda position: content.origin(trace, head, position),
    )
    allowed = content.keys_by_weight(trace, head, query)

    def cell_of(key: int) -> Cell:
        return Cell(head, query, key, next((each for each in allowed if each != key), None))

    key = _choose("key", state.value("key"), keys, sorted(allowed), allowed[0], cell_of)
    runner_up = cell_of(key).against
    if runner_up is None:
        return cell_of(key)
    others = [*sorted(each for each in allowed if each != key), NOTHING]
    compared = replace(cell_of(key), against=None)
    against = _choose(
        "compared",
        state.value("against_key"),
        keys,
        others,
        runner_up,
        lambda position: compared if position == NOTHING else replace(compared, against=position),
    )
    return compared if against == NOTHING else replace(compared, against=against)


def _choose(
    name: str, text: str, tokens: Sequence[str], places: Sequence[int], start: int, cell_of: Callable[[int], Cell]
) -> int:
    """Show a list of tokens by their places, from 0; return the chosen place, that of the address if it is there.

    name: that of the label; text: the place in the address, from 1; cell_of: the cell to go to when a place is chosen.
    """
    shown = shown_tokens(tokens)
    numbers = (NOTHING,) if text == NO_KEY else parse_numbers(text, len(tokens))
    chosen = numbers[0] if numbers and numbers[0] in places else start

    def name_of(position: int) -> str:
        return TEMPLATES.text("nothing") if position == NOTHING else f"{position + 1} {shown[position]}"

    label = TEMPLATES.text(name)
    bound = state.widget(f"why {label}", chosen, lambda position: _address_of(cell_of(position)))
    return st.selectbox(label, places, format_func=name_of, width=150, **bound)


def _address_of(cell: Cell) -> dict[str, str]:
    """Return a cell as an address has it."""
    against = NO_KEY if cell.against is None else str(cell.against + 1)
    cells = {"query": str(cell.query + 1), "key": str(cell.key + 1), "against_key": against}
    return {"head": cell.head.address, **cells}


def _show_pairs(trace: Trace, parts: ScoreParts) -> None:
    """Show the largest pairs of parts, and a button to the cell of each head that wrote one of them."""
    pairs = content.largest_pairs(trace, parts)
    lines = TEMPLATES.text("largest"), *(f"1. {plain(pair.sentence)}" for pair in pairs)
    st.markdown("\n".join(lines))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for cell in dict.fromkeys(cell for pair in pairs for cell in pair.origins):
            key, label = f"origin_{cell.head.address}_{cell.query}", content.head_label(cell.head)
            go = partial(state.go, **_address_of(cell))
            st.button(label, key=key, on_click=go, icon=":material/arrow_forward:", type="tertiary")


def _show_removal(request: TranslationRequest, parts: ScoreParts) -> None:
    """Show a list of the heads that wrote before, and the score without the chosen one's part."""
    heads = {head.address: head for head in content.writers(parts)}
    if not heads:
        st.caption(TEMPLATES.text("no_head"))
        return
    labels = {address: content.head_label(head) for address, head in heads.items()}
    removed = from_list(labels, "removed")
    cell = parts.head, parts.query, parts.key, parts.against
    run = results.study(request).score_without(heads[removed], *cell)
    st.markdown(plain(str(content.describe_removal(parts, heads[removed], run))))
    norm = norm_name(results.translator(request.checkpoint).model.config)
    st.caption(plain(TEMPLATES.text("removal_reason", norm=norm)))
