"""The page on decoding: the translation step by step, with the candidates of each step, to be forced or searched."""

import re
from dataclasses import replace

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import one_number
from headlight.app.head_choice import Head, choose_head_of, take_head
from headlight.app.navigation import beside_title
from headlight.app.results import TranslationRequest
from headlight.app.widgets import offer_page, plain, show_finding, show_table, show_translation
from headlight.components.show import decoding_player
from transformer import Beam, Greedy
from transformer.interpret.trace import attention_map

from .content import decoding_page, decoding_steps, describe_search, given_words, hardest_step

_SENTENCES = "prefix_sentences"  # in the session: which sentence a prefix was first seen with
_MOST_SENTENCES = 100


def show_page(request: TranslationRequest) -> None:
    """Show what is forced, the player, and below it what beam search found. Raises UserError."""
    forced, player, beam = st.container(), st.container(), st.container()
    with forced:
        prefix = _forced_ids(request)
    shown = replace(request, prefix=prefix)
    if isinstance(request.strategy, Beam):
        with beam:
            shown = replace(shown, rank=_choose_hypothesis(shown, request.strategy))
    with player:
        show_translation(shown)
        if shown.rank > 1:
            st.caption(
                f"This is hypothesis {shown.rank} of the beam's {len(results.hypotheses(replace(shown, rank=1)))}, not "
                "its best; choose another one below."
            )
        _show_player(shown)


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


def _force(before: tuple[int, ...], token_id: int) -> None:
    """Force this token after those in `before`; the search goes on from there. To be called in a callback."""
    text = ".".join(map(str, (*before, token_id)))
    st.session_state.get(_SENTENCES, {}).pop(text, None)  # it may have been another sentence's
    url_state.write("prefix", text)
    if "hypothesis" in st.session_state:
        st.session_state["hypothesis"] = "1"


def _forget() -> None:
    url_state.write("prefix", "")


def _choose_hypothesis(request: TranslationRequest, beam: Beam) -> int:
    """Show all hypotheses of the beam beside greedy decoding; return the rank, from 1, of the one to step through."""
    hypotheses, tokenizer = results.hypotheses(request), results.translator(request.checkpoint).tokenizer
    st.subheader("What beam search found")
    header = ("translation", "log P", "tokens", "length penalty", "score", "ended")
    rows = []
    for rank, one in enumerate(hypotheses, start=1):
        penalty, ended = beam.length_penalty(len(one.ids)), "yes" if one.finished else "truncated"
        numbers = (f"{one.log_probability:.3f}", str(len(one.ids)), f"{penalty:.3f}", f"{one.score:.3f}")
        rows.append((str(rank), (tokenizer.decode(list(one.ids)), *numbers, ended)))
    show_table("What beam search found, best first", "rank", header, rows)
    st.caption(
        "log P is the sum of the tokens' log-probabilities in nats, \\</s> included; score = log P / length penalty; "
        f"length penalty = ((5 + tokens) / 6)^{beam.alpha:g} (Wu et al. 2016, eq. 14)."
        + (" The first token, which is given, is not in the sum." if results.trace(request).num_forced else "")
    )
    rank = one_number("Hypothesis to step through", len(hypotheses), "hypothesis")
    greedy = results.hypotheses(replace(request, strategy=Greedy()))[0]
    show_finding(*describe_search(results.search(request), greedy, beam, tokenizer.decode))
    return rank


def _show_player(request: TranslationRequest) -> None:
    trace, model = results.trace(request), results.translator(request.checkpoint).model
    with beside_title(), st.container(horizontal=True, gap="medium"):
        chosen = choose_head_of(request, averages=True)
    cross, decoder = (attention_map(trace, kind, chosen.layer, chosen.head) for kind in ("cross", "decoder"))
    unforced = results.trace(replace(request, prefix=(), rank=1)).target_text if request.prefix else ""
    steps = decoding_steps(trace, cross, decoder, model.config.output_size, len(request.prefix), unforced)

    def force(step: int, token_id: int) -> None:
        """Force a candidate in place of the token of this step, and stay there."""
        _force(trace.target_ids[: step - 1], token_id)
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
