"""Decoding: how does the translation come about, token by token, and what else could have come?"""

import re

import streamlit as st

import session
from browser.decoding_player import decoding_player
from transformer import Beam, Greedy
from transformer.interpret.trace import attention_map
from ui import choices, sidebar
from ui import url_state as address
from ui.widgets import plain
from views.decoding import forced_prefix as branch
from views.decoding.beam_table import choose_hypothesis
from views.decoding.payload import decoding_steps
from views.decoding.text import hardest_step, search_sentence


def go_to_step(step: int) -> None:
    """Keep the step at which the visitor stopped."""
    address.remember("step", str(step), "1")


def take(step: int, id: int) -> None:
    """Take a candidate instead of what came in this step, and stay there."""
    branch.take(trace.next_ids[: step - 1], id)
    go_to_step(step)


st.title("Decoding")
choice = sidebar.taken_choice()
bent, player, beam = st.container(), st.container(), st.container()
with sidebar.messages():
    translator = session.translator(choice.checkpoint)
    with bent:
        taken = branch.taken_pieces(choice, translator)
        if taken:
            st.button("Back to the model's own choice", on_click=branch.leave_it_to_the_model, icon=":material/undo:")
    rank = 1
    if isinstance(choice.strategy, Beam):
        found = session.hypotheses(choice.checkpoint, choice.text, choice.strategy, taken)
        with beam:
            st.subheader("What beam search found")
            rank = choose_hypothesis(found, choice.strategy, translator)
            greedy = session.hypotheses(choice.checkpoint, choice.text, Greedy(), taken)[0]
            sentence = search_sentence(found, greedy, choice.strategy.alpha, translator.tokenizer.decode)
            st.info(plain(sentence), icon=":material/search:")
    trace = session.trace(choice.checkpoint, choice.text, choice.strategy, taken, rank)
if taken:
    own = session.trace(choice.checkpoint, choice.text, choice.strategy)
    pieces = " ".join(trace.next_tokens[: len(taken)])
    text = f"You made the translation begin with “{pieces}”. Left to itself, the model writes: {own.target_text}"
    bent.warning(plain(text), icon=":material/alt_route:")

with player:
    sidebar.show_sentences(translator, trace)
    if rank > 1:
        st.caption(f"This is hypothesis {rank} of the beam's {len(found)}, not its best; choose another one below.")
    st.caption(
        "The decoder writes one piece at a time: it is fed what stands already, gives every piece of its vocabulary a "
        "probability, one is taken, and that is fed next. These are the model's own probabilities, before temperature "
        "or top-k."
    )
    st.info(plain(hardest_step(trace)), icon=":material/search:")
    layers, heads = trace.cross.shape[:2]
    with st.container(horizontal=True, gap="medium"):
        layer, head = choices.layer_and_head(layers, heads)
    steps = decoding_steps(
        trace,
        attention_map(trace, "cross", layer, head),
        attention_map(trace, "decoder", layer, head),
        translator.model.config.vocab_size,
        forced=len(taken),
    )
    step = address.remembered("step", "1")
    decoding_player(
        steps, int(step) if re.fullmatch(r"[0-9]{1,4}", step) else 1, key="player",
        on_step=go_to_step, on_head=choices.take_head, on_take=take,
    )  # fmt: skip
