"""The page on decoding: the translation step by step, with the candidates of each step, to be forced or searched."""

import re
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import results, url_state
from headlight.app.choices import numbers, one_of
from headlight.app.head_choice import Head, choose_head_of, take_head
from headlight.app.navigation import beside_title
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_page, plain, show_finding, show_table, show_translation
from headlight.components.show import decoding_player
from transformer import Beam, Greedy
from transformer.interpret.trace import attention_map

from . import beam_tree
from .content import decoding_page, decoding_steps, describe_search, given_words, hardest_step

_SENTENCES = "prefix_sentences"  # in the session: which sentence a prefix was first seen with
_MOST_SENTENCES = 100


def show_page(request: TranslationRequest) -> None:
    """Show the player; of a beam search, that or the table of its hypotheses or its tree. Raises UserError."""
    shown = replace(request, prefix=_forced_ids(request))
    with beside_title():
        row = st.container(horizontal=True, gap="medium", vertical_alignment="center")
    if not isinstance(request.strategy, Beam):
        show_translation(shown)
        _show_player(shown, row)
        return
    with row:
        view = one_of("View", ("step", "beam table", "tree"), "beam_view", visibility="collapsed")
    if view == "tree":
        _show_tree(shown, request.strategy, row)
        return
    chosen = replace(shown, rank=_choose_hypothesis(shown))
    if view == "beam table":
        _show_hypotheses(shown, request.strategy)
    else:
        _show_player(chosen, row)


def _forced_ids(request: TranslationRequest) -> tuple[int, ...]:
    """Return the ids that the translation must begin with; empty where nothing is forced. Raises UserError.

    They belong to one sentence and are dropped with it, also when the Back button brings them to another one; what
    cannot begin a translation gets a message.
    """
    text = url_state.read("prefix")
    if not text:
        return ()
    sentence = (request.checkpoint.name, request.source)
    sentences = st.session_state.setdefault(_SENTENCES, {})
    if sentences.setdefault(text, sentence) != sentence:
        _forget()
        return ()
    while len(sentences) > _MOST_SENTENCES:
        sentences.pop(next(iter(sentences)))
    ids = url_state.token_ids(text)
    if not results.translator(request.checkpoint).may_begin_with(ids):
        _forget()
        st.warning("The address asks for tokens that cannot begin a translation: here is the model's own.")
        return ()
    return ids


def _force(ids: tuple[int, ...]) -> None:
    """Let the translation begin with these tokens; the search goes on from there. To be called in a callback."""
    text = ".".join(map(str, ids))
    st.session_state.get(_SENTENCES, {}).pop(text, None)  # it may have been another sentence's
    url_state.write("prefix", text)
    url_state.write("hypothesis", "1")


def _forget() -> None:
    url_state.write("prefix", "")


def _choose_hypothesis(request: TranslationRequest) -> int:
    """Show a hypothesis of the beam, and beside it buttons for all of them; return its rank, from 1."""
    ranks, widget = numbers(len(results.hypotheses(request))), "hypothesis_buttons"
    asked = url_state.read("hypothesis")
    rank = asked if asked in ranks else "1"
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="stretch"):
            show_translation(replace(request, rank=int(rank)))
        st.session_state[widget] = rank
        st.segmented_control(
            "Hypothesis",
            ranks,
            required=True,
            key=widget,
            on_change=lambda: url_state.write("hypothesis", st.session_state[widget] or rank),
        )
    return int(rank)


def _show_hypotheses(request: TranslationRequest, beam: Beam) -> None:
    """Show all hypotheses of the beam beside greedy decoding."""
    hypotheses, tokenizer = results.hypotheses(request), results.translator(request.checkpoint).tokenizer
    header = ("translation", "log P", "tokens", "length penalty", "score", "ended")
    rows = []
    for rank, one in enumerate(hypotheses, start=1):
        penalty, ended = beam.length_penalty(len(one.ids)), "yes" if one.finished else "truncated"
        scored = (f"{one.log_probability:.3f}", str(len(one.ids)), f"{penalty:.3f}", f"{one.score:.3f}")
        rows.append((str(rank), (tokenizer.decode(list(one.ids)), *scored, ended)))
    with st.container(key="beam_table"):
        show_table("What beam search found, best first", "rank", header, rows)
    st.caption(
        "log P is the sum of the tokens' log-probabilities in nats, the end of sentence included; score = log P / "
        f"length penalty; length penalty = ((5 + tokens) / 6)^{beam.alpha:g} (Wu et al. 2016, eq. 14)."
        + (" The first token, which is given, is not in the sum." if results.trace(request).num_forced else "")
    )
    greedy = results.hypotheses(replace(request, strategy=Greedy()))[0]
    show_finding(*describe_search(results.search(request), greedy, beam, tokenizer.decode))


def _choose_head(request: TranslationRequest, *, averages: bool = False) -> Head:
    """Ask for a head, beginning with that of the model's own translation: what is forced does not move it."""
    start = partial(results.default_head, replace(request, prefix=(), rank=1))
    return choose_head_of(request, start=start, averages=averages)


def _show_tree(request: TranslationRequest, beam: Beam, row: DeltaGenerator) -> None:
    """Show the search as a tree; a branch that is chosen is forced."""
    with row:
        head = _choose_head(request)
    beam_tree.show_tree(request, head, lambda ids: _force(url_state.token_ids(ids)))
    asked = {"what_if": "beam tree", "tree_beam": str(beam.size), **head.query()}
    label = "The same tree with other beam sizes"
    st.page_link("pages/what_if.py", label=label, icon=":material/arrow_forward:", query_params=asked)


def _show_player(request: TranslationRequest, row: DeltaGenerator) -> None:
    with row:
        chosen = _choose_head(request, averages=True)
    trace, model = results.trace(request), results.translator(request.checkpoint).model
    cross, decoder = (attention_map(trace, kind, chosen.layer, chosen.head) for kind in ("cross", "decoder"))
    unforced = results.trace(replace(request, prefix=(), rank=1)).target_text if request.prefix else ""
    steps = decoding_steps(trace, cross, decoder, model.config.output_size, len(request.prefix), unforced)

    def force(step: int, token_id: int) -> None:
        """Force a candidate in place of the token of this step, and stay there."""
        _force((*trace.target_ids[: step - 1], token_id))
        _go_to(step)

    step = url_state.read("step")
    first = int(step) if re.fullmatch(r"[0-9]{1,4}", step) else 1
    decoding_player(
        steps,
        first,
        key="player",
        on_step=_go_to,
        on_head=lambda layer, head: take_head(Head("cross", layer, head)),
        on_take=force,
        on_undo=_forget,
    )
    offer_page(lambda: decoding_page(steps, first, trace, request.checkpoint.name), "decoding.html")
    show_finding(*hardest_step(trace))
    if trace.num_forced:
        st.caption(plain(given_words(trace)))
    st.caption(
        "The decoder writes one token at a time: it is fed what stands already, gives every token of its vocabulary a "
        "probability, one is taken, and that is fed next. These are the model's own probabilities, before temperature "
        "or top-k."
    )


def _go_to(step: int) -> None:
    url_state.write("step", str(step))
