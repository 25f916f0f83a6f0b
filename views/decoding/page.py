"""The page on decoding: the translation step by step, with the candidates of each step, to be forced or searched."""

import re
from dataclasses import replace

import streamlit as st

import session
from browser.decoding_player import decoding_player
from session import Choice
from transformer import Beam, Greedy
from transformer.interpret.trace import attention_map
from ui import url_state
from ui.selectors import layer_and_head, take_head
from ui.sentences import show_sentences
from ui.widgets import plain, show_finding

from . import forced_prefix
from .beam_table import choose_hypothesis
from .payload import decoding_steps
from .text import hardest_step, search_sentence


def show_page(choice: Choice) -> None:
    """What is forced, the player, and below it what beam search found. Raises UserError."""
    forced, player, beam = st.container(), st.container(), st.container()
    with forced:
        prefix = forced_prefix.forced_ids(choice)
        if prefix:
            label = "Back to the model's own choice"
            st.button(label, on_click=forced_prefix.forget, icon=":material/undo:")
    shown = replace(choice, prefix=prefix)
    if isinstance(choice.strategy, Beam):
        with beam:
            shown = replace(shown, rank=_choose_hypothesis(shown))
    if prefix:
        forced.warning(plain(_comparison(shown)), icon=":material/alt_route:")
    with player:
        show_sentences(shown)
        if shown.rank > 1:
            st.caption(
                f"This is hypothesis {shown.rank} of the beam's {len(session.hypotheses(replace(shown, rank=1)))}, not "
                "its best; choose another one below."
            )
        _show_player(shown)


def _choose_hypothesis(choice: Choice) -> int:
    """All hypotheses of the beam beside greedy decoding; returns the rank of the one to step through."""
    found, tokenizer = session.hypotheses(choice), session.translator(choice.checkpoint).tokenizer
    st.subheader("What beam search found")
    rank = choose_hypothesis(found, choice.strategy, tokenizer)
    greedy = session.hypotheses(replace(choice, strategy=Greedy()))[0]
    show_finding(search_sentence(found, greedy, choice.strategy.alpha, tokenizer.decode))
    return rank


def _comparison(choice: Choice) -> str:
    """What was forced, and the translation without it; of a beam its best."""
    tokens = " ".join(session.trace(choice).next_tokens[: len(choice.prefix)])
    own = session.trace(replace(choice, prefix=(), rank=1)).target_text
    return f"You made the translation begin with “{tokens}”. Left to itself, the model writes: {own}"


def _show_player(choice: Choice) -> None:
    trace, translator = session.trace(choice), session.translator(choice.checkpoint)
    st.caption(
        "The decoder writes one piece at a time: it is fed what stands already, gives every piece of its vocabulary a "
        "probability, one is taken, and that is fed next. These are the model's own probabilities, before temperature "
        "or top-k."
    )
    show_finding(hardest_step(trace))
    with st.container(horizontal=True, gap="medium"):
        layer, head = layer_and_head(*trace.cross.shape[:2])
    steps = decoding_steps(
        trace,
        attention_map(trace, "cross", layer, head),
        attention_map(trace, "decoder", layer, head),
        translator.model.config.vocab_size,
        forced=len(choice.prefix),
    )

    def force(step: int, id: int) -> None:
        """Force a candidate in place of the token of this step, and stay there."""
        forced_prefix.force(trace.next_ids[: step - 1], id)
        _go_to(step)

    step = url_state.read("step")
    first = int(step) if re.fullmatch(r"[0-9]{1,4}", step) else 1
    decoding_player(steps, first, key="player", on_step=_go_to, on_head=take_head, on_take=force)


def _go_to(step: int) -> None:
    url_state.write("step", str(step))
