"""The linked explorer of all heads: sent to the browser once a sentence, drawn and linked there."""

from collections.abc import Callable

import streamlit as st

from headlight.components.bundle import component

# The weights and texts travel in a message that stays the same for a sentence, so that Streamlit sends it once; what
# the address says travels beside it, in a component without anything to be seen.
_explorer = component("attention_explorer", "attention_explorer/explorer")
_choice = component("attention_explorer_choice", "attention_explorer/address")


def attention_explorer(
    blob: bytes, written: dict[str, str], key: str, on_choice: Callable[[dict[str, str]], None]
) -> None:
    """Show a sentence's attention (see explorer_content.py) with what the address says of the choice.

    Everything happens in the browser; back comes the choice, as texts for the address.
    """
    with st.container(gap=None):  # what cannot be seen takes no room
        _choice(written, f"{key}_address")
        _explorer(blob, key, choice=lambda choice: on_choice(dict(choice)))
