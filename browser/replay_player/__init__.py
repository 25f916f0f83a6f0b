"""The film player: a training that is scrubbed and played in the browser, moment by moment, sent there once."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent
NEWEST = -1  # as a step: wherever the film ends now


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_SCRIPTS = (
    "../lib/drawing.js",
    "../lib/mount.js",
    "../lib/echo.js",
    "../lib/playback.js",
    "maps.js",
    "head_map.js",
    "curves.js",
    "player.js",
)

_player = st.components.v2.component(
    "film_player",
    html=_read("player.html"),
    css=_read("../lib/controls.css") + _read("player.css"),
    js="".join(map(_read, _SCRIPTS)),
)


def film_player(
    film: dict,
    step: int,
    following: bool,
    name: str,
    on_step: Callable[[int], None],
    on_head: Callable[[int, int], None],
) -> None:
    """Show a film (see figures.film) at the moment nearest to the training step `step`, or at the NEWEST.

    `name` is the film's own, whatever its letters: another film has another.

    Scrubbing and playing happen in the browser alone. Back come the step where the visitor stopped, NEWEST for the
    end of a film that is `following` its training, and a head chosen among all (layer, head, counted from 0). Both
    are triggers: the same step may be reported again after the Back button, and must be heard. While following, who
    stands at the end stays there as moments are added; who has scrubbed back stays where they are.
    """

    # Streamlit refuses a component's key with two underscores in a row, and names of checkpoints and of trainings,
    # which are random, may have them.
    key = f"film-{name.encode().hex()}"

    def told(event: str):
        return st.session_state[key].get(event)

    _player(
        data={**film, "step": step, "following": following},
        key=key,
        on_step_change=lambda: on_step(int(told("step"))),
        on_head_change=lambda: on_head(*map(int, told("head"))),
    )
