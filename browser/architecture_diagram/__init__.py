"""The paper's figure 1 for a checkpoint, drawn in the browser; each box is a button."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_diagram = st.components.v2.component(
    "architecture_diagram",
    html=_read("diagram.html"),
    css=_read("diagram.css"),
    js="".join(map(_read, ("../lib/drawing.js", "../lib/mount.js", "../lib/echo.js", "diagram.js"))),
)


def architecture_diagram(payload: dict, chosen: str, key: str, on_choice: Callable[[str], None]) -> None:
    """Show the boxes (see figures.architecture) with one chosen, by its name.

    Which layer of a stack stands open is the browser's own. The name of a box that was chosen comes back as a trigger:
    the same one may be chosen again after the Back button, and must be heard.
    """
    _diagram(
        data={**payload, "chosen": chosen},
        key=key,
        on_choice_change=lambda: on_choice(str(st.session_state[key].get("choice"))),
    )
