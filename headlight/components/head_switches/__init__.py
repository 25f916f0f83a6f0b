"""Every head of the model as a switch, coloured by what is lost without it."""

from collections.abc import Callable

from headlight.components.bundle import component

_switches = component("head_switches", "head_switches/switches")


def head_switches(payload: dict, off: str, key: str, on_choice: Callable[[str], None]) -> None:
    """Show the switches (see ablation_payload.py), those off that `off` names: "cross.3.4-encoder.1.2".

    Back comes the same text for what the reader has switched, empty when all heads are on.
    """
    _switches({**payload, "off": off}, key, choice=lambda text: on_choice(str(text)))
