"""The button that takes the model along: the checkpoint of the page as one file that needs no server."""

import streamlit as st

from headlight.app import results
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.app.widgets import offer_download
from transformer import UserError


def offer_model(request: TranslationRequest) -> None:
    """Show the button, and what it gives; nothing for a model that a browser cannot run."""
    size = _size(request.checkpoint)
    if size is None:
        return
    files, text = request.checkpoint, request.text
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="take_model"):
        offer_download(
            f"Take the model with you ({size / 1e6:.0f} MB)",
            lambda: _file(files, text),
            f"headlight-{files.name}.html",
            "text/html",
        )
        st.caption("One HTML file that translates and shows its attention without a network, on a phone, too.")


@results.cached(max_entries=16, show_spinner=False)
def _size(checkpoint: CheckpointFiles) -> int | None:
    from .content import live_size

    try:
        return live_size(results.translator(checkpoint).checkpoint)
    except UserError:
        return None


@results.cached(max_entries=2, show_spinner=False)
def _file(checkpoint: CheckpointFiles, text: str) -> bytes:
    from .content import live_file

    loaded = results.translator(checkpoint).checkpoint
    return live_file(loaded, checkpoint.name, results.roles(checkpoint), text.strip()).encode()
