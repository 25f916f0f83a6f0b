"""One row of attention weights as bars that can be dragged, and tokens that can be chosen."""

from collections.abc import Callable

from headlight.components.bundle import component

_bars = component("weight_bars", "weight_bars/bars")


def weight_bars(payload: dict, key: str, on_key: Callable[[str], None], on_weights: Callable[[str], None]) -> None:
    """Show the weights before and after (see headlight/views/what_if/rewriting_payload.py).

    Back comes the number of a token that was chosen, from 1, or the weights that were drawn: "0.5-0.25-0.25".
    """
    _bars(payload, key, choice=lambda number: on_key(str(number)), weights=lambda text: on_weights(str(text)))
