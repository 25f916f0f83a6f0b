"""The linked explorer of all heads: sent to the browser once a sentence, drawn and linked there.

SCRIPT is all that runs there, one module: the words of `figures.explorer_captions`, then our files in order.
"""

import json
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from views.attention.explorer_text import explorer_words

_FOLDER = Path(__file__).parent


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


_SCRIPTS = (
    "../lib/drawing.js", "../lib/mount.js", "../lib/echo.js", "choice.js", "weights.js", "finding.js", "drawn.js",
    "tokens.js", "overview.js", "map_view.js", "lines.js", "sentence.js", "words.js", "tables.js", "explorer.js",
)  # fmt: skip

SCRIPT = f"const WORDS = {json.dumps(explorer_words())};\n" + "".join(map(_read, _SCRIPTS))
_explorer = st.components.v2.component(
    "attention_explorer",
    html=_read("explorer.html"),
    css=_read("../lib/controls.css") + _read("explorer.css"),
    js=SCRIPT,
)
# The weights travel in a message that stays the same for a sentence, so that Streamlit sends it once; what the address
# says travels beside it, in a component without anything to be seen.
_choice = st.components.v2.component("attention_explorer_choice", html="<i hidden></i>", js=_read("address.js"))


def attention_explorer(
    blob: bytes, written: dict[str, str], key: str, on_choice: Callable[[dict[str, str]], None]
) -> None:
    """Show a sentence's attention (see figures.explorer) with what the address says of the choice.

    Everything happens in the browser; back comes the choice, as texts for the address. It is a trigger: the same one
    may come again after the Back button, and must be heard.
    """
    _choice(data=written, key=f"{key}_address")
    _explorer(data=blob, key=key, on_choice_change=lambda: on_choice(dict(st.session_state[key].get("choice"))))
