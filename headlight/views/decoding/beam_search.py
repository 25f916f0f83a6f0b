"""Beam search: a table of the translations that ended, and the search as a tree."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import results
from headlight.app.finding import Templates
from headlight.app.head_choice import choose_head_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_finding, show_table
from headlight.components.show import beam_tree
from headlight.plots.limits import replayed_words
from transformer import Beam, Greedy
from transformer.model.heads import Head

from .player import first_head
from .prefix import force
from .search_content import branch_facts, describe_search

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest, row: DeltaGenerator) -> None:
    """Show a beam search, the bar's or one of the usual size, with layer and head to choose in `row`. UserError."""
    beam = request.strategy if isinstance(request.strategy, Beam) else Beam()
    request = replace(request, strategy=beam)
    with row:
        head = choose_head_of(request, start=first_head(request))
    if request.prefix:
        st.button(TEMPLATES.text("from_start"), on_click=force, args=("",), key="from_the_start")
    scores = _show_hypotheses(request)
    _show_tree(request, head)
    with st.expander(TEMPLATES.text("scores")):
        header = TEMPLATES.text("log_p"), TEMPLATES.text("score")
        show_table(TEMPLATES.text("scores_alt"), TEMPLATES.text("rank"), header, scores)
        forced = TEMPLATES("first_given") if results.trace(request).num_forced else ""
        st.caption(TEMPLATES.text("scores_caption", alpha=beam.alpha, forced=forced))
    tokenizer = results.translator(request.checkpoint).tokenizer
    greedy = results.study(replace(request, strategy=Greedy())).hypotheses()[0]
    show_finding(*describe_search(results.study(request).search(), greedy, beam, tokenizer.decode))
    st.caption(TEMPLATES.text("caption", size=beam.size, alpha=beam.alpha))


def _show_hypotheses(request: TranslationRequest) -> list[tuple[str, tuple[str, str]]]:
    """Show the translations that ended, best first; return the rows of their scores."""
    hypotheses, tokenizer = results.study(request).hypotheses(), results.translator(request.checkpoint).tokenizer
    words, scores = [], []
    for rank, one in enumerate(hypotheses, start=1):
        ended = TEMPLATES.text("finished" if one.finished else "truncated")
        words.append((str(rank), (tokenizer.decode(list(one.ids)), str(len(one.ids)), ended)))
        scores.append((str(rank), (f"{one.log_probability:.3f}", f"{one.score:.3f}")))
    with st.container(key="beam_table"):
        header = [TEMPLATES.text(name) for name in ("translation", "tokens", "ended")]
        show_table(TEMPLATES.text("hypotheses_alt"), TEMPLATES.text("rank"), header, words)
    return scores


def _show_tree(request: TranslationRequest, head: Head) -> None:
    """Show the tree of the search and the weights of one head at each branch; a chosen branch is forced."""
    study, translator = results.study(request), results.translator(request.checkpoint)
    branches, source = study.branches(), study.trace.source_tokens
    if too_long := replayed_words(len(source), [len(each.ids) for each in branches if each.outcome is not None]):
        st.warning(too_long, icon=":material/content_cut:")
        return
    reads = study.branch_reads(*head.index)
    facts = {
        "branches": branch_facts(branches, reads, translator.tokenizer.piece_text),
        "source": list(source),
        "head": {"layer": head.layer, "head": head.head},
    }
    beam_tree(facts, "beam_tree", force)
