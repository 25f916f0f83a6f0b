"""The steps of one attention block, every matrix drawn in the browser and the sum behind any cell written out there."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_SCRIPTS = (
    "../drawing.js",
    "../mounted.js",
    "../said.js",
    "numbers.js",
    "matrix.js",
    "sums.js",
    "panels.js",
    "steps.js",
)

_steps = st.components.v2.component(
    "attention_steps",
    html=_read("steps.html"),
    css=_read("../controls.css") + _read("steps.css"),
    js="".join(map(_read, _SCRIPTS)),
)


def attention_steps(
    payload: dict,
    chosen: tuple[int, int, int],
    key: str,
    on_choice: Callable[[int, int, int], None],
    on_mask: Callable[[int, int], None] | None = None,
) -> None:
    """Show a block (see figures.stages) with a query, a key and a dimension chosen, each counted from 1.

    Pointing at a cell and choosing another one happen in the browser alone. Back come what was chosen (query, key,
    dimension), and a cell of the mask that was clicked (query, key) where the payload lets them be. Both are triggers:
    the same choice may be reported again after the Back button, and must be heard.
    """

    def told(name: str):
        return st.session_state[key].get(name)

    _steps(
        data={**payload, "chosen": list(chosen)},
        key=key,
        on_choice_change=lambda: on_choice(*map(int, told("choice"))),
        on_mask_change=lambda: on_mask(*map(int, told("mask"))) if on_mask else None,
    )
