"""Source and output tokens in two rows, joined by one cross-attention head: sent to the browser, alive there."""

from headlight.components.bundle import component

_lines = component("token_lines", "token_lines/lines")


def token_lines(payload: dict, key: str) -> None:
    """Show a translation's tokens with one head's weights between them (see `lines_payload` of the view Translate).

    Pointing, touching and the arrow keys are the browser's own: nothing comes back.
    """
    _lines(payload, key)
