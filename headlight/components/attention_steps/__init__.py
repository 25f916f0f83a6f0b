"""The steps of one attention block, every matrix drawn in the browser and the sum behind any cell written out there."""

from collections.abc import Callable

import streamlit as st

from headlight.components.bundle import component

_steps = component("attention_steps", "attention_steps/steps")


def attention_steps(
    payload: dict,
    chosen: tuple[int, int, int, str],
    key: str,
    on_choice: Callable[[int, int, int, str], None],
    on_mask: Callable[[int, int], None] | None = None,
) -> None:
    """Show a block (see steps_content.py) with a query, a key and a dimension chosen, each counted from 1,
    and the step that is shown, by its name in the payload, or "all".

    Pointing at a cell and choosing another one happen in the browser alone. Back come what was chosen (query, key,
    dimension, step), and a cell of the mask that was clicked (query, key) where the payload lets them be.
    """

    block, name = (payload["id"], payload["head"]), f"{key}_known"
    held = st.session_state.get(name, {"turn": -1})
    # What the browser itself chose is not sent back: the message stays the same to the byte, and Streamlit sends a
    # message that the browser has only by its name, not the matrices again. A new turn makes the browser take it.
    if key not in st.session_state or (held.get("block"), held.get("known")) != (block, chosen):
        held = {"block": block, "given": chosen, "known": chosen, "turn": held["turn"] + 1}
        st.session_state[name] = held

    def choose(choice: list[int | str]) -> None:
        held["known"] = (*map(int, choice[:3]), str(choice[3]))
        on_choice(*held["known"])

    def mask(report: list[int | str]) -> None:
        query, key, *choice = report
        choose(choice)
        if on_mask:
            on_mask(int(query), int(key))

    _steps(
        {**payload, "chosen": list(held["given"]), "turn": held["turn"]},
        key,
        choice=choose,
        mask=mask,
    )
