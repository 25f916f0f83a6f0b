"""The decoding player: a translation that is stepped through and played in the browser, sent there once."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_SCRIPTS = (
    "../lib/drawing.js",
    "../lib/mount.js",
    "../lib/echo.js",
    "../lib/playback.js",
    "strips.js",
    "player.js",
)

_player = st.components.v2.component(
    "decoding_player",
    html=_read("player.html"),
    css=_read("../lib/controls.css") + _read("player.css"),
    js="".join(
        map(
            _read,
            ("../lib/drawing.js", "../lib/mount.js", "../lib/echo.js", "../lib/playback.js", "strips.js", "player.js"),
        )
    ),
)


def decoding_player(
    steps: dict,
    step: int,
    key: str,
    on_step: Callable[[int], None],
    on_head: Callable[[int, int], None],
    on_take: Callable[[int, int], None],
) -> None:
    """Show `steps` (see figures.decoding) from `step` on, counted from 1.

    Playing happens in the browser alone. Back come: the step where the visitor stopped, a head chosen among all
    (layer, head, counted from 0), and a candidate taken instead of the model's choice (step, id). All three are
    triggers: the same step may be reported again after the Back button, and must be heard.
    """

    def told(name: str):
        return st.session_state[key].get(name)

    _player(
        data={**steps, "step": step},
        key=key,
        on_step_change=lambda: on_step(int(told("step"))),
        on_head_change=lambda: on_head(*map(int, told("head"))),
        on_take_change=lambda: on_take(*map(int, told("take"))),
    )
