"""Cite this view: the link, the version of the program and the very weights, as text to copy."""

from urllib.parse import urlencode

import streamlit as st

from headlight.app.results import CheckpointFiles
from headlight.app.results.identity import digest
from transformer import UserError, __version__

from . import url_state
from .widgets import plain

AUTHORS, YEAR = "The Headlight authors", 2026
DIGITS = 12  # of the SHA-256: enough to tell any two checkpoints apart


@st.fragment
def show(checkpoint: CheckpointFiles) -> None:
    """A button that opens the citation.

    It is written when it is opened, by a run of its own: a view may have changed the address since the page's last run.
    """
    popover = st.popover("Cite", key="cite", on_change="rerun")
    if not popover.open:
        return
    with popover:
        st.markdown("A reference to what is shown: the program, the weights that computed it, and its address.")
        try:
            st.code(citation(address(), checkpoint.name, digest(checkpoint)), language=None, wrap_lines=True)
        except UserError as error:
            st.warning(plain(str(error)))


def citation(link: str, checkpoint: str, weights: str) -> str:
    """A reference to a view by its link, with its checkpoint's name and the SHA-256 of the weights."""
    return (
        f"{AUTHORS} ({YEAR}). Headlight {__version__}. Checkpoint {checkpoint}, model.safetensors with SHA-256 "
        f"{weights[:DIGITS]}. {link}"
    )


def address() -> str:
    """The address of what is shown, as the browser has it; without its host where the browser did not say it."""
    page, asked = url_state.page_shown(), url_state.asked(*url_state.PARAMETERS)
    # Streamlit means to give the app's address without the page, and does not always take it off.
    base = (st.context.url or "").rstrip("/").removesuffix(f"/{page}").rstrip("/")
    return f"{base}/{page}" + (f"?{urlencode(asked)}" if asked else "")
