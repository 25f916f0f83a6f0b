"""The steps of one attention block, every matrix drawn in the browser and the sum behind any cell written out there."""

from collections.abc import Callable

import streamlit as st

from browser.bundle import component

_steps = component("attention_steps", "attention_steps/steps")


def attention_steps(
    payload: dict,
    chosen: tuple[int, int, int],
    key: str,
    on_choice: Callable[[int, int, int], None],
    on_mask: Callable[[int, int], None] | None = None,
) -> None:
    """Show a block (see figures.stages) with a query, a key and a dimension chosen, each counted from 1.

    Pointing at a cell and choosing another one happen in the browser alone. Back come what was chosen (query, key,
    dimension), and a cell of the mask that was clicked (query, key) where the payload lets them be.
    """

    def choose(choice: list[int]) -> None:
        position = tuple(map(int, choice))
        st.session_state[f"{key}_known"]["known"] = position
        on_choice(*position)

    given, turn = _given(payload, chosen, key)
    _steps(
        {**payload, "chosen": list(given), "turn": turn},
        key,
        choice=choose,
        mask=lambda cell: on_mask(*map(int, cell)) if on_mask else None,
    )


def _given(payload: dict, chosen: tuple[int, int, int], key: str) -> tuple[tuple[int, int, int], int]:
    """The choice to send, and a number that is new when the browser must take it.

    What the browser itself chose is not sent back: the message stays the same to the byte, and Streamlit sends a
    message that the browser has only by its name, not the matrices again.
    """
    block = (payload["id"], payload["head"])
    held = st.session_state.get(f"{key}_known")
    if held is None or key not in st.session_state or held["block"] != block or held["known"] != chosen:
        turn = held["turn"] + 1 if held else 0
        held = {"block": block, "given": chosen, "known": chosen, "turn": turn}
        st.session_state[f"{key}_known"] = held
    return held["given"], held["turn"]
